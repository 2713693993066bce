"""Do episodes lose more than their plans allow for? A sequential test, one outcome for each episode.

Let u be what an episode should lose at most on average, known before its first step, and X what it lost. X is not
negative, so 1 + z (X / u - 1) is neither for z in [0, 1], and has a mean of at most 1 while the mean of X is at most u.
Shiryaev-Roberts sums of it, as in :mod:`goalbound.around.change_kernels`, mixed over z: the mean number of episodes
until a false warning is at least the run length, if episodes are added in the order in which they began. An episode
that is left before its end counts with what it lost until then, which is less.

Many episodes are open at once, and cheap ones end first: in the order of their ends the last ones of a batch are all
expensive, and a test of that order finds an excess where there is none. So a result waits until all trials that began
earlier are settled. A trial that never ends does not hold up the others for ever: its loss so far is a lower bound, so
it may be settled with that at any time, for whatever reason (docs/how_to/guards.md).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError

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


class Trial:
    """What an episode may lose by its plan, and has ``lost`` by it so far; once it has ``ended`` no more counts."""

    __slots__ = ("_episode", "allowed", "ended", "lost")

    def __init__(self, allowed: float, lost: float = 0.0, *, ended: bool = False) -> None:
        self.allowed = allowed
        self.lost = lost
        self.ended = ended
        self._episode: ref[Any] | None = None

    def __getstate__(self) -> tuple[float, float, bool]:
        return self.allowed, self.lost, self.ended

    def __setstate__(self, state: tuple[float, float, bool]) -> None:
        self.allowed, self.lost, self.ended = state
        self._episode = None


class TrialQueue:
    """Trials that are open, or wait for one that began earlier.

    >>> class Case: ...
    >>> queue, one, other = TrialQueue(), Case(), Case()
    >>> first, second = queue.begin(1.0, one), queue.begin(1.0, other)
    >>> queue.end(second)
    >>> len(list(queue.settled()))  # the first may still lose anything
    0
    >>> queue.end(first)
    >>> [trial is first for trial in queue.settled()]
    [True, False]
    """

    def __init__(self) -> None:
        self.trials: deque[Trial] = deque()
        self._ended = 0  # of them
        self._left: deque[Trial] = deque()  # those whose episode nobody holds any more

    def __getstate__(self) -> list[Trial]:
        self._end_left()
        return list(self.trials)

    def __setstate__(self, trials: list[Trial]) -> None:
        self.trials, self._left = deque(trials), deque()
        self._ended = sum(trial.ended for trial in trials)

    def begin(self, allowed: float, episode: Any, *, lost: float = 0.0) -> Trial:
        """The last trial by now; it ends when its episode does, or when nobody holds that any more."""
        trial = Trial(allowed, lost)
        self.trials.append(trial)
        self.watch(trial, episode)
        return trial

    def watch(self, trial: Trial, episode: Any) -> None:
        """Tie a trial to its episode, also to a copy, or to one that was read from a file."""
        left = self._left
        trial._episode = ref(episode, lambda _: left.append(trial))

    def end(self, trial: Trial) -> None:
        """What the trial has lost is settled."""
        if not trial.ended:
            trial.ended = True
            self._ended += 1

    def settled(self) -> Iterator[Trial]:
        """Take out those that count from now on, in the order in which they began."""
        self._end_left()
        while self.trials:
            if not self.trials[0].ended:
                if self._ended <= max(MOST_WAITING, len(self.trials) - self._ended):
                    return
                self.end(self.trials[0])
            self._ended -= 1
            yield self.trials.popleft()

    def clear(self) -> None:
        """None of them counts."""
        for trial in self.trials:
            trial.ended = True
        self.trials.clear()
        self._ended = 0

    def _end_left(self) -> None:
        while self._left:
            self.end(self._left.popleft())

    def array(self, episodes: dict[int, int]) -> NDArray[np.float64]:
        """[n, 3] for a file: lost, allowed, and the place of the open episode (``episodes``: by the id of the trial);
        -1 of those that have ended."""
        self._end_left()
        rows = [(one.lost, one.allowed, -1.0 if one.ended else episodes.get(id(one), -1.0)) for one in self.trials]
        return np.array(rows, dtype=np.float64).reshape(len(rows), 3)

    def restore(self, array: NDArray[np.float64], episodes: list[Any]) -> dict[int, Trial]:
        """Take over the array of a file, checked; the trials of the open ``episodes``, by their places."""
        fine = array.ndim == 2 and array.shape[1] == 3 and bool(np.isfinite(array).all())
        fine = fine and bool((array[:, 0] >= 0.0).all() and (array[:, 1] > 0.0).all())
        places = array[:, 2] if fine else np.zeros(0)
        opened = places[places != -1.0]
        if not fine or not np.isin(opened, np.arange(len(episodes))).all() or len(set(opened)) != len(opened):
            raise FileFormatError(
                f"trials has shape {array.shape} or an entry that cannot be; a row says lost, allowed and which of the "
                f"{len(episodes)} open episodes it is, or -1"
            )
        found: dict[int, Trial] = {}
        for lost, allowed, place in array.tolist():
            trial = Trial(allowed, lost, ended=place < 0.0)
            self.trials.append(trial)
            if trial.ended:
                self._ended += 1
            else:
                found[int(place)] = trial
                self.watch(trial, episodes[int(place)])
        return found
