"""What a learner may be told, and what it says of the rest."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from goalbound.confidence import paper, printed, scaled
from goalbound.errors import InputError
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.settings import Settings
from goalbound.models import Support
from tests.support.ridge import lr_cssp

SUPPORT = Support.full(2, 3)


def learner(context_size: Any = 2, **settings: Any) -> LRCSSP:
    return lr_cssp(SUPPORT, context_size, **{"loss_floor": 0.1, **settings})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"context_size": 0}, "context_size is 0; a context has at least one entry"),
        ({"context_size": 2.0}, "context_size 2.0 is not a whole number"),
        ({"context_size": True}, "context_size True is not a whole number"),
        ({"delta": 0.0}, "delta 0.0 is not between 0 and 1; it is the probability of failure allowed"),
        ({"delta": 1.0}, "delta 1.0 is not between 0 and 1"),
        ({"delta": math.nan}, "delta nan is not between 0 and 1"),
        ({"loss_floor": -0.1}, r"loss_floor -0.1 is not in \[0, 1\]; it is the least mean loss of a pair"),
        ({"loss_floor": 1.1}, r"loss_floor 1.1 is not in \[0, 1\]"),
        ({"loss_floor": math.nan}, r"loss_floor nan is not in \[0, 1\]"),
        ({"loss_bound": 0.9}, "loss_bound 0.9 is not a number from 1 on.*Leave it out to have it found by doubling"),
        ({"loss_bound": math.inf}, "loss_bound inf is not a number from 1 on"),
        ({"loss_bound": math.nan}, "loss_bound nan is not a number from 1 on"),
        (
            {"loss_floor": 0.0},
            r"loss_floor is 0 and episodes is not given.*LearnerOptions\(episodes=\.\.\.\), or a loss_floor",
        ),
        ({"loss_floor": 0.0, "episodes": 0}, "episodes is 0; it is the number of episodes to come, at least 1"),
        ({"loss_floor": 0.0, "episodes": 10.0}, "episodes 10.0 is not a whole number"),
        ({"episodes": 10}, "loss_floor is 0.1 and episodes is 10; .*leave one of them out"),
        ({"tolerance": 0.0}, r"tolerance 0.0 is not in \(0, 0.4\]; it is relative to the loss floor"),
        ({"tolerance": 0.5}, r"tolerance 0.5 is not in \(0, 0.4\]"),
        ({"regularization": 1e-9}, "regularization 1e-09 is too small"),
        ({"regularization": 0.0}, "regularization 0.0 is not a positive number; the paper uses 1"),
        ({"regularization": math.inf}, "regularization inf is not a positive number"),
    ],
)
def test_a_setting_that_cannot_be_is_named_with_its_value_and_the_remedy(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        learner(**settings)


def test_a_regularization_beyond_the_proof_is_refused_only_where_there_is_a_proof() -> None:
    # N = 6 pairs of d = 4: room = sqrt(4 log(8 * 6 / 0.1)) / 2 = sqrt(6.17379) = 2.4847; (room / (2 - 1))^2 = 6.17
    with pytest.raises(InputError, match=r"regularization 7 is too large for the proof of the paper widths.*6\.17"):
        learner(4, regularization=7.0)
    learner(4, regularization=6.1)
    learner(4, regularization=7.0, widths=printed())
    learner(4, regularization=7.0, widths=scaled(paper(), by=0.5))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"loss_floor": 0, "episodes": np.int64(7), "forget": True},
        {"loss_bound": 3, "delta": 0.5, "widths": scaled(printed(), by=0.1), "regularization": 2, "tolerance": 1e-9},
    ],
)
def test_settings_come_back_from_json_as_they_were(settings: dict[str, Any]) -> None:
    given = learner(**settings).settings
    assert Settings.from_json(json.loads(json.dumps(given.as_json()))) == given


def test_the_bound_is_as_given_or_begins_at_one() -> None:
    assert learner(loss_bound=7.5).loss_bound == 7.5
    assert learner(loss_bound=1).loss_bound == 1.0
    assert learner().loss_bound == 1.0
    assert learner().doublings == 0


def test_a_learner_says_what_it_is() -> None:
    assert repr(learner(widths=scaled(paper(), by=0.1))) == (
        "LRCSSP(2 states, 6 pairs, 18 next states, 2 components, 0.1 x paper widths, 0 steps)"
    )
