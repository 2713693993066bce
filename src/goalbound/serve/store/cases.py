"""What a store holds in memory: its learners, the open cases, and what happens to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from goalbound.around.around import has_own
from goalbound.learners.advance import Advance
from goalbound.learners.layers import layers, unwrap
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
        support: of the learner.
        draws: whether it draws its actions.
        counts_early: whether its visits count in the order in which they begin.
    """

    number: int
    name: str
    learner: Any
    follows: int | None = None
    support: Support = field(init=False)
    draws: bool = field(init=False)
    counts_early: bool = field(init=False)
    advance: Advance | None = field(init=False)

    def __post_init__(self) -> None:
        inside = unwrap(self.learner)
        self.advance = Advance.of(inside)
        self.support = inside.support
        self.draws = bool(inside.settings.draws)
        self.counts_early = getattr(inside.settings, "is_optimistic", False)

    def as_json(self) -> dict[str, Any]:
        """All but the learner itself."""
        return {"name": self.name, "follows": self.follows}


def columns_of(learner: Any) -> list[str] | None:
    """The covariates that a learner with a map reads; None: it is shown contexts."""
    return next((list(one.map.column_names) for one in layers(learner) if has_own(one, "map")), None)


class Case:
    """An open case: where it is, what is proposed, and its episodes, one for each learner that takes part.

    The first of the episodes is the one that decides: that of the learner under which the case was begun, or, where a
    challenger that had not followed the case was promoted, still that of the learner which decided before.
    """

    __slots__ = ("action", "episodes", "id", "learner", "number", "propensity", "seq", "state", "step")

    def __init__(self, number: int, id: str, learner: int, state: int) -> None:
        self.number = number
        self.id = id
        self.learner = learner
        self.state = state
        self.step = 0
        self.action = -1
        self.propensity: float | None = None
        self.seq = 0
        self.episodes: dict[int, Any] = {}

    @property
    def decider(self) -> int:
        """The number of the learner that decides."""
        return next(iter(self.episodes))
