"""What all figures share."""

from __future__ import annotations

import math

import pytest

from goalbound.errors import InputError
from goalbound.experiments.figures import style
from tests.support.figure_cases import experiment, figure_of


def test_the_constants_of_every_learner_stand_under_the_figure():
    said = figure_of(experiment(2)).get_label()
    assert "LR: widths: 0.1 x paper, not proven; delta 0.05." in said
    assert "clairvoyant: no constants." in said
    assert "Mean over 2 seeds; some learners have fewer." in said
    assert "95% bootstrap" in said


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"font": "DejaVu Serf"}, "font is 'DejaVu Serf', which Matplotlib does not find; .*'DejaVu Serif'"),
        ({"width": 0.0}, "width is 0; it is a number of inches"),
        ({"width": math.nan}, "width is nan; it is a number of inches"),
        ({"font_size": 100.0}, "font_size is 100; it is a number of points from 3 to 40"),
    ],
)
def test_a_font_that_is_not_there_and_a_wrong_unit_are_refused(changes, message):
    with pytest.raises(InputError, match=message), style.figure_style(**changes):
        pass
