"""What episodes lost by their plans, in the order in which they began.

Many episodes are open at once, and cheap ones end first: in the order of their ends the last ones of a batch are all
expensive, and a test of that order finds an excess where there is none. So a result waits until all trials that began
earlier are settled. A trial that never ends does not hold up the others for ever: what it has lost so far is a lower
bound of what it would lose, so it may be settled with that at any time, for whatever reason (docs/how_to/guards.md).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError

MOST_WAITING = 100
"""So many results, or as many as there are open trials if these are more, wait for an earlier trial; then that one is
settled with what it has lost so far."""


class Trial:
    """What an episode may lose by its plan, and has lost by it.

    Attributes:
        lost: so far.
        allowed: what it should lose at most on average.
        ended: nothing more of it counts.
    """

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
        self._ended = 0  # how many of them have
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
        """A trial is that of this episode: also of a copy, or of one that was read from a file."""
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
        fine = fine and bool(np.isin(opened, np.arange(len(episodes))).all()) and len(set(opened)) == len(opened)
        if not fine:
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
