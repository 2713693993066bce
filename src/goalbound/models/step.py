"""One step of an episode, and the law that its loss is drawn from around its mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from goalbound.errors import ArgumentError
from goalbound.models import simulated as kernels
from goalbound.models.validation import check_float


class Step(NamedTuple):
    """What one decision gave: in ``state``, ``action`` was played, ``loss`` was paid, ``next_state`` followed.

    ``next_state`` is S (the number of states) at the goal.
    """

    state: int
    action: int
    loss: float
    next_state: int


SAID = ("loss_scale", "clipped", "validity_breaks", "support", "case_of")
"""What a log may say of itself."""


def said_of_steps(log: Any) -> dict[str, Any]:
    """What a log says of itself that holds for each of its steps."""
    return {name: getattr(log, name) for name in ("loss_scale", "validity_breaks") if hasattr(log, name)}


class LogView:
    """A log whose items are changed by a function; what it says of itself stays, but for the ``others`` given here.

    >>> list(LogView([(2, "a step"), "no step"], lambda context, step: ([context], step)))
    [([2], 'a step'), 'no step']
    """

    def __init__(self, log: Iterable[Any], change: Callable[[Any, Any], Any], **others: Any) -> None:
        try:
            iter(log)
        except TypeError:
            raise ArgumentError(
                f"the log is of the type {type(log).__name__}; give something that iterates over (context, step)"
            ) from None
        self._log = log
        self._change = change
        said = {name: getattr(log, name) for name in SAID if hasattr(log, name)}
        vars(self).update({**said, **others})

    def __iter__(self) -> Iterator[Any]:
        for item in self._log:
            is_step = isinstance(item, tuple | list) and len(item) == 2
            yield self._change(*item) if is_step else item


@dataclass(frozen=True)
class LossLaw:
    """How the loss of a step is drawn around its mean: :func:`deterministic`, :func:`bernoulli` or :func:`bounded`.

    Attributes:
        code: which law, as kernels know it (:func:`goalbound.models.simulated.loss_of`).
        spread: how wide ``bounded`` is; 0 for the others.
    """

    code: int
    spread: float = 0.0

    def __post_init__(self) -> None:
        check_float(self.spread, "spread", "how wide a bounded law is, in (0, 1]")
        if self.code not in (kernels.DETERMINISTIC, kernels.BERNOULLI, kernels.BOUNDED):
            raise ArgumentError(
                f"no law of losses has code {self.code}; use deterministic(), bernoulli() or bounded(...)"
            )
        if self.code == kernels.BOUNDED and not 0.0 < self.spread <= 1.0:
            raise ArgumentError(f"spread {self.spread} is not in (0, 1]; for no spread at all use deterministic()")
        if self.code != kernels.BOUNDED and self.spread != 0.0:
            raise ArgumentError(f"spread {self.spread} means nothing to this law; use bounded({self.spread})")

    @property
    def is_random(self) -> bool:
        """Whether a loss takes one uniform number of the stream."""
        return self.code != kernels.DETERMINISTIC


def deterministic() -> LossLaw:
    """The loss is its mean."""
    return LossLaw(kernels.DETERMINISTIC)


def bernoulli() -> LossLaw:
    """The loss is 1 with probability mean, else 0: the noisiest law on [0, 1]."""
    return LossLaw(kernels.BERNOULLI)


def bounded(spread: float) -> LossLaw:
    """The loss is uniform on mean +- spread * min(mean, 1 - mean); ``spread`` in (0, 1]."""
    return LossLaw(kernels.BOUNDED, check_float(spread, "spread", "in (0, 1], as a share of the largest spread"))
