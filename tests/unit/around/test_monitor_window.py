"""The window of steps keeps the last ones, whatever they come in."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound import Support
from goalbound.around.monitor import StepWindow
from goalbound.errors import ArgumentError, FileFormatError
from goalbound.learners.steps import StepArrays

SUPPORT = Support.full(1, 1000)


def numbered(first: int, count: int) -> StepArrays:
    """Steps whose pairs are their numbers; each pair has two next states."""
    pairs = np.arange(first, first + count) % 1000
    return StepArrays(np.ones((count, 1)), pairs, 2 * pairs, np.full(count, 0.5))


@pytest.mark.parametrize("size", [0, 1, 7, 64, 100])
def test_it_keeps_the_last_steps_whatever_the_parts_they_come_in(size: int) -> None:
    window, done = StepWindow(size, 1), 0
    for count in np.random.default_rng(size).integers(0, 30, size=40).tolist():
        window.add(numbered(done, count))
        done += count
        assert window.count == done
        assert window.last().pairs.tolist() == [n % 1000 for n in range(max(done - size, 0), done)]
        assert window.first == max(done - size, 0)
    assert done > 300


def test_steps_since_a_number_are_those_after_it_and_older_ones_are_an_error() -> None:
    window = StepWindow(10, 1)
    window.add(numbered(0, 25))
    assert window.since(20).pairs.tolist() == [20, 21, 22, 23, 24]
    assert len(window.since(25).pairs) == 0
    with pytest.raises(ArgumentError, match=r"from 15 on \(window=10\)"):
        window.since(14)


def test_a_file_restores_it_and_what_cannot_be_is_refused() -> None:
    window, again = StepWindow(10, 1), StepWindow(10, 1)
    window.add(numbered(0, 25))
    again.restore(window.arrays(), 25, SUPPORT)
    for one in (window, again):
        one.add(numbered(25, 3))
    assert again.last().pairs.tolist() == window.last().pairs.tolist()
    assert (again.count, again.first) == (window.count, window.first) == (28, 18)
    with pytest.raises(FileFormatError, match="keeps 10"):
        StepWindow(10, 1).restore(StepWindow(10, 1).arrays(), 25, SUPPORT)
    for name, value in (("pairs", 1000), ("places", 7), ("losses", 1.5), ("contexts", 0.5)):
        arrays = window.arrays()
        arrays[f"window.{name}"][3] = value
        with pytest.raises(FileFormatError, match="cannot be"):
            StepWindow(10, 1).restore(arrays, 28, SUPPORT)
