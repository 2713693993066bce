"""A service with a runbook that is best on calm days and bad on busy ones; what an episode of an apprentice loses."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound import LRCSSP, Builder, widths
from goalbound.around.runbook import Apprentice, ApprenticeEpisode
from goalbound.models import SSP, LinearCSSP, Step
from tests.support.behaviour import Log, log_of

RUNBOOK = {"down": "restart", "degraded": "restart"}
CALM, BUSY = [0.95, 0.05], [0.05, 0.95]


def service() -> LinearCSSP:
    """Restarts help on calm days (component 0) and hardly on busy ones, where they often make it worse."""
    plan = Builder(components=["calm", "busy"])
    plan.add("down", "restart", loss=[0.1, 0.8], to={"goal": [0.9, 0.1], "degraded": [0.05, 0.1], "down": [0.05, 0.8]})
    plan.add("down", "roll back", loss=0.3, to={"goal": 0.9, "degraded": 0.1})
    plan.add("degraded", "restart", loss=[0.1, 0.7], to={"goal": [0.9, 0.2], "down": [0.1, 0.8]})
    plan.add("degraded", "roll back", loss=0.2, to={"goal": 0.9, "degraded": 0.1})
    return plan.linear_cssp()


SERVICE = service()


MOST_STEPS = 3000


@cache
def _whole_log(seed: int) -> Log:
    def restart_or_anything(context: NDArray[np.float64], state: int, before: Log, rng: np.random.Generator) -> int:
        return int(rng.random() < 0.5 and rng.integers(2))

    return log_of(SERVICE, restart_or_anything, MOST_STEPS, seed)


def log(steps: int, seed: int = 1) -> Log:
    """People restart, and do anything else in half of the steps. A longer log begins as a shorter one."""
    assert steps <= MOST_STEPS
    return _whole_log(seed)[:steps]


def lr_cssp(scale: float = 1.0) -> LRCSSP:
    by = widths.sharp() if scale == 1.0 else widths.scaled(widths.sharp(), by=scale)
    return LRCSSP(SERVICE.support, 2, loss_floor=0.1, widths=by)


def taught(steps: int, *, scale: float = 1.0, seed: int = 1, **settings: Any) -> Apprentice:
    """An apprentice of the runbook that has learned from a log."""
    apprentice = Apprentice(lr_cssp(scale), settings.pop("runbook", RUNBOOK), **settings)
    apprentice.learn_log(log(steps, seed))
    return apprentice


def followed_loss(apprentice: Apprentice, truth: SSP, context: NDArray[np.float64] | list[float]) -> list[float]:
    """[S] the expected loss of an episode from each first state, by what copies of it do along all its ways.

    Each way is walked step by step; where an episode is in the same state with the same leader, it does the same.
    """
    return [_loss_of(copy.deepcopy(apprentice).begin(context), truth, state) for state in range(truth.support.states)]


def _loss_of(episode: ApprenticeEpisode, truth: SSP, first: int) -> float:
    support, goal = truth.support, truth.support.states
    found: dict[tuple[int, str], int] = {}
    rows: list[tuple[float, list[tuple[int, float]]]] = []

    def visit(here: ApprenticeEpisode, state: int) -> int:
        """The number of the node in which the episode acts."""
        action = here.act(state)
        node = state, here.led_by
        if node in found:
            return found[node]
        number = found[node] = len(rows)
        pair = support.pair(state, action)
        row = support.row(pair)
        rows.append((float(truth.losses[pair]), []))
        for following, chance in zip(support.next_state[row].tolist(), truth.probabilities[row].tolist(), strict=True):
            if following != goal and chance > 0.0:
                there = copy.deepcopy(here)
                there.observe(Step(state, action, float(truth.losses[pair]), following))
                rows[number][1].append((visit(there, following), chance))
        return number

    start = visit(episode, first)
    matrix = np.eye(len(rows))
    for number, (_, following) in enumerate(rows):
        for other, chance in following:
            matrix[number, other] -= chance
    return float(np.linalg.solve(matrix, [loss for loss, _ in rows])[start])
