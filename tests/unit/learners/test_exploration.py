"""The catalog of exploration rules: by name, from JSON and back, from files; what is no rule is refused."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound.errors import FileFormatError, InputError
from goalbound.learners.exploration import RULES, rule_from_json
from goalbound.learners.explore.epsilon import Epsilon
from goalbound.learners.explore.greedy import Greedy
from goalbound.learners.explore.kwik import Kwik
from goalbound.learners.explore.local import Local
from goalbound.learners.explore.optimistic import Optimistic
from goalbound.learners.explore.posterior import Posterior
from goalbound.learners.explore.protocol import ExplorationRule
from goalbound.learners.learner import RidgeLearner
from goalbound.learners.settings import Settings
from tests.support.driving import NO_WAITING, explorer_of, learner_of, reloaded, small_problem

GIVEN: tuple[ExplorationRule, ...] = (
    Optimistic(), Greedy(), Epsilon(0.5, 0.25), Posterior(), Posterior(spread=1.0, ceiling=math.inf),
    Kwik(threshold=0.3), Local(bonus=0.5), Greedy(ceiling=math.inf),
)  # fmt: skip
PROBLEM = small_problem(2)


def test_each_has_its_name_and_says_whether_it_draws() -> None:
    assert list(RULES) == ["optimistic", "greedy", "epsilon", "sampled", "rmax", "local"]
    assert [one.draws for one in GIVEN] == [False, False, True, True, True, False, False, False]
    assert [str(one) for one in GIVEN] == [
        "optimistic", "greedy", "epsilon", "sampled", "sampled", "rmax", "local", "greedy",
    ]  # fmt: skip


@pytest.mark.parametrize("rule", GIVEN, ids=str)
def test_a_rule_comes_back_from_json(rule: ExplorationRule) -> None:
    assert rule_from_json(rule.as_json()) == rule
    assert math.inf not in rule.as_json().values()


@pytest.mark.parametrize("rule", [*GIVEN, Epsilon(explore=1, fade=2)], ids=str)
def test_a_learner_comes_back_from_a_file_with_its_rule(rule: ExplorationRule) -> None:
    learner = explorer_of(rule, PROBLEM, replan_factor=1.5)
    again = reloaded(learner)
    assert again.settings == learner.settings
    assert (again.settings.exploration, again.settings.replan_factor) == (rule, 1.5)


class Own(Greedy):
    """A rule of a third party."""

    name = "own"


@dataclass(frozen=True)
class Stepwise(ExplorationRule):
    """A rule of a third party with a tuple, which is a list in JSON."""

    levels: tuple[float, ...]
    ceiling: float = 50.0
    name = "stepwise"


def test_a_rule_with_a_tuple_comes_back_from_a_file(tmp_path: Path) -> None:
    settings = Settings.of(2, loss_floor=0.1, exploration=Stepwise((0.5, 0.1)))
    RidgeLearner(PROBLEM.support, settings).save(tmp_path / "learner")
    again = RidgeLearner.load(tmp_path / "learner", rooms=iter([Stepwise((0.5, 0.2)), Stepwise((0.5, 0.1))]))
    assert again.settings == settings


def test_a_rule_of_a_third_party_is_passed_by_value() -> None:
    rule = Own(ceiling=50.0)
    assert rule_from_json(rule.as_json(), rooms=[Posterior(), rule]) is rule
    for rooms in ([], [Own(ceiling=60.0)]):
        with pytest.raises(
            InputError, match=r"the exploration is \{'name': 'own'.* load_learner\(path, rooms=\[rule\]\)"
        ):
            rule_from_json(rule.as_json(), rooms=rooms)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (None, "the exploration is None; there are optimistic, greedy, epsilon, sampled, rmax, local, or give your"),
        ({"name": "greedy"}, r"the exploration greedy is \{\}; it needs \['ceiling'\]"),
        ({**Greedy().as_json(), "more": 1.0}, "it needs"),
        ({**Epsilon(1.0, 0.0).as_json(), "explore": "1"}, "is of a wrong type"),
        ({**Epsilon(1.0, 0.0).as_json(), "explore": True}, "is of a wrong type"),
        ({**Posterior().as_json(), "by_variance": 1.0}, "is of a wrong type"),
        ({**Greedy().as_json(), "name": 3}, "'name': 3.*; there are optimistic, greedy"),
        ({**Greedy().as_json(), "name": "reckless"}, "'name': 'reckless'.*; there are optimistic, greedy"),
        ({**Posterior().as_json(), "spread": None}, "spread is inf; it is a standard deviation, a finite number from"),
        ({**Posterior().as_json(), "optimism": 1.5}, r"optimism is 1\.5; it is the share of plans .* in \[0, 1\]"),
        ({**Posterior().as_json(), "patience": 0.0}, r"patience is 0\.0; it is .* above 0; infinity for no limit"),
        (
            {**Optimistic().as_json(), "patience": 2.0},
            r"the exploration optimistic is \{'patience': 2\.0\}; it needs \[\]",
        ),
        ({**Epsilon(1.0, 0.0).as_json(), "explore": 2.0}, r"explore is 2\.0; it is the share .* in \[0, 1\]"),
    ],
)
def test_what_is_no_rule_is_refused(values: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        rule_from_json(values)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -0.1])
def test_numbers_that_make_no_sense_are_refused(bad: float) -> None:
    for make in (
        lambda: Epsilon(bad, 0.0), lambda: Epsilon(0.5, bad), lambda: Posterior(spread=bad),
        lambda: Kwik(threshold=bad), lambda: Local(bonus=bad),
    ):  # fmt: skip
        with pytest.raises(InputError, match=str(bad)):
            make()
    with pytest.raises(InputError, match="ceiling is nan; it is what no value of a plan is above, from 1 on, the loss"):
        Posterior(ceiling=math.nan)


def test_only_the_optimistic_have_a_loss_bound() -> None:
    with pytest.raises(InputError, match="a learner that is sampled uses no loss_bound; leave out"):
        explorer_of(Posterior(), PROBLEM, forget=True)


def test_settings_in_a_file_need_the_new_ones_too() -> None:
    values = learner_of(PROBLEM, loss_floor=0.1).settings.as_json()
    assert Settings.from_json(dict(values)) == learner_of(PROBLEM, loss_floor=0.1).settings
    for key, value, message in (
        ("replan_factor", 2, "replan_factor is 2, of a wrong type"),
        ("replan_factor", 0.5, "replan_factor 0.5 is not a number from 1 on"),
        ("exploration", "greedy", "the exploration is 'greedy'; there are"),
    ):
        with pytest.raises(InputError, match=message):
            Settings.from_json({**values, key: value})


def test_a_file_is_resumed_only_by_a_learner_of_the_same_rule(tmp_path: Path) -> None:
    with NO_WAITING:
        explorer_of(Posterior(), PROBLEM).save(tmp_path / "learner")
    assert explorer_of(Posterior(), PROBLEM).restored(tmp_path / "learner").intervals == 0
    with pytest.raises(FileFormatError, match=r"has other settings: PosteriorSampling.*spread 0.5.*spread 0.7"):
        explorer_of(Posterior(spread=0.7), PROBLEM).restored(tmp_path / "learner")
    with pytest.raises(FileFormatError, match="the kind is 'PosteriorSampling', and 'GreedyRidge' is needed"):
        explorer_of(Greedy(), PROBLEM).restored(tmp_path / "learner")


@pytest.mark.parametrize("kind", [np.random.PCG64DXSM, np.random.Philox])
def test_a_stream_of_any_kind_can_be_saved_or_is_refused_at_the_door(kind: Any) -> None:
    try:
        learner = explorer_of(Posterior(), PROBLEM, rng=np.random.Generator(kind(1)))
    except InputError:
        return
    reloaded(learner)
