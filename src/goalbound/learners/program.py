"""The kernels of a learner with all slots filled, and the constants that they take."""

from __future__ import annotations

from functools import cache, cached_property
from math import log
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from goalbound.confidence import declared, linearity
from goalbound.confidence.declared import Declared, ModelPrior, nothing_declared
from goalbound.confidence.linearity import PARTS, VIOLATION, LinearityConstants, Untested, new_linearity_test
from goalbound.confidence.protocol import ConfidenceModel, Counted, Empty, Run, SetSlots
from goalbound.jit.compile import Kernel, Slot
from goalbound.jit.records import new_record
from goalbound.jit.struct import Struct
from goalbound.learners.doubling import DOUBLING, FORGETTING, GIVEN, BoundSlots
from goalbound.learners.explore.protocol import ExploreSlots
from goalbound.learners.loop import (
    improve_by_elimination,
    improve_by_sweeps,
    improve_plan,
    look_at,
)
from goalbound.learners.state import Constants
from goalbound.learners.visits import forget_view, look_before_learning
from goalbound.models import Support
from goalbound.models.validation import set_readonly
from goalbound.planning.kernels.elimination import MOST_ELIMINATED_STATES
from goalbound.planning.kernels.value_iteration import INTERVAL_SET, MINIMA, minimum_of_shape

if TYPE_CHECKING:
    from goalbound.learners.prior import PriorKnowledge
    from goalbound.learners.settings import Settings

FALSE_ALARM = 0.01
"""The probability of an alarm, ever, in an environment that is linear and lies in the confidence sets."""
MOST_SUMS = 4_000_000
"""Where there would be more sums to keep, nothing is tested unless it is asked for."""


class Program:
    """Kernels with all slots filled: ``program[kernel]``, or what fills a slot, the same object each time."""

    def __init__(self, filling: dict[Slot, Kernel], tag: str) -> None:
        self._filling = filling
        self._tag = tag
        self._filled: dict[Kernel | Slot, Kernel] = {}

    def __getitem__(self, kernel: Kernel | Slot) -> Kernel:
        filled = self._filled.get(kernel)
        if filled is None:
            generic = self._filling[kernel] if isinstance(kernel, Slot) else kernel
            filled = self._filled[kernel] = generic.filled(self._filling, self._tag)
        return filled

    def watched_by(self, filling: dict[Slot, Kernel]) -> Program:
        """The same program with some slots filled otherwise."""
        return Program({**self._filling, **filling}, self._tag)


@cache
def program(
    sets: SetSlots, explore: ExploreSlots, bound: BoundSlots, planner: Kernel, *, shape: int, looks: bool, tag: str
) -> Program:
    """The program of all learners with these rooms. ``looks``: steps of a log are learned by the sets before them."""
    others = {
        look_before_learning: look_at if looks else forget_view,
        improve_plan: planner,
        minimum_of_shape: MINIMA[shape],
    }
    return Program({**sets.filling(), **explore.filling(), **bound.filling(), **others}, tag)


class Assembly:
    """What a learner by ridge regression is made of: its room, its rule, their constants, its program.

    It never changes: copies of a learner share it, and a pickle makes it again.
    """

    def __init__(self, settings: Settings, support: Support, prior: PriorKnowledge | None) -> None:
        self._made_of = settings, support, prior
        needs_loss = settings.loss_floor == 0.0 and settings.episodes is not None
        added = added_loss(support, settings.context_size, settings.episodes or 0) if needs_loss else 0.0
        told, model = _told(settings, support, prior, added)
        counted = Counted(set_readonly(~told.loss_known), set_readonly(~told.row_known), model.guessed)
        self.run = Run(support, settings.context_size, settings.delta, float(settings.regularization), counted)
        explore = settings.exploration.constants(self.run)
        given = settings.exploration.room(explore)
        self.room: ConfidenceModel = settings.widths.room if given is None else given
        sets = self.room.constants(self.run)
        asked, tests = settings.check_linearity, 2 * PARTS * settings.context_size * (support.pairs + support.triples)
        self.tests_linearity = self.room.shape == INTERVAL_SET and (tests <= MOST_SUMS if asked is None else asked)
        self.doubles = settings.loss_bound is None and settings.is_optimistic
        # No optimal value is above a loss bound that was given, which intervals do not know by themselves.
        known_bound = settings.loss_bound if self.room.shape == INTERVAL_SET else None
        self.ceiling = settings.exploration.ceiling if known_bound is None else float(known_bound)
        self.eliminates = support.states <= MOST_ELIMINATED_STATES and (
            self.room.shape == INTERVAL_SET or not settings.is_optimistic
        )
        floor = float(settings.loss_floor + added)
        self.constants = Constants(
            pair_state=support.pair_state,
            pair_start=support.pair_start,
            next_start=support.next_start,
            next_state=support.next_state,
            regularization=float(settings.regularization),
            delta=self.room.delta_of_tests(float(settings.delta)),
            loss_floor=floor,
            added_loss=float(added),
            tolerance=float(settings.tolerance * floor),
            growth=log(settings.replan_factor) * (1.0 - 1e-12),  # sums of logarithms may round to just below
            declared=told,
            model=model,
            sets=sets,
            explore=explore,
            watch=LinearityConstants(log(tests / FALSE_ALARM)) if self.tests_linearity else Empty(),
        )
        slots = self.room.slots
        if told.loss_known.any() or told.row_known.any():
            slots = declared.around(slots)
        if self.tests_linearity:
            slots = linearity.observed(slots)
        self.program = program(
            slots,
            settings.exploration.slots(explore),
            FORGETTING if settings.forget else DOUBLING if self.doubles else GIVEN,
            self._planner(settings),
            shape=self.room.shape,
            looks=self.room.learns_from_sets,
            tag=f"{settings.widths} {settings.exploration}" if settings.is_optimistic else str(settings.exploration),
        )

    def __deepcopy__(self, known: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._made_of

    @cached_property
    def unwatched(self) -> Program:
        """The program of whole episodes that nobody watches."""
        from goalbound.learners.episode_loop import UNWATCHED

        return self.program.watched_by(UNWATCHED)

    @cached_property
    def audited(self) -> Program:
        """The program with an audit that watches it."""
        from goalbound.learners.audit import audit_slots

        return self.program.watched_by(audit_slots(self.room.shape))

    def _planner(self, settings: Settings) -> Kernel:
        """By elimination for few states. Sets are optimistic about the way to the goal, and sweeps converge soon; point
        estimates of many states need the Krylov method."""
        if self.eliminates:
            return improve_by_elimination
        if settings.is_optimistic:
            return improve_by_sweeps
        from goalbound.learners.ridge import improve_by_krylov

        return improve_by_krylov

    def new_watch(self) -> Struct:
        """The state of the observer."""
        if not self.tests_linearity:
            return Untested(new_record(VIOLATION))
        return new_linearity_test(self.run.support.pairs, self.run.support.triples, PARTS * self.run.size)


def _told(
    settings: Settings, support: Support, prior: PriorKnowledge | None, added: float
) -> tuple[Declared, ModelPrior]:
    """What the learner was told of single pairs, as kernels take it; confidence sets are made from data alone."""
    if prior is None:
        return nothing_declared(support.pairs, settings.context_size, settings.loss_floor + added)
    guessed = set_readonly(prior.guessed & (not settings.is_optimistic))
    model = ModelPrior(guessed, prior.strength, prior.guess_losses, prior.guess_rows)
    return prior.declared(settings.loss_floor, added), model


def added_loss(support: Support, context_size: int, episodes: int) -> float:
    """Return epsilon = S (d^2 A / K)^(1/3) of the corollary, at most 1, with A = N / S.

    Departs from the paper: epsilon is *added* to the losses; their maximum with it would not be linear in the
    context. For K < S^3 d^2 A it is capped at 1 and the corollary's bound says nothing.
    """
    states, actions = support.states, support.pairs / support.states
    return min(1.0, float(states * np.cbrt(context_size**2 * actions / episodes)))
