"""Learners that begin anew: with the same settings, and with what a log holds since some time."""

from typing import Any

import numpy as np
import pytest

from goalbound import (
    LRCSSP,
    Apprentice,
    ContextBlind,
    GreedyRidge,
    Guarded,
    LossScale,
    MappedContexts,
    Monitored,
    PosteriorSampling,
)
from goalbound.adapters.covariates import CovariateLearner, Hats
from goalbound.baselines.factories import bernstein_ssp
from goalbound.errors import ArgumentError
from goalbound.learners.layers import made_anew, unwrap
from goalbound.logs import LogColumns, read_log
from tests.support.incidents_at_work import BEFORE, RUNBOOK, greedy, people
from tests.support.units import in_units

STEPS = people(BEFORE, 30)
MIN = LossScale("min", cap=1)
HATS = Hats([0, 100], clamp=True)


def a_log(covariates: bool = False, scale: LossScale | None = None) -> Any:
    """A step a day, each a case of its own."""
    states, actions = [*BEFORE.support.state_names, "goal"], BEFORE.support.action_names
    table: dict[str, Any] = {
        "case": list(range(len(STEPS))),
        "time": [f"2026-03-{day + 1:02d}" for day in np.minimum(np.arange(len(STEPS)), 30)],
        "state": [states[step.state] for _, step in STEPS],
        "action": [actions[step.action] for _, step in STEPS],
        "loss": [step.loss for _, step in STEPS],
        "next_state": [states[step.next_state] for _, step in STEPS],
        "calm": [context[0] for context, _ in STEPS],
        "busy": [context[1] for context, _ in STEPS],
    }
    columns = LogColumns(covariates=["calm"]) if covariates else LogColumns(context=["calm", "busy"])
    return read_log(
        table, columns=columns, support=BEFORE.support, covariate_map=HATS if covariates else None, loss_scale=scale
    )


def blind(rng: Any = None) -> GreedyRidge:
    return GreedyRidge(BEFORE.support, 1, loss_floor=0.1)


LEARNERS = {
    "greedy": greedy,
    "drawing": lambda: PosteriorSampling(BEFORE.support, 2, loss_floor=0.1, rng=np.random.default_rng(1)),
    "apprentice": lambda: Apprentice(LRCSSP(BEFORE.support, 2, loss_floor=0.1), RUNBOOK),
    "guarded": lambda: Guarded(greedy(), RUNBOOK, after_steps=3),
    "monitored": lambda: Monitored(greedy(), run_length=500, window=20),
    "in units": lambda: in_units(Monitored(greedy()), MIN),
    "behind a map": lambda: CovariateLearner(HATS, in_units(greedy(), MIN)),
    "mapped": lambda: MappedContexts(greedy(), [[0.0, 1.0], [1.0, 0.0]]),
    "blind": lambda: ContextBlind(blind()),
    "without contexts": lambda: ContextBlind(bernstein_ssp(BEFORE.support, loss_floor=0.1)),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_since_a_time_is_one_that_learned_only_what_came_from_then_on(name):
    scale = MIN if name in ("in units", "behind a map") else None
    log = a_log(name == "behind a map", scale)
    learner, expected = LEARNERS[name](), LEARNERS[name]()
    learner.learn_log(log)
    expected.learn_log(log.window(10))
    found = learner.since(log, "2026-03-11")
    assert type(found) is type(learner)
    assert repr(found) == repr(expected)
    assert unwrap(found).settings == unwrap(learner).settings
    assert unwrap(learner)._steps == len(log)
    assert unwrap(found)._steps == len(log) - 10


def test_what_cannot_be_made_anew_or_has_no_times_is_an_error():
    with pytest.raises(ArgumentError, match="a str cannot be made anew"):
        made_anew("no learner")
    with pytest.raises(ArgumentError, match="log is of the type list; give a Log of read_log"):
        greedy().since(STEPS, "2026-03-11")
