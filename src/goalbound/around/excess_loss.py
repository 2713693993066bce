"""Do episodes lose more than their plans allow for? A sequential test, one outcome for each episode.

Let u be what an episode should lose at most on average, known before its first step, and X what it lost. X is not
negative, so 1 + z (X / u - 1) is neither for z in [0, 1], and has a mean of at most 1 while the mean of X is at most u.
Shiryaev-Roberts sums of it, as in :mod:`goalbound.kernels.change_detection`, mixed over z: the mean number of episodes
until a false warning is at least the run length, if episodes are added in the order in which they began
(:mod:`goalbound.around.guarded_trials`). An episode that is left before its end counts with what it lost until then,
which is less.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError

STAKES = (0.05, 0.15, 0.4)
"""z"""
RUN_LENGTH = 10_000.0
"""How many episodes pass on average, at least, until there is a false warning, where the bounds hold."""
ROBERTS, CUSUM, COUNT, LOST, ALLOWED = range(5)


@dataclass(frozen=True)
class ExcessLoss:
    """Episodes lost more than was allowed for.

    Attributes:
        episodes: in how many, since the excess began.
        lost: by what they lost on average, on the scale of the learner.
        allowed: by what was allowed for on average.
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
        """An episode ended; whether the excess is found just now. Once it is, nothing is added until a restart."""
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

    def restart(self) -> None:
        """Nothing was seen."""
        self.sums[...] = 0.0

    def merge(self, other: ExcessLossTest) -> bool:
        """Add the sums of a test of other episodes; whether the excess is found just now.

        R minus the count of episodes is a supermartingale for each, and so is the sum of both minus the count of all
        episodes, now and as more come: the run length holds for the episodes of both together.
        """
        before = self.found
        theirs = other.sums.copy()
        for sums in (self.sums, theirs):
            sums[CUSUM:, sums[CUSUM] <= 0.0] = 0.0  # a stretch that has ended
        self.sums += theirs
        return self.found and not before

    def excess(self, *, by_bounds: bool) -> ExcessLoss | None:
        """What was found; None: nothing was."""
        if not self.found:
            return None
        column = self.sums[:, int(np.argmax(self.sums[ROBERTS]))]
        count = column[COUNT]
        return ExcessLoss(int(count), float(column[LOST] / count), float(column[ALLOWED] / count), by_bounds)

    def restore(self, sums: NDArray[np.float64]) -> None:
        """Take over the array of a file, checked."""
        others = np.delete(sums, CUSUM, axis=0) if sums.shape == self.sums.shape else sums
        if sums.shape != self.sums.shape or not np.isfinite(sums).all() or (others < 0.0).any():
            raise FileFormatError(f"excess has shape {sums.shape} or an entry that cannot be; it is {self.sums.shape}")
        self.sums[...] = sums
        if self.found and (self.sums[COUNT] < 1.0).any():
            raise FileFormatError("excess says that a warning was given, and has no episodes")
