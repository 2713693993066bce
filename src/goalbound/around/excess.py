"""Do episodes lose more than their plans allow for? A sequential test, one outcome for each episode.

Let u be what an episode should lose at most on average, known before its first step, and X >= 0 what it lost. The sums
are those of Shiryaev and Roberts of 1 + z (X / u - 1), mixed over z in [0, 1], over episodes in the order in which they
began: cheap ones end first, so a result waits until all earlier ones are settled. A trial may be settled with its loss
so far at any time, which is less (docs/how_to/guards.md has the proof).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from math import log
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError
from goalbound.models.amounts import Amounts, nearest
from goalbound.models.files.ranges import HUGE, matching, within

STAKES = (0.05, 0.15, 0.4)
"""z"""
RUN_LENGTH = 10_000.0
"""How many episodes pass on average, at least, until there is a false warning, where the bounds hold."""
MOST_WAITING = 100
"""The number of results that wait for an earlier trial, or the number of open trials if that is larger; with one more
the trial is settled."""
ROBERTS, CUSUM, COUNT, LOST, ALLOWED = range(5)


@dataclass(frozen=True)
class ExcessLoss(Amounts):
    """Episodes lost more than was allowed for.

    Attributes:
        episodes: in how many, since the excess began.
        lost: their mean loss.
        allowed: the mean of what was allowed for.
        by_bounds: whether that was the upper bound of their plans; else 1.5 times the estimate.
    """

    episodes: int
    lost: float
    allowed: float
    by_bounds: bool

    _amounts: ClassVar = {"lost": nearest, "allowed": nearest}

    def __str__(self) -> str:
        source = "the upper bound of their plans" if self.by_bounds else "1.5 times the estimate of their plans"
        return (
            f"the last {self.episodes} episodes lost {self.lost:.3g}{self._unit_text} each, and {source} is "
            f"{self.allowed:.3g}{self._unit_text}: the model that plans are made in is wrong, by a change of the world "
            "(monitor it: Monitored), or because the environment is not linear in the contexts; let the runbook act, "
            "and acknowledge() to go on"
        )


class ExcessLossTest:
    """The sums of the test.

    >>> test = ExcessLossTest()
    >>> sum(test.add(3.0, 1.0) for episode in range(60))  # three times what is allowed for: found once
    1
    """

    def __init__(self) -> None:
        self.sums: NDArray[np.float64] = np.zeros((5, len(STAKES)))
        """[5, 3] for each z: R, the CUSUM sum, and since that began the episodes, their losses, what was allowed"""

    @property
    def found(self) -> bool:
        """Whether losses stayed above what is allowed."""
        return bool(self.sums[ROBERTS].mean() >= RUN_LENGTH)

    def add(self, lost: float, allowed: float) -> bool:
        """Add an episode that ended; whether the excess is found just now. Once it is, nothing is added any more."""
        if self.found:
            return False
        for at, stake in enumerate(STAKES):
            e = 1.0 + stake * (lost / allowed - 1.0)
            column = self.sums[:, at]
            column[ROBERTS] = (column[ROBERTS] + 1.0) * e
            if column[CUSUM] <= 0.0:
                column[CUSUM:] = 0.0
            column[CUSUM:] += (log(e), 1.0, lost, allowed)
        return self.found

    def merge(self, other: ExcessLossTest) -> None:
        """Add the sums of a test of other episodes. R minus the count of episodes is a supermartingale for each, and so
        is their sum minus the count of all: the run length holds for the episodes of both together."""
        added = other.sums.copy()
        for sums in (self.sums, added):
            sums[CUSUM:, sums[CUSUM] <= 0.0] = 0.0  # a stretch that has ended
        self.sums += added

    def excess(self, *, by_bounds: bool) -> ExcessLoss | None:
        """Return what was found; None if nothing was."""
        if not self.found:
            return None
        column = self.sums[:, int(np.argmax(self.sums[ROBERTS]))]
        count = column[COUNT]
        return ExcessLoss(int(count), float(column[LOST] / count), float(column[ALLOWED] / count), by_bounds)

    def restore(self, sums: NDArray[np.float64]) -> None:
        """Take over the array of a file, checked."""
        matching({"excess": sums}, "excess", self.sums.shape, self.sums.dtype)
        within("excess", np.delete(sums, CUSUM, axis=0), 0.0, HUGE)
        self.sums[...] = sums
        if self.found and (self.sums[COUNT] < 1.0).any():
            raise FileFormatError("excess says that a warning was given, and has no episodes")


@dataclass(eq=False)
class Trial:
    """What an episode may lose by its plan, and what it has ``lost`` by it so far."""

    allowed: float
    lost: float = 0.0


def settled(trials: list[Trial], running: Collection[Trial | None]) -> Iterator[Trial]:
    """Take those out of the trials that count from now on, in the order in which they began.

    >>> first, second = trials = [Trial(1.0), Trial(1.0)]
    >>> len(list(settled(trials, [first])))  # the first may still lose anything
    0
    >>> [trial is first for trial in settled(trials, [])]
    [True, False]
    """
    waiting = sum(trial not in running for trial in trials)
    while trials and (trials[0] not in running or waiting > max(MOST_WAITING, len(trials) - waiting)):
        waiting -= trials[0] not in running
        yield trials.pop(0)


def trials_of_rows(rows: NDArray[np.float64], episodes: int) -> tuple[list[Trial], dict[int, Trial]]:
    """Return the trials of a file, checked, and those of open episodes by their places.

    A row has what was lost, what is allowed, and the place of the open episode; -1 where it has ended.
    """
    places = matching({"trials": rows}, "trials", (len(rows), 3), np.float64)[:, 2]
    within("trials, lost,", rows[:, 0], 0.0, HUGE)
    within("trials, allowed,", rows[:, 1], np.finfo(np.float64).tiny, HUGE)
    of_open = places[places != -1.0]
    if not np.isin(of_open, np.arange(episodes)).all() or len(set(of_open)) != len(of_open):
        raise FileFormatError(f"trials: each is of one of the {episodes} open episodes, or -1, not {places[:8]}")
    trials = [Trial(allowed, lost) for lost, allowed, _ in rows.tolist()]
    return trials, {int(place): trial for place, trial in zip(places, trials, strict=True) if place >= 0.0}
