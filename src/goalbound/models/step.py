"""One step of an episode."""

from typing import NamedTuple


class Step(NamedTuple):
    """What one decision gave: in ``state``, ``action`` was played, ``loss`` was paid, ``next_state`` followed.

    ``next_state`` is S (the number of states) at the goal.
    """

    state: int
    action: int
    loss: float
    next_state: int
