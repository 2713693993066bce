"""Rows of intervals and points."""

import sys

import matplotlib as mpl
import numpy as np
import pytest

from goalbound.errors import InputError
from goalbound.plotting import Rows, draw_rows, escape_label, new_axes

mpl.use("Agg")
from matplotlib import pyplot


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


def lines_at(axes):
    return [segment.tolist() for lines in axes.collections for segment in lines.get_segments()]


def test_an_interval_is_a_line_and_an_infinite_end_an_arrow():
    rows = Rows(["a", "b", "c"], [1.0, 2.0, np.nan], [3.0, np.inf, np.nan], [2.0, np.nan, 4.0], ["x", "y", "z"])
    axes = draw_rows(rows, label="loss")
    edge = 1.15 * 4.0
    assert lines_at(axes) == [[[1.0, 0.0], [3.0, 0.0]], [[2.0, 1.0], [edge, 1.0]]]
    arrows, points = axes.get_lines()
    assert arrows.get_xydata().tolist() == [[edge, 1.0]]
    assert np.array_equal(points.get_xdata(), [2.0, np.nan, 4.0], equal_nan=True)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b", "c"]
    assert [text.get_text() for text in axes.texts] == ["x", "y", "z"]
    assert axes.get_xlabel() == "loss"


def test_dollars_and_control_characters_are_literal():
    assert escape_label("$x$\x1b") == r"\$x\$?"


def test_axes_that_are_none_are_refused():
    with pytest.raises(InputError, match="axes is a int; give axes of Matplotlib"):
        new_axes(3)


def test_without_matplotlib_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"to plot needs matplotlib: .*\[experiments\]"):
        new_axes()
