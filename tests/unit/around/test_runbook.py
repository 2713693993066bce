"""Runbooks, and the learners that they are put around."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

import numpy as np
import pytest

from goalbound import LRCSSP, Apprentice, Guarded, InUnits, LossScale, Monitored, Support
from goalbound.adapters.covariates import CovariateLearner, Hats
from goalbound.around.context_map import MappedContexts
from goalbound.around.discretized import Discretized
from goalbound.around.runbook import checked_runbook
from goalbound.errors import InputError
from tests.support.incidents_at_work import BEFORE


def test_a_runbook_is_read_from_names_and_numbers() -> None:
    page = BEFORE.support.action("page")
    for given in ({"down": "page", "degraded": "page"}, {0: page, 1: "page"}, [page, page]):
        assert checked_runbook(BEFORE.support, given).tolist() == [page, page]


@pytest.mark.parametrize("given", [{"down": "page"}, [0], {"down": "page", "degraded": "pray"}, "page", None])
def test_what_is_no_runbook_is_an_error_that_names_the_argument(given: object) -> None:
    with pytest.raises(InputError, match=r"^runbook: "):
        checked_runbook(BEFORE.support, given)  # type: ignore[arg-type]


SUPPORT = Support.full(2, 2)
AROUND: dict[str, Callable[[Any], Any]] = {
    "Guarded": lambda learner: Guarded(learner, [1, 0], after_steps=2),
    "Apprentice": lambda learner: Apprentice(learner, [1, 0]),
    "Monitored": Monitored,
    "InUnits": lambda learner: InUnits(learner, LossScale("min", cap=60)),
    "MappedContexts": lambda learner: MappedContexts(learner, np.eye(2)),
    "CovariateLearner": lambda learner: CovariateLearner(Hats(np.array([0.0, 1.0])), learner),
    "Discretized": lambda learner: Discretized(lambda rng: learner, learner.context_size, parts=2),
}
BY_RUNBOOK = ("Guarded", "Apprentice")


def stacked(names: Iterable[str], learner: Any = None) -> Any:
    """Wrappers around a learner, the first name outermost."""
    made = LRCSSP(SUPPORT, 2, loss_floor=0.1) if learner is None else learner
    for name in reversed([*names]):
        made = AROUND[name](made)
    return made


def acts(learner: Any) -> bool:
    """Whether an episode takes a step to the goal."""
    covariates = any(isinstance(one, CovariateLearner) for one in (learner, getattr(learner, "inner", None)))
    episode = learner.begin(0.5 if covariates else [0.5, 0.5])
    episode.observe((0, episode.act(0), 0.5, 2))
    return not learner.open_episodes


@pytest.mark.parametrize("outer", BY_RUNBOOK)
@pytest.mark.parametrize(
    "inner",
    [
        *([name] for name in AROUND if name != "Discretized"),
        *([name, runbook] for name in ("InUnits", "Monitored", "CovariateLearner") for runbook in BY_RUNBOOK),
        ["InUnits", "CovariateLearner"],
        ["CovariateLearner", "Monitored", "Guarded"],
    ],
)
def test_the_remedy_for_a_wrapped_learner_works(outer: str, inner: list[str]) -> None:
    learner = stacked(inner)
    with pytest.raises(InputError, match=r"^learner is of the type ") as caught:
        AROUND[outer](learner)
    said = str(caught.value)
    inside = re.search(r"learner\.([\w.]+)", said)
    around = re.findall(r"(?<=the )\w+(?= around)", said)
    runbooks = [name for name in inner if name in BY_RUNBOOK]
    assert inside is not None
    assert acts(stacked([*around, outer], attrgetter(inside[1])(learner)))
    assert around == [name for name in inner if name not in BY_RUNBOOK]
    if runbooks:
        assert f"the {runbooks[0]} acts by a runbook already: use it alone" in said
        assert acts(learner)


@pytest.mark.parametrize("outer", [*BY_RUNBOOK, "Monitored"])
def test_cells_are_put_around_learners_with_a_runbook_or_a_monitor(outer: str) -> None:
    with pytest.raises(InputError, match=rf"Discretized; .*put .*cells.* around the {outer}"):
        AROUND[outer](stacked(["Discretized"]))
    one = LRCSSP(SUPPORT, 1, loss_floor=0.1)
    assert acts(Discretized(lambda rng: AROUND[outer](one), 2, parts=2))


@pytest.mark.parametrize("inner", ["InUnits", "MappedContexts", "CovariateLearner"])
def test_maps_and_units_are_put_around_a_monitor(inner: str) -> None:
    with pytest.raises(InputError, match=f"{inner}; .*put maps, cells and units around the Monitored"):
        AROUND["Monitored"](stacked([inner]))
    assert acts(stacked([inner, "Monitored"]))
