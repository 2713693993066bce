"""What a store holds in memory: its learners, the open cases, and what happens to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from goalbound.learners.advance import Advance
from goalbound.learners.layers import unwrap
from goalbound.models import Support
from goalbound.serve.store.events import Kind


class Change(NamedTuple):
    """What an event is, before it has a number, a time and a chain: the fields of :class:`Event`."""

    kind: Kind
    learner: int
    case: int | None = None
    step: int | None = None
    taken: int | None = None
    loss: float | None = None
    next_state: int | None = None
    body: bytes | None = None
    action: int | None = None
    propensity: float | None = None
    others: bytes | None = None


@dataclass
class Managed:
    """A learner of the store.

    Attributes:
        number, name: of it.
        learner: what decides and learns.
        follows: the number of the learner whose cases it follows as a challenger; None: it has cases of its own.
        mixing: with which probability an action is drawn uniformly from the possible ones.
        seed: of these draws.
        learns_from_shadow: whether it learns from the steps of shadow cases.
        support: of the learner.
    """

    number: int
    name: str
    learner: Any
    follows: int | None = None
    mixing: float = 0.0
    seed: int = 0
    learns_from_shadow: bool = True
    support: Support = field(init=False)
    draws: bool = field(init=False)
    advance: Advance | None = field(init=False)

    def __post_init__(self) -> None:
        inside = unwrap(self.learner)
        self.advance = None if self.mixing else Advance.of(inside)
        self.support = inside.support
        self.draws = bool(inside.settings.draws)

    def as_json(self) -> dict[str, Any]:
        """All but the learner itself."""
        return {
            "name": self.name, "follows": self.follows, "mixing": self.mixing, "seed": self.seed,
            "learns_from_shadow": self.learns_from_shadow,
        }  # fmt: skip


class Case:
    """An open case: where it is, what is proposed, and its episodes, one for each learner that takes part.

    The first of the episodes is the one that decides: that of the learner under which the case was begun, or, where a
    challenger that had not followed the case was promoted, still that of the learner which decided before.
    """

    __slots__ = ("action", "episodes", "id", "learner", "number", "propensity", "seq", "shadow", "state", "step")

    def __init__(self, number: int, id: str, learner: int, state: int, *, shadow: bool) -> None:
        self.number = number
        self.id = id
        self.learner = learner
        self.state = state
        self.shadow = shadow
        self.step = 0
        self.action = -1
        self.propensity: float | None = None
        self.seq = 0
        self.episodes: dict[int, Any] = {}

    @property
    def decider(self) -> int:
        """The number of the learner that decides."""
        return next(iter(self.episodes))
