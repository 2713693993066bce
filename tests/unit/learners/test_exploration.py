"""Attitudes to what is not known, and the growth of data that asks for a new plan."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray

from goalbound.errors import FileFormatError, InputError
from goalbound.kernels.state import GREEDY, OPTIMISTIC, POSTERIOR, RMAX
from goalbound.learners.core import RidgeLearner
from goalbound.learners.exploration import Exploration, greedy, kwik_threshold, optimistic, rmax, sampled
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.ridge import GreedyRidge
from goalbound.learners.settings import LearnerOptions, Settings
from goalbound.models import Step, Support
from tests.support.driving import (
    MODES,
    NO_WAITING,
    Clinic,
    draw_step,
    explorer_of,
    learner_of,
    reloaded,
    small_problem,
    written,
)

ATTITUDES = (
    optimistic(), greedy(), greedy(explore=0.5, fade=0.25), sampled(), sampled(spread=1.0, ceiling=math.inf),
    rmax(threshold=0.3),
)  # fmt: skip
PROBLEM = small_problem(2)


def test_each_has_its_code_and_says_whether_it_draws() -> None:
    assert [one.code for one in ATTITUDES] == [OPTIMISTIC, GREEDY, GREEDY, POSTERIOR, POSTERIOR, RMAX]
    assert [one.draws for one in ATTITUDES] == [False, False, True, True, True, False]
    assert [str(one) for one in ATTITUDES] == ["optimistic", "greedy", "greedy", "sampled", "sampled", "rmax"]


@pytest.mark.parametrize("exploration", ATTITUDES, ids=str)
def test_an_attitude_comes_back_from_json(exploration: Exploration) -> None:
    assert Exploration.from_json(exploration.as_json()) == exploration
    assert math.inf not in exploration.as_json().values()


@pytest.mark.parametrize("exploration", [*ATTITUDES, greedy(explore=1, fade=2)], ids=str)
def test_a_learner_comes_back_from_a_file_with_its_attitude(exploration: Exploration) -> None:
    learner = explorer_of(exploration, PROBLEM, replan_factor=1.5)
    again = reloaded(learner)
    assert again.settings == learner.settings
    assert (again.settings.exploration, again.settings.replan_factor) == (exploration, 1.5)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (None, r"the exploration is None; it needs \['by_variance', 'ceiling', 'explore'"),
        ({"name": "greedy"}, r"the exploration is \{'name': 'greedy'\}; it needs"),
        ({**greedy().as_json(), "more": 1.0}, "it needs"),
        ({**greedy().as_json(), "explore": "1"}, "it is a name, a flag and numbers"),
        ({**greedy().as_json(), "explore": True}, "it is a name, a flag and numbers"),
        ({**greedy().as_json(), "name": 3}, "it is a name, a flag and numbers"),
        (
            {**greedy().as_json(), "name": "reckless"},
            "no way of exploring is called 'reckless'; there are optimistic, greedy",
        ),
        ({**greedy().as_json(), "spread": None}, "spread inf and threshold 0.0 are finite numbers from 0 on"),
        (
            {**greedy().as_json(), "optimism": 1.5},
            r"optimism 1.5 is not in \[0, 1\]; it is the share of",
        ),
        ({**greedy().as_json(), "patience": 0.0}, "patience 0.0 is not positive; use a larger one, or infinity"),
        ({**optimistic().as_json(), "patience": 2.0}, "patience is 2.0; intervals of the optimistic learner end"),
        ({**greedy().as_json(), "explore": 2.0}, r"explore 2.0 and fade 0.0 do not fit; explore is in \[0, 1\]"),
    ],
)
def test_what_is_no_attitude_is_refused(values: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Exploration.from_json(values)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -0.1])
def test_numbers_that_make_no_sense_are_refused(bad: float) -> None:
    for make in (
        lambda: greedy(explore=bad), lambda: greedy(fade=bad), lambda: sampled(spread=bad),
        lambda: rmax(threshold=bad),
    ):  # fmt: skip
        with pytest.raises(InputError, match=str(bad)):
            make()
    with pytest.raises(InputError, match="ceiling nan is below 1, the loss of one step"):
        sampled(ceiling=math.nan)


def test_only_the_optimistic_have_a_loss_bound() -> None:
    with pytest.raises(InputError, match="a learner that is sampled uses no loss_bound; leave out"):
        explorer_of(sampled(), PROBLEM, forget=True)


def test_the_threshold_of_kwik_by_hand() -> None:
    # d = 4, a = 1/2, delta = 0.1: 0.25 / 8 = 0.03125; 0.25 / (2 log 40) = 0.03389; 0.5 / 4 = 0.125.
    assert kwik_threshold(4, accuracy=0.5, delta=0.1) == 0.03125
    # delta = 0.01: 0.25 / (2 log 400) = 0.020863
    assert kwik_threshold(4, accuracy=0.5, delta=0.01) == pytest.approx(0.125 / math.log(400.0), rel=1e-15)
    # d = 1: 1, 1 / log(e / 0.9) = 0.905, 1/2
    assert kwik_threshold(1, accuracy=1.0, delta=0.9) == 0.5
    # d = 2, a = 0.1, delta = 0.1: 0.01 / (sqrt(2) log(10 e)) = 0.002141
    assert kwik_threshold(2, accuracy=0.1, delta=0.1) == pytest.approx(0.002141, rel=1e-3)


@pytest.mark.parametrize("accuracy", [0.0, -1.0, 1.5, math.nan])
def test_an_accuracy_is_a_probability(accuracy: float) -> None:
    with pytest.raises(InputError, match=rf"accuracy {accuracy} is not in \(0, 1\]"):
        kwik_threshold(2, accuracy=accuracy, delta=0.1)


@pytest.mark.parametrize(("size", "delta"), [(2, 0.0), (0, 0.1)])
def test_the_threshold_of_kwik_names_what_is_wrong(size: int, delta: float) -> None:
    with pytest.raises(InputError, match=r"delta 0\.0 is not between 0 and 1|context_size is 0"):
        kwik_threshold(size, accuracy=0.1, delta=delta)


@pytest.mark.parametrize("mode", MODES)
def test_a_factor_of_one_is_the_papers_run(mode: str) -> None:
    one, other = (
        Clinic(PROBLEM, learner_of(PROBLEM, **MODES[mode], **extra), beds=1, seed=4).run(200)
        for extra in ({}, {"replan_factor": 1.0})
    )
    assert one.actions == other.actions
    assert written(one.learner) == written(other.learner)
    # and there every unknown step that does not arrive ends its interval
    unknown, missed = unknown_steps(mode, beds=1)
    assert unknown > 60 or mode == "known"
    assert missed == 0


def unknown_steps(mode: str, *, beds: int) -> tuple[int, int]:
    """How many unknown steps did not arrive, and how many of these ended no interval."""
    clinic = Clinic(PROBLEM, learner_of(PROBLEM, **MODES[mode]), beds=beds, seed=2)
    counts: Counter[bool] = Counter()
    for _ in range(600):
        before = [(one.episode, one.episode.unknown_steps, one.episode.interval) for one in clinic.patients]
        clinic.tick()
        for episode, unknown, interval in before:
            if episode.unknown_steps > unknown and not episode.ended:
                counts[episode.interval == interval] += 1
    return counts.total(), counts[True]


@pytest.mark.parametrize("mode", MODES)
def test_with_several_episodes_too_every_unknown_step_ends_its_interval(mode: str) -> None:
    assert unknown_steps(mode, beds=4)[1] == 0


@pytest.mark.parametrize("settings", [MODES["narrow"], MODES["doubling"], None])
def test_a_larger_factor_plans_less_often(settings: dict[str, Any] | None) -> None:
    counts = []
    for factor in (1.0, 2.0, 1e6):
        learner: RidgeLearner = (
            explorer_of(greedy(), PROBLEM, replan_factor=factor)
            if settings is None
            else learner_of(PROBLEM, **settings, replan_factor=factor)
        )
        with patch.object(learner, "_prepare", wraps=learner._prepare) as planned:
            Clinic(PROBLEM, learner, beds=1, seed=4).run(600)
        counts.append(planned.call_count)
    # 300 steps; about every second one arrives, and that ends an interval whatever the factor
    assert counts[0] > 1.2 * counts[1]
    assert counts[1] > counts[2]


@pytest.mark.parametrize("factor", [1.3, 2.0, 5.0])
@pytest.mark.parametrize("name", ["narrow", "known", "greedy", "sampled"])
def test_an_interval_ends_when_the_determinant_has_grown_by_the_factor(name: str, factor: float) -> None:
    # A small regularization: determinants grow fast, so that even a factor of 5 ends an interval now and then.
    learner: RidgeLearner
    if name in MODES:
        learner = learner_of(PROBLEM, **{"regularization": 0.1, **MODES[name]}, replan_factor=factor)
    else:
        exploration = {"greedy": greedy(), "sampled": sampled()}[name]
        learner = explorer_of(exploration, PROBLEM, regularization=0.1, replan_factor=factor)
    rng = np.random.default_rng(5)
    seen: Counter[str] = Counter()
    for _ in range(60):
        context = rng.dirichlet(np.ones(2))
        episode, state = learner.begin(context), 0
        before: NDArray[np.float64] | None = None
        for _ in range(50):  # known pairs may go round for ever: what these learners are told is not true
            action = episode.act(state)
            if before is None:
                before = np.linalg.det(learner.statistics.gram)
            assert episode.plan is not None
            pair = PROBLEM.support.pair(state, action)
            known = bool(episode.plan.known[pair])
            step = draw_step(PROBLEM, context, state, action, rng.random())
            episode.observe(step)
            state = step.next_state
            if state == PROBLEM.support.states:
                break
            grown = np.linalg.det(learner.statistics.gram[pair]) / before[pair]
            assert abs(grown / factor - 1.0) > 1e-9  # else rounding would decide
            ended = episode.plan is None
            assert ended == (grown >= factor and not known)
            seen["known" if known else "ended" if ended else "kept"] += 1
            if ended:
                before = None
    assert seen["kept"] + seen["known"] >= 20
    assert seen["ended"] >= (0 if name == "known" else 1)
    assert (seen["known"] > 0) == (name == "known")


@pytest.mark.parametrize("regularization", [1.0, 3.0])
def test_a_determinant_that_has_just_doubled_has_doubled(regularization: float) -> None:
    # One component: the determinant is lambda + visits. It has doubled at lambda, 3 lambda, 7 lambda, ... visits.
    options = LearnerOptions(regularization=regularization, replan_factor=2.0)
    learner = GreedyRidge(Support.full(1, 1), 1, loss_floor=0.1, options=options)
    episode, ended = learner.begin([1.0]), []
    for visits in range(1, 64):
        before = episode.intervals
        episode.observe(Step(0, episode.act(0), 0.5, 0))
        if episode.intervals > before:
            ended.append(visits)
    assert ended == [int(regularization * (2**k - 1)) for k in range(1, 7) if regularization * (2**k - 1) < 64]


@pytest.mark.parametrize("factor", [0.5, 0.0, math.nan, math.inf])
def test_a_factor_is_a_number_from_one_on(factor: float) -> None:
    with pytest.raises(InputError, match=rf"replan_factor {factor} is not a number from 1 on; .*every unknown step"):
        LRCSSP(PROBLEM.support, 2, loss_floor=0.1, options=LearnerOptions(replan_factor=factor))


def test_settings_in_a_file_need_the_new_ones_too() -> None:
    values = learner_of(PROBLEM, loss_floor=0.1).settings.as_json()
    assert Settings.from_json(dict(values)) == learner_of(PROBLEM, loss_floor=0.1).settings
    for key, value, message in (
        ("replan_factor", 2, "replan_factor is 2, of a wrong type"),
        ("replan_factor", 0.5, "replan_factor 0.5 is not a number from 1 on"),
        ("exploration", "greedy", "the exploration is 'greedy'; it needs"),
    ):
        with pytest.raises(InputError, match=message):
            Settings.from_json({**values, key: value})


def test_a_file_is_resumed_only_by_a_learner_of_the_same_attitude(tmp_path: Path) -> None:
    with NO_WAITING:
        explorer_of(sampled(), PROBLEM).save(tmp_path / "learner")
    assert explorer_of(sampled(), PROBLEM).restored(tmp_path / "learner").intervals == 0
    with pytest.raises(FileFormatError, match=r"has other settings: PosteriorSampling.*spread 0.5.*spread 0.7"):
        explorer_of(sampled(spread=0.7), PROBLEM).restored(tmp_path / "learner")
    with pytest.raises(FileFormatError, match="the kind is 'PosteriorSampling', and 'GreedyRidge' is needed"):
        explorer_of(greedy(), PROBLEM).restored(tmp_path / "learner")


@pytest.mark.parametrize("kind", [np.random.PCG64DXSM, np.random.Philox])
def test_a_stream_of_any_kind_can_be_saved_or_is_refused_at_the_door(kind: Any) -> None:
    try:
        learner = explorer_of(sampled(), PROBLEM, rng=np.random.Generator(kind(1)))
    except InputError:
        return
    reloaded(learner)
