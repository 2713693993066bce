"""Figures of regret."""

from __future__ import annotations

import re
from importlib.resources import files

import numpy as np
import pytest

from goalbound.experiments import pages
from goalbound.experiments.figures import regret, style
from tests.support.figure_cases import experiment, figure_of
from tests.support.synthetic import record, run_spec


def test_lines_are_distinguished_without_colour_and_named_where_they_end():
    styles = style.styles([f"learner {place}" for place in range(7)])
    assert len({(look.marker, str(look.dash)) for look in styles.values()}) == 7
    figure = figure_of(experiment(2))
    for axes, names in zip(figure.axes, (["LR", "clairvoyant"], ["LR"]), strict=True):
        assert [text.get_text() for text in axes.texts if text.get_text()[0] != "$"] == sorted(
            names, reverse=len(names) > 1
        )


def test_the_guides_are_powers_that_end_where_the_first_learner_does():
    powers = figure_of(experiment(2)).axes[1]
    slopes = []
    for line in powers.lines:
        x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
        if len(x) == 50:
            slopes.append(np.log(y[-1] / y[0]) / np.log(x[-1] / x[0]))
            assert y[-1] == pytest.approx(3.5 * np.sqrt(100))  # the mean of 3 and 4 times the root of 100 episodes
    assert slopes == pytest.approx([0.5, 2.0 / 3.0])


def test_rounding_in_the_first_episodes_does_not_stretch_the_logarithmic_axis():
    figure = figure_of([record(run_spec("LR"), lambda episode: np.where(episode < 3, 1.4e-17, np.sqrt(episode)))])
    plain, powers = figure.axes
    assert powers.get_ylim() == pytest.approx((0.5 * np.sqrt(3), 1.5 * 10.0))
    drawn = np.asarray(powers.lines[0].get_ydata(), float)
    assert np.isnan(drawn[:2]).all()
    assert np.isfinite(drawn[2:]).all()
    assert np.isfinite(np.asarray(plain.lines[0].get_ydata(), float)).all()


def test_logarithmic_axes_show_as_many_decades_as_those_of_the_report():
    script = files(pages).joinpath("charts.js").read_text()
    assert re.findall(r"const DECADES = (\d+);", script) == [str(regret.DECADES)]
