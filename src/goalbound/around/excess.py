"""Do episodes lose more than their plans allow for? A sequential test, one outcome for each episode.

Let u be what an episode should lose at most on average, known before its first step, and X what it lost. X is not
negative, so 1 + z (X / u - 1) is neither for z in [0, 1], and has a mean of at most 1 while the mean of X is at most u.
Shiryaev-Roberts sums of it, as in :mod:`goalbound.around.change_kernels`, mixed over z: the mean number of episodes
until a false warning is at least the run length, if episodes are added in the order in which they began. An episode
that is left before its end counts with what it lost until then, which is less.

Cheap episodes end first, so a test in the order of ends would find an excess where there is none: a result waits until
all trials that began earlier are settled. A trial may be settled with its loss so far at any time, for whatever reason:
that is less (docs/how_to/guards.md has the proof).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from typing import Any
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError
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
class ExcessLoss:
    """Episodes lost more than was allowed for.

    Attributes:
        episodes: in how many, since the excess began.
        lost: their mean loss, with losses of a step in [0, 1].
        allowed: the mean of what was allowed for.
        by_bounds: whether that was the upper bound of their plans; else 1.5 times the estimate.
    """

    episodes: int
    lost: float
    allowed: float
    by_bounds: bool

    def __str__(self) -> str:
        source = "the upper bound of their plans" if self.by_bounds else "1.5 times the estimate of their plans"
        return (
            f"the last {self.episodes} episodes lost {self.lost:.3g} each, and {source} is {self.allowed:.3g}: the "
            "model that plans are made in is wrong, by a change of the world (monitor it: Monitored), or because the "
            "environment is not linear in the contexts; let the runbook act, and acknowledge() to go on"
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

    @property
    def found(self) -> bool:
        """Whether losses stayed above what is allowed."""
        return bool(self.sums[ROBERTS].mean() >= RUN_LENGTH)

    def merge(self, other: ExcessLossTest) -> bool:
        """Add the sums of a test of other episodes; whether the excess is found just now.

        R minus the count of episodes is a supermartingale for each, and so is the sum of both minus the count of all
        episodes, now and as more come: the run length holds for the episodes of both together.
        """
        before, added = self.found, other.sums.copy()
        for sums in (self.sums, added):
            sums[CUSUM:, sums[CUSUM] <= 0.0] = 0.0  # a stretch that has ended
        self.sums += added
        return self.found and not before

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
    """What an episode may lose by its plan, and has ``lost`` by it so far; once it has ``ended`` no more counts."""

    allowed: float
    lost: float = 0.0
    ended: bool = False

    def end_with(self, episode: Any) -> None:
        """End it when nobody holds the episode any more."""
        finalize(episode, setattr, self, "ended", True).atexit = False


def settled(trials: list[Trial]) -> Iterator[Trial]:
    """Take those out of the trials that count from now on, in the order in which they began.

    >>> first, second = Trial(1.0), Trial(1.0, ended=True)
    >>> trials = [first, second]
    >>> len(list(settled(trials)))  # the first may still lose anything
    0
    >>> first.ended = True
    >>> [trial is first for trial in settled(trials)]
    [True, False]
    """
    waiting = sum(trial.ended for trial in trials)
    while trials and (trials[0].ended or waiting > max(MOST_WAITING, len(trials) - waiting)):
        waiting -= trials[0].ended
        trials[0].ended = True
        yield trials.pop(0)


def trial_rows(trials: list[Trial], places: dict[Trial, int]) -> NDArray[np.float64]:
    """Return [n, 3] for a file: lost, allowed, and the place of the open episode; -1 where it has ended."""
    rows = [(trial.lost, trial.allowed, float(places.get(trial, -1))) for trial in trials]
    return np.array(rows, dtype=np.float64).reshape(len(rows), 3)


def trials_of_rows(rows: NDArray[np.float64], episodes: int) -> tuple[list[Trial], dict[int, Trial]]:
    """Return the trials of a file, checked, and those of open episodes by their places."""
    places = matching({"trials": rows}, "trials", (len(rows), 3), np.float64)[:, 2]
    within("trials, lost,", rows[:, 0], 0.0, HUGE)
    within("trials, allowed,", rows[:, 1], np.finfo(np.float64).tiny, HUGE)
    of_open = places[places != -1.0]
    if not np.isin(of_open, np.arange(episodes)).all() or len(set(of_open)) != len(of_open):
        raise FileFormatError(f"trials: each is of one of the {episodes} open episodes, or -1, not {places[:8]}")
    trials = [Trial(allowed, lost, place < 0.0) for lost, allowed, place in rows.tolist()]
    return trials, {int(place): trial for place, trial in zip(places, trials, strict=True) if place >= 0.0}
