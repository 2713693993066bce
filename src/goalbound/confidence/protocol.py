"""The slots that a confidence model fills in the loop of a learner, and what its room offers Python.

A *room* is one confidence model: its kernels, its constants, its state and its checks. The loop of the learner
(:mod:`goalbound.learners.loop`) names the slots below and nothing of any room. Kernels of a room take

    constants   of the run: the support, the ridge, declared losses and rows; ``constants.sets`` are the room's own
    state       of the learner: the sums of all pairs; ``state.sets`` is the room's own
    view        how one context looks: ``view.sets`` are the sets of all pairs as the planner takes them, ``view.room``
                is the room's own; ``view.direction`` is V^-1 c, ``view.norm[pair]`` the norm of c in V^-1

and are plain functions marked by :mod:`goalbound.jit`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from math import inf, log, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.regression import RegressionWorkspace
from goalbound.errors import ArgumentError
from goalbound.jit.compile import Kernel, Slot, lean
from goalbound.jit.struct import Struct
from goalbound.models.validation import check_float
from goalbound.planning.kernels.value_iteration import INTERVAL_SET

if TYPE_CHECKING:
    from goalbound.models import BallSet, IntervalSet, Support

T = TypeVar("T")

KNOWN_FACTOR = 10.0
"""Of the known test, eq. (ineq-known)."""
SMALLEST_REGULARIZATION = 1e-6
"""Below it the inverse of a Gram matrix is not within 1e-9 any more."""
LARGEST_REGULARIZATION = 1e100
"""Above it squares overflow."""

loss_set = Slot("loss_set")
row_set = Slot("row_set")
loss_width = Slot("loss_width")
known_width = Slot("known_width")
is_known = Slot("is_known")
before_visit = Slot("before_visit")
enters = Slot("enters")
missing = Slot("missing")
learn = Slot("learn")
renew = Slot("renew")
start = Slot("start")
erase = Slot("erase")
take_over = Slot("take_over")


@lean
def nothing_of_pair(constants, state, pair):
    """Nothing is kept of a pair."""


@lean
def nothing_of_view(constants, state, view, pair):
    """Nothing is to be done."""


@lean
def nothing_missing(constants, state, view, pair, sign):
    """Visits without an outcome count in the sums alone."""


@lean
def nothing_learned(constants, state, view, pair, place, loss):
    """Outcomes count in the sums alone."""


@lean
def nothing_renewed(constants, state, scratch, pair):
    """No estimate is kept: sets are made from the sums."""


@lean
def is_known_by_width(constants, state, view, pair):
    """eq. (ineq-known), with the Gram matrix and the visits at the start of the interval; strict as printed."""
    scale = KNOWN_FACTOR * view.progress["loss_bound"]
    if scale * view.known_width[pair] >= constants.loss_floor:
        return False
    wide = sqrt(log(4.0 * view.progress["interval"] / constants.delta))
    return scale * wide * view.norm[pair] < constants.loss_floor


class SetSlots(NamedTuple):
    """The kernels of a confidence model. Those with a default may be left out.

    Attributes:
        loss_set: ``(constants, state, view, pair) -> low, high`` the plausible losses of a pair.
        row_set: ``(constants, state, view, pair) -> width`` writes the plausible rows of a pair to ``view.sets``.
        known_width: ``(constants, state, view, pair, low, high, width) -> width`` what the known test takes.
        loss_width: likewise, where the row of the pair is declared.
        is_known: ``(constants, state, view, pair) -> bool`` the known test.
        before_visit: ``(constants, state, view, pair)`` a pair is about to be played: forecasts of its outcome.
        enters: ``(constants, state, view, pair)`` a visit is about to enter the Gram matrix; its outcome is not looked
            at.
        missing: ``(constants, state, view, pair, sign)`` a visit without its outcome counts from now on (1), or its
            outcome has come (-1).
        learn: ``(constants, state, view, pair, place, loss)`` an outcome has entered the sums.
        renew: ``(constants, state, scratch, pair)`` the estimate and the radii of a pair whose sums have changed.
        start: ``(constants, state, pair)`` the same where there is no data.
        erase: ``(constants, state, pair)`` all that was seen of a pair is forgotten; ``start`` follows.
        take_over: ``(constants, state, pair)`` the sums of a pair came from another learner; ``renew`` follows.
    """

    loss_set: Kernel
    row_set: Kernel
    known_width: Kernel
    loss_width: Kernel
    is_known: Kernel = is_known_by_width
    before_visit: Kernel = nothing_of_view
    enters: Kernel = nothing_of_view
    missing: Kernel = nothing_missing
    learn: Kernel = nothing_learned
    renew: Kernel = nothing_renewed
    start: Kernel = nothing_of_pair
    erase: Kernel = nothing_of_pair
    take_over: Kernel = nothing_of_pair

    def filling(self) -> dict[Slot, Kernel]:
        """The kernels by their slots."""
        return {globals()[name]: kernel for name, kernel in self._asdict().items()}


class Empty(Struct):
    """A struct without fields: the state or the view of a room that keeps nothing there."""


class Counted(NamedTuple):
    """What the failure probability of the sets is divided by: what is declared needs none of it."""

    losses: NDArray[np.bool_]
    """[N] the pairs whose loss is not known"""
    rows: NDArray[np.bool_]
    """[N] the pairs whose row is not known"""
    guesses: NDArray[np.bool_]
    """[N] the pairs whose sums begin with a guess; it needs none either"""


class Run(NamedTuple):
    """What the constants of a room may depend on."""

    support: Support
    size: int
    """d"""
    delta: float
    regularization: float
    counted: Counted


class ConfidenceModel:
    """A room: which losses and rows are plausible, given what was seen. Frozen; compared by value.

    Subclass it: what is left out keeps nothing. docs/how_to/write_a_room.md writes one.

    Attributes:
        name: what it is called where results are recorded.
        scale: what its widths are multiplied by.
        proven: whether the sets of all pairs hold the truth at all times with probability 1 - delta.
        slots: its kernels.
        shape: L2_BALL, L1_BALL or INTERVAL_SET: how it fills ``view.sets``.
        learns_from_sets: whether a step is learned by the sets as they were just before it, which are then computed
            first.
    """

    name: str
    scale: float = 1.0
    proven: bool = False
    slots: SetSlots
    shape: int
    learns_from_sets: bool = False

    @property
    def room(self) -> Self:
        """Itself; a rule of the widths has another one."""
        return self

    def constants(self, run: Run) -> Struct:
        """Its ``constants.sets``."""
        return Empty()

    def delta_of_tests(self, delta: float) -> float:
        """The failure probability that the known test and the doubling of the loss bound divide by 4."""
        return delta

    def new_state(self, run: Run, constants: Any) -> Struct:
        """Its ``state.sets``, before anything was seen."""
        return Empty()

    def new_scratch(self, run: Run) -> Struct:
        """Scratch arrays of its kernels, and of the regression."""
        return RegressionWorkspace(np.zeros(run.size), np.zeros(run.size), np.zeros((run.size, run.size)))

    def new_view(self, run: Run) -> Struct:
        """Its ``view.room``."""
        return Empty()

    def step_work(self, constants: Any) -> float:
        """What learning from a step costs besides the regression, in next states that are looked at, for each."""
        return 0.0

    def plan_work(self) -> int:
        """How many times more a step costs as Python than one of the paper's sets."""
        return 1

    def state_in_use(self, state: Any) -> Struct:
        """The state without room that nothing uses yet: what is in a file."""
        return state

    def claim(self, state: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take the room that the state of a file needs; its arrays by their paths."""

    def check(self, learner: Any) -> None:
        """An error unless what was read from a file into the state of a learner follows from some steps."""

    def check_views(self, views: Any) -> None:
        """The same of ``view.room`` of the open episodes; its arrays have an axis in front for them."""

    def confidence_set(self, learner: Any, view: Any) -> BallSet | IntervalSet:
        """The sets of all pairs as ``view`` holds them, in the order of the support."""
        from goalbound.models.confidence_set import BallSet, IntervalSet, tighten_intervals
        from goalbound.planning.extended_value_iteration import in_support_order

        support, losses = learner.support, view.sets.losses
        if self.shape == INTERVAL_SET:  # both ends are those of rows that sum to 1: what the others leave is cut
            return IntervalSet(
                support, losses, view.loss_high, *tighten_intervals(support, view.sets.low, view.sets.high)
            )
        sets, most = in_support_order(support, view.sets), 1.0 + learner.added_loss
        high = np.clip(view.loss_high, losses, most)
        return BallSet(support, losses, high, np.clip(sets.centre, 0.0, 1.0), np.sqrt(sets.ball))

    def as_json(self) -> dict[str, Any]:
        """Return the name and the fields of a dataclass, for files and records."""
        return named_fields(self)

    def __str__(self) -> str:
        return self.name


def checked_regularization(regularization: float) -> float:
    """A positive finite number."""
    regularization = check_float(regularization, "regularization", "a positive number, 1 in the paper")
    if not 0.0 < regularization < np.inf:
        raise ArgumentError(f"regularization {regularization} is not a positive number; the paper uses 1")
    if regularization > LARGEST_REGULARIZATION:
        raise ArgumentError(
            f"regularization {regularization:g} is too large: no data would ever count; use at most "
            f"{LARGEST_REGULARIZATION:g} (the paper uses 1)"
        )
    if regularization < SMALLEST_REGULARIZATION:
        raise ArgumentError(
            f"regularization {regularization:g} is too small: inverses lose their digits, and with them the sets their "
            f"proof; use at least {SMALLEST_REGULARIZATION:g} (the paper uses 1)"
        )
    return regularization


def named_fields(rule: Any) -> dict[str, Any]:
    """The name of a rule and, if it is a dataclass, its fields; None stands for infinity."""
    given = {one.name: getattr(rule, one.name) for one in fields(rule)} if is_dataclass(rule) else {}
    return {"name": rule.name, **{name: None if value == inf else value for name, value in given.items()}}


def is_saved_as(room: Any, values: Any) -> bool:
    """Whether a file has this of a room; a tuple is a list there."""
    return bool(json.loads(json.dumps(room.as_json())) == values)


def from_fields(kind: type[T], values: Any, meaning: str) -> T:
    """A dataclass of texts, flags and numbers, from what ``asdict`` gave; keys and types are checked."""
    kinds = {one.name: str(one.type).split(" | ") for one in fields(cast(Any, kind))}
    if not isinstance(values, dict) or set(values) != set(kinds):
        raise ArgumentError(f"{meaning} is {values!r:.200}; it needs {sorted(kinds)}")
    for name, allowed in kinds.items():
        if ("None" if values[name] is None else type(values[name]).__name__) not in allowed:
            raise ArgumentError(f"{meaning} is {values!r:.200}; {name} is of a wrong type, not {' or '.join(allowed)}")
    return kind(**values)
