"""The slots that an exploration rule fills in the loop of a learner, and what its room offers Python."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.protocol import ConfidenceModel, Empty, Run, named_fields
from goalbound.errors import ArgumentError
from goalbound.jit.compile import Kernel, Slot, lean
from goalbound.jit.struct import Struct
from goalbound.models.validation import check_bool, check_float, short_repr

begin_exploring = Slot("begin_exploring")
draw = Slot("draw")
select = Slot("select")
ends = Slot("ends")
outgrown = Slot("outgrown")
goes_on = Slot("goes_on")


@lean
def begin_as_it_is(constants, state, view):
    """Nothing is noted when an episode begins."""


@lean
def draw_nothing(constants, view, rng):
    """A plan has nothing random in it."""


@lean
def follow_plan(constants, view, state, rng):
    """The pair of the plan."""
    return view.iteration.policy[state]


@lean
def never_ends(constants, state, view, pair, loss):
    """No step ends its interval before it is learned from."""
    return False


@lean
def outgrown_if_unknown(constants, state, view, pair, known):
    """An unknown step ends its interval once the determinant of its pair has grown enough since the plan (line 13);
    below 0 the data was forgotten since."""
    grown = state.log_det[pair] - view.log_det[pair]
    return not known and (grown >= constants.growth or grown < 0.0)


@lean
def goes_on_as_before(constants, state, view, known):
    """An interval that does not end goes on."""


class ExploreSlots(NamedTuple):
    """The kernels of an exploration rule. All have a default.

    Attributes:
        begin_exploring: ``(constants, state, view)`` an episode begins.
        draw: ``(constants, view, rng)`` what is random in a new plan.
        select: ``(constants, view, s, rng) -> pair`` the pair to play in a state, by the plan of the view.
        ends: ``(constants, state, view, pair, loss) -> bool`` whether a step ends its interval, before it is learned
            from.
        outgrown: ``(constants, state, view, pair, known) -> bool`` whether so much was learned of a pair since the plan
            that a new one is due.
        goes_on: ``(constants, state, view, known)`` a step has not ended its interval.
    """

    begin_exploring: Kernel = begin_as_it_is
    draw: Kernel = draw_nothing
    select: Kernel = follow_plan
    ends: Kernel = never_ends
    outgrown: Kernel = outgrown_if_unknown
    goes_on: Kernel = goes_on_as_before

    def filling(self) -> dict[Slot, Kernel]:
        """The kernels by their slots."""
        return {globals()[name]: kernel for name, kernel in self._asdict().items()}


class ExplorationRule:
    """A room: how a learner chooses what to play, beyond the best policy of its model. Frozen; compared by value.

    Subclass it: what is left out is that of a rule that plays what the plan of the estimate says
    (:class:`goalbound.learners.explore.greedy.Greedy`).

    Attributes:
        name: what it is called where results are recorded.
        ceiling: no value of a plan is above it.
        draws: whether it draws numbers, so that a file has the state of a generator.
        is_optimistic: whether it plans in the confidence model that the learner is given.
    """

    name: str
    ceiling: float
    draws: bool = False
    is_optimistic: bool = False

    def constants(self, run: Run) -> Struct:
        """Its ``constants.explore``."""
        return Empty()

    def room(self, constants: Any) -> ConfidenceModel | None:
        """The model it plans in; None: the confidence model of the learner."""
        from goalbound.confidence.points import Points

        return Points()

    def slots(self, constants: Any) -> ExploreSlots:
        """Its kernels."""
        return ExploreSlots()

    def new_view(self, run: Run) -> Struct:
        """Its ``view.explore``."""
        return Empty()

    def draw(self, learner: Any, view: Any) -> None:
        """What is random in a new plan: the kernel ``draw``, with the learner's own generator.

        As Python: handing a generator to compiled code takes longer than a small kernel, and loses 48 bytes a call.
        """
        learner._program[draw].python(learner._constants, view, learner._rng)

    def select(self, learner: Any, view: Any, state: int) -> int:
        """The pair to play in a state: the kernel ``select``, as Python."""
        return int(learner._program[select].python(learner._constants, view, state, learner._rng))

    def select_among(self, learner: Any, view: Any, state: int, allowed: NDArray[np.int64]) -> int:
        """The same where only some pairs are possible; where it is none of them, the best of them at the values of the
        plan."""
        chosen = self.select(learner, view, state)
        return chosen if chosen in allowed else int(learner.best_pair(view, allowed))

    def planned_for(self, learner: Any, view: Any, pair: int, allowed: NDArray[np.int64] | None) -> int | None:
        """The pair that the plan of a view has where the rule plays ``pair``: another one where it plays that to find
        out more. None: the rule does not play it there, as where a person chose, or it draws."""
        return None

    def noted(self, learner: Any, found: Any, state: int, view: Any) -> Any:
        """An explanation of a state under the plan of a view, with notes of the rule."""
        return found

    def check_views(self, views: Any) -> None:
        """An error unless ``view.explore`` of the open episodes in a file, with an axis in front, can be."""

    def card_numbers(self) -> dict[str, float]:
        """Its constants, by name, for the card of the learner."""
        return {}

    def as_json(self) -> dict[str, Any]:
        """Return the name and the fields of a dataclass, for files and records; None stands for infinity.

        :func:`goalbound.learners.exploration.rule_from_json` reads it back by its name.
        """
        return named_fields(self)

    def describe(self) -> list[str]:
        """What ``repr`` of a learner says of it."""
        return []

    def __str__(self) -> str:
        return self.name


def check_rule(rule: Any) -> None:
    """Check the numbers of a rule, by their names, and make them floats."""
    for name, (meaning, fits) in _NUMBERS.items():
        if hasattr(rule, name):
            value = check_float(getattr(rule, name), name, meaning)
            if not fits(value):
                raise ArgumentError(f"{name} is {short_repr(getattr(rule, name))}; it is {meaning}")
            object.__setattr__(rule, name, value)
    if hasattr(rule, "by_variance"):
        check_bool(rule.by_variance, "by_variance")


def _is_amount(value: float) -> bool:
    return isfinite(value) and value >= 0.0


def _is_share(value: float) -> bool:
    return 0.0 <= value <= 1.0


_NUMBERS: dict[str, tuple[str, Callable[[float], bool]]] = {
    "spread": ("a standard deviation, a finite number from 0 on", _is_amount),
    "bonus": ("the factor of the bonus of an action, a finite number from 0 on", _is_amount),
    "threshold": ("the largest width of a pair that is known, a finite number from 0 on", _is_amount),
    "explore": ("the share of steps that explore in the first episode, in [0, 1]", _is_share),
    "fade": ("how fast exploring fades, a finite number from 0 on", _is_amount),
    "optimism": ("the share of plans that are optimistic, in [0, 1]", _is_share),
    "patience": (
        "how many times what a plan expected may be lost under it, above 0; infinity for no limit",
        lambda value: value > 0.0,
    ),
    "ceiling": (
        "what no value of a plan is above, from 1 on, the loss of one step; infinity for no limit",
        lambda value: value >= 1.0,
    ),
}
