"""Figures of regret."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.experiments.figures import style
from tests.support.figure_cases import experiment, figure_of


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
