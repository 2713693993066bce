"""The border of a learner: losses come in and amounts go out in the user's unit; inside they are in [0, 1]."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from goalbound.errors import ArgumentError, FileFormatError
from goalbound.models.validation import check_type

if TYPE_CHECKING:
    from goalbound.models import LossScale

F = TypeVar("F", bound=Callable[..., Any])


def in_own_unit(show: F) -> F:
    """Decorate a method of a learner: the amounts of its result are shown in the learner's unit, if it has one."""

    @wraps(show)
    def shown(learner: Any, *arguments: Any, **others: Any) -> Any:
        return learner._in_unit(show(learner, *arguments, **others))

    return cast(F, shown)


class Border:
    """The unit of a learner, and all that is converted by it; the base of learners that have one."""

    UNIT_KEYS: ClassVar = ("loss_scale", "clipped")
    """Of the header of a file, where the learner has a unit."""
    clipped: int = 0
    """How many losses that were learned from were above the cap of the unit, and counted as the cap."""
    _loss_scale: LossScale | None = None

    @property
    def loss_scale(self) -> LossScale | None:
        """The unit of the losses that are given and of the values and bounds that are shown; None: losses are in
        [0, 1]. Settings and statistics are in [0, 1] in any case. Files keep it.

        >>> from goalbound import LRCSSP, LossScale, Step, Support
        >>> scale = LossScale("min", cap=60)
        >>> support = Support.from_pairs([{0: [0, 1]}], state_names=["down"], action_names=["restart"])
        >>> learner = LRCSSP(support, 1, loss_floor=scale.from_unit(2.5))
        >>> learner.loss_scale = scale
        >>> learner.learn([1.0], Step("down", "restart", 12.0, "goal"))
        >>> print(learner.plan([1.0]))
        0 of 1 pairs known; loss bound 60 min
        state 0 ("down")  2.5 min       action 0 ("restart")
        """
        return self._loss_scale

    @loss_scale.setter
    def loss_scale(self, scale: LossScale | None) -> None:
        if scale is not None:
            from goalbound.models import LossScale

            check_type(scale, LossScale, "loss_scale", 'give a LossScale, such as LossScale("min", cap=60), or None')
        prior = getattr(self, "prior", None)
        if scale is not None and prior is not None:
            prior.check_scale(scale.cap, "the learner")
        self._loss_scale = scale

    @property
    def unit(self) -> str | None:
        """The name of the unit; None: losses are in [0, 1]."""
        return None if self.loss_scale is None else self.loss_scale.unit

    def check_simulated(self) -> None:
        """Raise an error where the learner has a unit: environments have losses in [0, 1]."""
        if self.loss_scale is not None:
            raise ArgumentError(
                f"the learner takes losses in {self.unit}, and an environment has losses in [0, 1]; set "
                "learner.loss_scale = None to play, and back after it"
            )

    def _in_unit(self, result: Any) -> Any:
        """Return a plan, bounds or an explanation, in the unit if there is one."""
        return result if self.loss_scale is None or result is None else result.in_unit(self.loss_scale)

    def _plain_step(self, step: Any) -> tuple[Any, bool]:
        """Return a step with its loss in [0, 1], and whether that was clipped."""
        return (step, False) if self._loss_scale is None else self._loss_scale.plain_step(step)

    def _plain_log(self, log: Any) -> tuple[Any, Callable[[int], int]]:
        """Return a log with losses in [0, 1], and a function that counts the clipped ones among its first steps."""
        return (log, lambda learned: 0) if self._loss_scale is None else self._loss_scale.plain_log(log)

    def _has_unit_of(self, other: Border) -> bool:
        """Whether another learner has the same unit."""
        return self.loss_scale == other.loss_scale

    def _check_same_unit(self, other: Border) -> None:
        """Raise an error unless another learner has the same unit."""
        if not self._has_unit_of(other):
            raise ArgumentError(f"other has the scale {other.loss_scale}, not {self.loss_scale}; its losses are others")

    @property
    def _converts(self) -> bool:
        """Whether there is a unit."""
        return self._loss_scale is not None

    def _take_unit(self, other: Border) -> None:
        """Take the unit of another learner."""
        self.loss_scale = other.loss_scale

    def _described_unit(self) -> list[str]:
        """Return what ``repr`` says of the unit."""
        scale = self.loss_scale
        return [] if scale is None else [f"losses in {scale.unit} up to {scale.cap:g}"]

    def _unit_header(self) -> dict[str, Any]:
        """Return the unit and the count of clipped losses, for the header of a file; nothing without a unit."""
        scale = self.loss_scale
        return {} if scale is None else dict(zip(self.UNIT_KEYS, (scale.as_json(), self.clipped), strict=True))

    def _restore_unit(self, header: Mapping[str, Any]) -> None:
        """Take over what :meth:`_unit_header` gave, checked."""
        if not set(self.UNIT_KEYS) & set(header):
            return
        scale, clipped = (header.get(key) for key in self.UNIT_KEYS)
        if type(clipped) is not int or not 0 <= clipped < 2**62 or "loss_scale" not in header:
            raise FileFormatError(f"clipped is {clipped!r:.200}; a learner with a unit has a count of clipped losses")
        from goalbound.models import LossScale

        self.loss_scale, self.clipped = LossScale.from_json(cast(Any, scale)), clipped


class InnerBorder:
    """The border of a learner around another one: that of the inner learner."""

    inner: Any

    def _of_inner(self, name: str) -> Any:
        raise NotImplementedError

    @property
    def loss_scale(self) -> LossScale | None:
        """The unit of the inner learner's losses; setting it sets it there."""
        scale: LossScale | None = self._of_inner("loss_scale")
        return scale

    @loss_scale.setter
    def loss_scale(self, scale: LossScale | None) -> None:
        self._of_inner("loss_scale")  # an error where the inner learner knows no unit
        self.inner.loss_scale = scale


def give_unit(learner: Any, scale: LossScale | None) -> bool:
    """Give a learner a unit (None: nothing is to be done); whether it could be given one."""
    if scale is not None and not hasattr(learner, "loss_scale"):
        return False
    if scale is not None:
        learner.loss_scale = scale
    return True


def without_unit(learner: Any) -> tuple[Any, float]:
    """Return a learner that shows amounts with losses in [0, 1], a copy if this one has a unit, and its cap."""
    scale = getattr(learner, "loss_scale", None)
    if scale is None:
        return learner, 1.0
    plain = copy.deepcopy(learner)
    plain.loss_scale = None
    return plain, scale.cap
