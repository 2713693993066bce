"""The settings of learners by ridge regression, checked once, and the constants that follow from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from goalbound.confidence.protocol import ConfidenceModel, checked_regularization
from goalbound.confidence.widths import Widths, paper, rule_from_json, rule_names
from goalbound.errors import ArgumentError
from goalbound.learners.explore.optimistic import Optimistic
from goalbound.learners.explore.protocol import ExplorationRule
from goalbound.models.validation import (
    check_bool,
    check_float,
    check_fraction,
    check_size,
    check_type,
    short_repr,
)
from goalbound.planning.kernels.value_iteration import INTERVAL_SET

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
        check_linearity: whether outcomes are tested against the linear model, where sets are intervals: an ``alarm``
            and a warning where they contradict it. None: where the sums for it are not too many.
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

    def given(self, replan_factor: float) -> dict[str, Any]:
        """The settings that these options stand for, where the learner's own ``replan_factor`` is this one.

        >>> LearnerOptions().given(2.0)["replan_factor"]
        2.0
        """
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return found | {"replan_factor": replan_factor} if self.replan_factor is None else found


@dataclass(frozen=True)
class Settings:
    """The settings of a learner. ``__post_init__`` checks it; see :class:`goalbound.learners.lr_cssp.LRCSSP`."""

    context_size: int
    delta: float
    loss_floor: float
    loss_bound: float | None
    widths: Widths | ConfidenceModel
    regularization: float
    episodes: int | None
    forget: bool
    tolerance: float
    exploration: ExplorationRule = field(default_factory=Optimistic)
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
        widths: Widths | ConfidenceModel | None = None,
        exploration: ExplorationRule | None = None,
        options: LearnerOptions | None = None,
        replan_factor: float = 1.0,
    ) -> Settings:
        """The settings of a learner whose own ``replan_factor`` is this one, where the options leave it open."""
        chosen = LearnerOptions() if options is None else options
        check_type(chosen, LearnerOptions, "options", "give LearnerOptions(...), or leave it out")
        return cls(
            context_size=context_size,
            delta=delta,
            loss_floor=loss_floor,
            loss_bound=loss_bound,
            widths=paper() if widths is None else widths,
            exploration=Optimistic() if exploration is None else exploration,
            **chosen.given(replan_factor),
        )

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
        if self.check_linearity and self.widths.room.shape != INTERVAL_SET:
            tested = rule_names(lambda rule: rule.intervals is not None)
            raise ArgumentError(f"{self.widths} widths have no intervals for check_linearity to test; give {tested}")
        if not self.is_optimistic and (self.loss_bound is not None or self.forget):
            raise ArgumentError(
                f"a learner that is {self.exploration} uses no loss_bound; leave out loss_bound and forget"
            )

    def _check_types(self) -> None:
        check_size(self.context_size, "context_size", "a context has at least one entry")
        if not isinstance(self.widths, Widths | ConfidenceModel):
            raise ArgumentError(
                f"widths is {short_repr(self.widths)}; give {rule_names()}, one of them scaled, or a model of your own"
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
        if not isinstance(self.exploration, ExplorationRule):
            raise ArgumentError(
                f"exploration is {short_repr(self.exploration)}; give a rule of goalbound.learners.explore"
            )

    @property
    def is_optimistic(self) -> bool:
        """Whether it plans in confidence sets, as the paper does."""
        return self.exploration.is_optimistic

    @property
    def draws(self) -> bool:
        """Whether the learner draws numbers, so that a checkpoint has the state of its generator."""
        return self.exploration.draws

    def as_json(self) -> dict[str, Any]:
        """For the header of a checkpoint, and for records of results."""
        plain = {name: getattr(self, name) for name in _TYPES}
        made = {name: value if value is None else _TYPES[name][0](value) for name, value in plain.items()}
        rules = {"widths": self.widths.as_json(), "exploration": self.exploration.as_json()}
        return {one.name: {**made, **rules}[one.name] for one in fields(self)}

    @classmethod
    def from_json(cls, values: dict[str, Any], rooms: Iterable[Any] = ()) -> Settings:
        """What :meth:`as_json` gave; keys and types are checked. ``rooms`` are those of third parties."""
        if set(values) != set(cls.__annotations__):
            raise ArgumentError(f"the settings are {sorted(values)}; they need {sorted(cls.__annotations__)}")
        for key, allowed in _TYPES.items():
            if type(values[key]) not in allowed:
                raise ArgumentError(f"{key} is {values[key]!r}, of a wrong type")
        from goalbound.learners.exploration import rule_from_json as exploration_from_json

        rules = {
            "widths": rule_from_json(values["widths"], rooms),
            "exploration": exploration_from_json(values["exploration"], rooms),
        }
        return cls(**{**values, **rules})


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
