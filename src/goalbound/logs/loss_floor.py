"""Whether the losses of a log contradict a loss floor that was declared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goalbound.errors import ArgumentError
from goalbound.logs.log import Log
from goalbound.models.validation import check_float, check_fraction, check_type
from goalbound.terminal import pluralize

BETS = 16
"""Sizes of bets against the floor, each half of the one before."""
LARGEST_BET = 2.0**30


@dataclass(frozen=True)
class PairBelowFloor:
    """A pair whose mean loss in a log is below the loss floor.

    Attributes:
        state, action: names, or numbers as text.
        visits: how often it was tried.
        mean_loss: in the unit of the log.
        contradicts: whether the losses contradict the floor; else they may be low by chance.
        unit: of the losses; "" if they have none.
    """

    state: str
    action: str
    visits: int
    mean_loss: float
    contradicts: bool
    unit: str

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.action} in {self.state}: {self.mean_loss:.4g}{unit} in {pluralize(self.visits, 'step')}"


def pairs_below_floor(log: Log, loss_floor: float, *, delta: float = 0.05) -> tuple[PairBelowFloor, ...]:
    """The pairs whose mean loss in the log is below a loss floor, those that contradict it first.

    Args:
        log: the log.
        loss_floor: as learners take it, in [0, 1]; the ``from_unit`` of the log's scale converts.
        delta: if no mean loss is below the floor, a pair is said to contradict it with at most this probability.

    The test bets against the floor p: with each loss x of a pair the capital is multiplied by 1 + b (p - x), where
    0 <= b <= 1 / (1 - p), so it is never negative. If the mean of every loss, given all that came before it, is at
    least p, the expected factor is at most 1: the capital is a supermartingale, and so is the average of the capitals
    of 16 bets b. By Ville's inequality it ever reaches N / delta with probability at most delta / N; there are N pairs.
    So the test is valid whoever chose the actions and whenever the log ends. It needs that no rows were left out
    because of their losses, and a support that was given: an inferred one has its N from the log.

    >>> from goalbound.logs import read_log
    >>> rows = {"case": range(60), "time": range(60), "state": ["ill"] * 60, "action": ["drug", "rest"] * 30,
    ...         "loss": [0.1, 0.4] * 30, "next_state": ["goal"] * 60}
    >>> [str(one) for one in pairs_below_floor(read_log(rows), 0.3)]
    ['drug in ill: 0.1 in 30 steps']
    """
    check_type(log, Log, "log", "give what read_log(...) gives")
    floor = check_float(loss_floor, "loss_floor", "in [0, 1]")
    if not 0.0 <= floor <= 1.0:
        raise ArgumentError(f"loss_floor is {floor:g}; it is in [0, 1]: from_unit(...) of the scale converts")
    delta = check_fraction(delta, "delta", "how often a floor that holds may be contradicted")
    support, pairs, losses = log.support, log.steps.pairs, log.steps.losses
    visits = np.bincount(pairs, minlength=support.pairs)
    means = np.bincount(pairs, weights=losses, minlength=support.pairs) / np.maximum(visits, 1)
    most = min(1.0 / (1.0 - floor), LARGEST_BET) if floor < 1.0 else LARGEST_BET
    capitals = []
    with np.errstate(divide="ignore"):
        for bet in most * 0.5 ** np.arange(BETS):
            gains = np.log1p(np.maximum(bet * (floor - losses), -1.0))  # a capital of 0 stays 0
            capitals.append(np.bincount(pairs, weights=gains, minlength=support.pairs))
    capital = np.logaddexp.reduce(capitals, axis=0) - np.log(BETS)
    contradicts = capital >= np.log(support.pairs / delta)
    low = np.flatnonzero((visits > 0) & (means < floor * (1.0 - 1e-12)))
    states = support.state_names or tuple(map(str, range(support.states)))
    actions = support.action_names or tuple(map(str, range(support.actions)))
    return tuple(
        PairBelowFloor(
            states[support.pair_state[pair]], actions[support.pair_action[pair]], int(visits[pair]),
            float(log.cap * means[pair]), bool(contradicts[pair]), log.unit,
        )
        for pair in low[np.argsort(-capital[low], kind="stable")]
    )  # fmt: skip
