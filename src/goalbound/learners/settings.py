"""The settings of learners by ridge regression, checked once, and the constants that follow from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError
from goalbound.estimation import Widths, paper
from goalbound.estimation.statistics import checked_regularization
from goalbound.kernels.elimination import MOST_ELIMINATED_STATES
from goalbound.kernels.lattice import Lattice, new_lattice
from goalbound.kernels.likelihood import MOST_CELLS, MOST_PAIR_BOUNDS, MOST_VERTICES, LikelihoodConstants
from goalbound.kernels.linearity_test import PARTS
from goalbound.kernels.model_prior import ModelPrior
from goalbound.kernels.noise_free import NoiseFreeConstants
from goalbound.kernels.state import OPTIMISTIC, Constants, IntervalConstants, PriorArrays
from goalbound.kernels.ties import NOTHING, TieConstants
from goalbound.learners.exploration import Exploration, optimistic
from goalbound.learners.linearity import FALSE_ALARM, MOST_SUMS
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.ties import Groups
from goalbound.models import Support
from goalbound.models.validation import (
    check_bool,
    check_float,
    check_fraction,
    check_size,
    check_type,
    set_readonly,
    short_repr,
)

SET_SHARE, LIKELIHOOD_SHARE, OTHER_SHARE = 0.45, 0.98, 0.05
"""With likelihood-ratio sets: the shares of delta of the sets of losses, and of rows; what of them belongs to the
likelihoods; and the share of each of the other two items of the good event. Without, each of the four has a quarter."""
MOST_BOUNDS = 2**22
"""Numbers times vertices of likelihood-ratio sets: with more numbers the lattice is coarser."""
NO_LATTICE = Lattice(1, set_readonly(np.zeros((0, 1), dtype=np.int64)))
NO_LIKELIHOOD = LikelihoodConstants(False, 0.0, 0.0, NO_LATTICE, NO_LATTICE, set_readonly(np.zeros(0, dtype=np.bool_)))
NO_INDICES = set_readonly(np.zeros(0, dtype=np.int64))
NO_TIES = TieConstants(False, NO_INDICES, NO_INDICES, NO_INDICES, NO_INDICES, NO_INDICES, NOTHING)
SMALLEST_DELTA = 1e-200
"""Below it the logarithms of the radii are no numbers."""


@dataclass(frozen=True)
class LearnerOptions:
    """Options of learners by ridge regression that seldom need to be changed.

    Attributes:
        regularization: lambda of the ridge regressions.
        tolerance: value iteration ends when no value changes by more than this share of the loss floor. The values of
            an optimistic plan stay certified lower bounds whatever it is.
        replan_factor: 1 is the paper's: every step whose pair is not known ends its interval. Above 1, only if the
            determinant of the Gram matrix of its pair has grown by this factor since the plan. None: as the learner
            has it, 1 or 2.
        check_linearity: whether outcomes are tested against the linear model, with sharp widths only: an ``alarm`` and
            a warning where they contradict it. None: where the sums for it are not too many.
        forget: whether a doubling of the loss bound forgets the data, as printed, or keeps it.
        episodes: K, only where ``loss_floor`` is 0: a loss of S (d^2 A / K)^(1/3), at most 1, is added to every step
            inside the learner (the corollary).

    >>> LearnerOptions(tolerance=0.5)
    Traceback (most recent call last):
    goalbound.errors.ArgumentError: tolerance 0.5 is not in (0, 0.4]; it is relative to the loss floor
    """

    regularization: float = 1.0
    tolerance: float = 1e-3
    replan_factor: float | None = None
    check_linearity: bool | None = None
    forget: bool = False
    episodes: int | None = None

    def __post_init__(self) -> None:
        tolerance = check_float(self.tolerance, "tolerance", "in (0, 0.4], relative to the loss floor")
        if not 0.0 < tolerance <= 0.4:  # above, the proof that known pairs lead to the goal breaks
            raise ArgumentError(f"tolerance {self.tolerance} is not in (0, 0.4]; it is relative to the loss floor")
        object.__setattr__(self, "tolerance", tolerance)
        if self.replan_factor is not None:
            object.__setattr__(self, "replan_factor", _checked_replan_factor(self.replan_factor))
        check_bool(self.forget, "forget")
        if self.check_linearity is not None:
            check_bool(self.check_linearity, "check_linearity")
        if self.episodes is not None:
            check_size(self.episodes, "episodes", "it is the number of episodes to come, at least 1", most=2**62)
        checked_regularization(self.regularization)


@dataclass(frozen=True)
class Settings:
    """The settings of a learner. ``__post_init__`` checks it; see :class:`goalbound.learners.lr_cssp.LRCSSP`."""

    context_size: int
    delta: float
    loss_floor: float
    loss_bound: float | None
    widths: Widths
    regularization: float
    episodes: int | None
    forget: bool
    tolerance: float
    exploration: Exploration = field(default_factory=optimistic)
    replan_factor: float = 1.0
    check_linearity: bool | None = None

    @classmethod
    def of(
        cls,
        context_size: int,
        *,
        loss_floor: float,
        delta: float = 0.1,
        loss_bound: float | None = None,
        widths: Widths | None = None,
        exploration: Exploration | None = None,
        options: LearnerOptions | None = None,
        replan_factor: float = 1.0,
    ) -> Settings:
        """The settings of a learner whose own ``replan_factor`` is this one, where the options leave it open."""
        chosen = LearnerOptions() if options is None else options
        check_type(chosen, LearnerOptions, "options", "give LearnerOptions(...), or leave it out")
        return cls(
            context_size, delta, loss_floor, loss_bound, paper() if widths is None else widths, chosen.regularization,
            chosen.episodes, chosen.forget, chosen.tolerance, optimistic() if exploration is None else exploration,
            replan_factor if chosen.replan_factor is None else chosen.replan_factor, chosen.check_linearity,
        )  # fmt: skip

    def __post_init__(self) -> None:
        self._check_types()
        if not 0.0 <= self.loss_floor <= 1.0:
            raise ArgumentError(f"loss_floor {self.loss_floor} is not in [0, 1]; it is the least mean loss of a pair")
        if self.loss_bound is not None and not (np.isfinite(self.loss_bound) and self.loss_bound >= 1.0):
            raise ArgumentError(
                f"loss_bound {self.loss_bound} is not a number from 1 on; it bounds the optimal loss from every state "
                "under every context (the paper assumes B >= 1). Leave it out to have it found by doubling"
            )
        if self.loss_floor == 0.0 and self.episodes is None:
            raise ArgumentError(
                "loss_floor is 0 and episodes is not given; where losses may be zero a small loss is added, whose "
                "size depends on the number of episodes. Give options=LearnerOptions(episodes=...), or a loss_floor "
                "above 0"
            )
        if self.episodes is not None and self.loss_floor > 0.0:
            raise ArgumentError(
                f"loss_floor is {self.loss_floor:g} and episodes is {self.episodes}; with a loss floor above 0 no "
                "loss is added and the number of episodes is not used: leave one of them out"
            )
        if self.forget and self.loss_bound is not None:
            raise ArgumentError(
                f"forget is set and loss_bound is {self.loss_bound:g}; data is forgotten only where the bound is found "
                "by doubling: leave one of them out"
            )
        if self.check_linearity and self.widths.intervals is None:
            raise ArgumentError(f"check_linearity needs sharp() widths; {self.widths} widths have no intervals to test")
        if not self.is_optimistic and (self.loss_bound is not None or self.forget):
            raise ArgumentError(
                f"a learner that is {self.exploration} uses no loss_bound; leave out loss_bound and forget"
            )

    def _check_types(self) -> None:
        check_size(self.context_size, "context_size", "a context has at least one entry")
        if not isinstance(self.widths, Widths):
            raise ArgumentError(
                f"widths is {short_repr(self.widths)}; give paper(), sharp(), or scaled(sharp(), by=0.5)"
            )
        if check_fraction(self.delta, "delta", "the probability of failure allowed") < SMALLEST_DELTA:
            raise ArgumentError(f"delta {self.delta} is too small to be divided by; use at least {SMALLEST_DELTA:g}")
        for name, meaning in _MEANINGS.items():
            if name != "loss_bound" or self.loss_bound is not None:
                object.__setattr__(self, name, check_float(getattr(self, name), name, meaning))
        options = LearnerOptions(
            self.regularization, self.tolerance, self.replan_factor, self.check_linearity, self.forget, self.episodes
        )
        object.__setattr__(self, "tolerance", options.tolerance)
        object.__setattr__(self, "replan_factor", options.replan_factor)
        if not isinstance(self.exploration, Exploration):
            raise ArgumentError(
                f"exploration is {short_repr(self.exploration)}; give one of goalbound.learners.exploration"
            )

    @property
    def is_optimistic(self) -> bool:
        """Whether it plans in confidence sets, as the paper does."""
        return self.exploration.code == OPTIMISTIC

    @property
    def draws(self) -> bool:
        """Whether the learner draws numbers, so that a checkpoint has the state of its generator."""
        return self.exploration.draws

    def added_loss(self, support: Support) -> float:
        """epsilon, or 0 if there is a loss floor."""
        if self.loss_floor > 0.0 or self.episodes is None:
            return 0.0
        return added_loss(support, self.context_size, self.episodes)

    def constants(self, support: Support, prior: PriorKnowledge | None = None) -> Constants:
        """The constants of the kernels."""
        known = PriorKnowledge.nothing(support, self.context_size) if prior is None else prior
        known.check_ties()
        groups = self.groups(support, known)
        if self.is_optimistic:
            self.widths.check(support, self.context_size, delta=self.delta, regularization=self.regularization)
        radii = self.widths.radii(support, delta=self.delta)
        added = self.added_loss(support)
        floor = self.loss_floor + added
        intervals = self._interval_constants(support, known)
        likelihood = self._likelihood_constants(support, known)
        constants = Constants(
            pair_state=support.pair_state,
            pair_start=support.pair_start,
            next_start=support.next_start,
            next_state=support.next_state,
            next_factor=set_readonly(radii.next_factor),
            known_factor=set_readonly(radii.known_factor),
            width_factor=set_readonly(radii.width_factor),
            loss_factor=radii.loss_factor,
            loss_log=radii.loss_log,
            next_log=radii.next_log,
            regularization=float(self.regularization),
            delta=float(self.delta) * (1.0 if not self._has_likelihood else 4.0 * OTHER_SHARE),
            loss_floor=float(floor),
            added_loss=float(added),
            tolerance=float(self.tolerance * floor),
            doubling=self.loss_bound is None and self.is_optimistic,
            forget=bool(self.forget),
            exploration=self.exploration.code,
            growth=log(self.replan_factor) * (1.0 - 1e-12),  # sums of logarithms may round to just below
            spread=self.exploration.spread,
            spread_by_variance=self.exploration.by_variance,
            optimism=self.exploration.optimism,
            patience=self.exploration.patience,
            threshold=self.exploration.threshold,
            explore=self.exploration.explore,
            fade=self.exploration.fade,
            intervals=intervals,
            likelihood=likelihood,
            prior=known.arrays(self.loss_floor, added),
            noise_free=NoiseFreeConstants(bool(known.noise_free.any()), known.noise_free),
            ties=NO_TIES,
            model=known.model_prior(on=not self.is_optimistic),
            policy_iteration=(intervals.on or not self.is_optimistic) and support.states <= MOST_ELIMINATED_STATES,
            tests_linearity=intervals.on and self._tests_linearity(support),
            alarm_log=log(2 * PARTS * self.context_size * (support.pairs + support.triples) / FALSE_ALARM),
        )
        return constants if groups is None else constants._replace(ties=self._tie_constants(groups, known, constants))

    def groups(self, support: Support, prior: PriorKnowledge | None) -> Groups | None:
        """The groups of what is tied; None: nothing is."""
        if prior is None or not prior.has_ties:
            return None
        if self.widths.intervals is None or not self.is_optimistic:
            uses = f"{self.widths} widths" if self.is_optimistic else f"a learner that is {self.exploration}"
            raise ArgumentError(
                f"the prior has ties, and {uses} cannot use them; ties go with LRCSSP and likelihood() or sharp() "
                "widths: take one of these, or leave the ties out"
            )
        return Groups.of(support, prior._ties)

    def _tie_constants(self, groups: Groups, known: PriorKnowledge, constants: Constants) -> TieConstants:
        """Groups are pairs of a support of their own; what of them is not there is known."""
        support, size = groups.support, self.context_size
        is_loss = np.arange(support.pairs) < groups.losses
        noise_free = np.zeros(support.pairs, dtype=np.bool_)
        noise_free[groups.of_loss[known.noise_free & (groups.of_loss >= 0)]] = True
        rows = np.repeat(~is_loss & (np.diff(support.next_start) > 1), np.diff(support.next_start))
        rows[support.next_start[:-1][np.diff(support.next_start) == 2] + 1] = False
        tracked = np.concatenate([is_loss & ~noise_free, rows]) if self._has_likelihood else np.zeros(0, dtype=np.bool_)
        one, none = set_readonly(np.ones(support.pairs)), set_readonly(np.zeros(support.pairs, dtype=np.bool_))
        zeros, no_rows = set_readonly(np.zeros((support.pairs, size))), set_readonly(np.zeros((0, size)))
        zero = set_readonly(np.zeros(support.pairs))
        return TieConstants(
            True, groups.of_loss, groups.of_row, groups.place, *groups.members,
            constants._replace(
                pair_state=support.pair_state, pair_start=support.pair_start, next_start=support.next_start,
                next_state=support.next_state, next_factor=one, known_factor=one, width_factor=one, added_loss=0.0,
                likelihood=constants.likelihood._replace(tracked=set_readonly(tracked)),
                prior=PriorArrays(zero, set_readonly(~is_loss), zeros, none, no_rows),
                noise_free=NoiseFreeConstants(bool(noise_free.any()), set_readonly(noise_free)),
                model=ModelPrior(False, none, zero, zeros, no_rows), tests_linearity=False,
            ),
        )  # fmt: skip

    def _tests_linearity(self, support: Support) -> bool:
        """As asked for; if nothing was said, where the sums for it are not too many."""
        sums = PARTS * self.context_size * 2 * (support.pairs + support.triples)
        return sums <= MOST_SUMS if self.check_linearity is None else self.check_linearity

    def _interval_constants(self, support: Support, known: PriorKnowledge) -> IntervalConstants:
        """What is known needs no share of the failure probability, and what is tied one for all."""
        intervals, scale = self.widths.intervals, self.widths.scale
        if intervals is None or not self.is_optimistic:
            return IntervalConstants(*[False] * 5, *[0.0] * 5)
        unknown = np.repeat(_first_of(known.tied_rows, ~known.row_known), np.diff(support.next_start))
        if not intervals.goal:
            unknown &= support.next_state < support.states
        rows = max(1, int(unknown.sum()))
        losses = max(1, int(_first_of(known.tied_losses, ~known.loss_known & ~known.noise_free).sum()))
        # Half of the share of losses and of rows for each side; rows share theirs between two bounds.
        of_sets = SET_SHARE * (1.0 - LIKELIHOOD_SHARE) if self._has_likelihood else 0.25
        share = log((4.0 if intervals.variance else 2.0) * rows / (of_sets * self.delta))
        return IntervalConstants(
            on=True,
            goal=intervals.goal,
            determinant=intervals.determinant,
            entrywise=intervals.entrywise,
            variance=intervals.variance,
            noise=scale * (0.5 if intervals.half else 1.0),
            loss_log=log(2.0 * losses / (of_sets * self.delta)),
            row_log=share,
            variance_log=share,
            scale=scale,
        )

    @property
    def _has_likelihood(self) -> bool:
        return self.widths.likelihood and self.is_optimistic

    def _likelihood_constants(self, support: Support, known: PriorKnowledge) -> LikelihoodConstants:
        """The numbers that have a set: what is known has none, nor has a certain next state, and of two next states one
        is enough."""
        if not self._has_likelihood:
            return NO_LIKELIHOOD
        lengths = np.diff(support.next_start)
        unknown = ~known.row_known & (lengths > 1)
        rows, counted = (
            np.repeat(flags, lengths)
            for flags in (unknown & (known.tied_rows < 0), _first_of(known.tied_rows, unknown))
        )
        for flags in (rows, counted):
            flags[support.next_start[:-1][lengths == 2] + 1] = False
        noisy = ~known.loss_known & ~known.noise_free
        tracked = np.concatenate([noisy & (known.tied_losses < 0), rows])
        of_pair = MOST_PAIR_BOUNDS // (int(lengths.max()) + 1)
        budget = max(1, min(MOST_VERTICES, of_pair, MOST_BOUNDS // len(tracked)))
        share = SET_SHARE * LIKELIHOOD_SHARE * self.delta
        return LikelihoodConstants(
            on=True,
            loss_log=log(max(1, int(_first_of(known.tied_losses, noisy).sum())) / share),
            row_log=log(max(1, int(counted.sum())) / share),
            vertices=new_lattice(self.context_size, budget),
            cells=new_lattice(self.context_size, min(budget, MOST_CELLS)),
            tracked=set_readonly(tracked),
        )

    def as_json(self) -> dict[str, Any]:
        """For the header of a checkpoint, and for records of results."""
        return {
            "context_size": int(self.context_size),
            "delta": float(self.delta),
            "loss_floor": float(self.loss_floor),
            "loss_bound": None if self.loss_bound is None else float(self.loss_bound),
            "widths": self.widths.as_json(),
            "regularization": float(self.regularization),
            "episodes": None if self.episodes is None else int(self.episodes),
            "forget": bool(self.forget),
            "tolerance": float(self.tolerance),
            "exploration": self.exploration.as_json(),
            "replan_factor": float(self.replan_factor),
            "check_linearity": None if self.check_linearity is None else bool(self.check_linearity),
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Settings:
        """What :meth:`as_json` gave; keys and types are checked."""
        if set(values) != set(cls.__annotations__):
            raise ArgumentError(f"the settings are {sorted(values)}; they need {sorted(cls.__annotations__)}")
        for key, allowed in _TYPES.items():
            if type(values[key]) not in allowed:
                raise ArgumentError(f"{key} is {values[key]!r}, of a wrong type")
        return cls(
            **{
                **values,
                "widths": Widths.from_json(values["widths"]),
                "exploration": Exploration.from_json(values["exploration"]),
            }
        )


def _first_of(groups: NDArray[np.int64], flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """[N] the flags of what is not tied, and of the first pair of each group."""
    first = np.zeros(len(groups), dtype=np.bool_)
    first[np.unique(groups, return_index=True)[1]] = True
    return flags & ((groups < 0) | first)


def added_loss(support: Support, context_size: int, episodes: int) -> float:
    """epsilon = S (d^2 A / K)^(1/3) of the corollary, at most 1, with A = N / S.

    Departs from the paper: epsilon is *added* to the losses; their maximum with it would not be linear in the
    context. For K < S^3 d^2 A it is capped at 1 and the corollary's bound says nothing.
    """
    states, actions = support.states, support.pairs / support.states
    return min(1.0, float(states * np.cbrt(context_size**2 * actions / episodes)))


def _checked_replan_factor(value: float) -> float:
    factor = check_float(value, "replan_factor", "how much the determinant of an unknown pair must grow, from 1 on")
    if not (np.isfinite(factor) and factor >= 1.0):
        raise ArgumentError(
            f"replan_factor {value} is not a number from 1 on; it is how much the determinant of an "
            "unknown pair must grow before its step ends the interval (1: every unknown step does)"
        )
    return factor


_MEANINGS = {
    "loss_floor": "the least mean loss of a pair, in [0, 1]",
    "loss_bound": "at least the largest optimal loss, and 1",
}
_TYPES: dict[str, tuple[type, ...]] = {
    "context_size": (int,),
    "delta": (float,),
    "loss_floor": (float,),
    "loss_bound": (float, type(None)),
    "regularization": (float,),
    "episodes": (int, type(None)),
    "forget": (bool,),
    "tolerance": (float,),
    "replan_factor": (float,),
    "check_linearity": (bool, type(None)),
}
