"""One step of an episode, and the law that its loss is drawn from around its mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from goalbound.errors import ArgumentError
from goalbound.kernels import environment as kernels
from goalbound.models.validation import check_float


class Step(NamedTuple):
    """What one decision gave: in ``state``, ``action`` was played, ``loss`` was paid, ``next_state`` followed.

    ``next_state`` is S (the number of states) at the goal.
    """

    state: int
    action: int
    loss: float
    next_state: int


@dataclass(frozen=True)
class LossLaw:
    """How the loss of a step is drawn around its mean: :func:`deterministic`, :func:`bernoulli` or :func:`bounded`.

    Attributes:
        code: which law, as kernels know it (:func:`goalbound.kernels.environment.loss_of`).
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
