"""One step of an episode, and the law that its loss is drawn from around its mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from goalbound.errors import ArgumentError, InputError
from goalbound.models.support import Support
from goalbound.models.validation import check_float, short_repr


class Step(NamedTuple):
    """What one decision gave: in ``state``, ``action`` was played, ``loss`` was paid, ``next_state`` followed.

    ``next_state`` is S (the number of states) at the goal.
    """

    state: int
    action: int
    loss: float
    next_state: int


DETERMINISTIC, BERNOULLI, BOUNDED = 0, 1, 2
"""The codes of the laws of the losses: see :func:`goalbound.models.simulated.loss_of`."""
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


def step_parts(step: object) -> tuple[Any, Any, Any, Any]:
    """The four parts of a step: a :class:`Step`, or a sequence like it."""
    if not isinstance(step, tuple | list) or len(step) != 4:
        raise ArgumentError(f"step is {short_repr(step)}; give Step(state, action, loss, next_state)")
    return step[0], step[1], step[2], step[3]


def checked_step(support: Support, step: Step) -> tuple[int, int]:
    """The pair of a step and the place of its next state among the M triples, or an error that says what cannot be."""
    state, action, loss, following = step if type(step) is Step else step_parts(step)
    pair = support.pair(state, action)
    try:
        following = support.state(following)
    except InputError as error:
        raise ArgumentError(f"next_state: {error}") from None
    first, last = support.next_start[pair], support.next_start[pair + 1]
    place = int(first + support.next_state[first:last].searchsorted(following))
    if place == last or support.next_state[place] != following:
        raise ArgumentError(
            f"{support.pair_name(pair)} led to {support.state_name(following)}, which its support does not allow; "
            "declare that next state; a learner that has seen steps goes on with it as learner.extended(support)"
        )
    if isinstance(loss, bool) or not isinstance(loss, int | float | np.floating | np.integer):
        raise ArgumentError(f"{support.pair_name(pair)}: the loss is {short_repr(loss)}, which is not a number")
    if not 0.0 <= loss <= 1.0:  # NaN is neither
        raise ArgumentError(
            f"{support.pair_name(pair)}: the loss is {short_repr(loss)}; losses lie in [0, 1], divide them by a scale"
        )
    return pair, place


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
        if self.code not in (DETERMINISTIC, BERNOULLI, BOUNDED):
            raise ArgumentError(
                f"no law of losses has code {self.code}; use deterministic(), bernoulli() or bounded(...)"
            )
        if self.code == BOUNDED and not 0.0 < self.spread <= 1.0:
            raise ArgumentError(f"spread {self.spread} is not in (0, 1]; for no spread at all use deterministic()")
        if self.code != BOUNDED and self.spread != 0.0:
            raise ArgumentError(f"spread {self.spread} means nothing to this law; use bounded({self.spread})")

    @property
    def is_random(self) -> bool:
        """Whether a loss takes one uniform number of the stream."""
        return self.code != DETERMINISTIC


def deterministic() -> LossLaw:
    """The loss is its mean."""
    return LossLaw(DETERMINISTIC)


def bernoulli() -> LossLaw:
    """The loss is 1 with probability mean, else 0: the noisiest law on [0, 1]."""
    return LossLaw(BERNOULLI)


def bounded(spread: float) -> LossLaw:
    """The loss is uniform on mean +- spread * min(mean, 1 - mean); ``spread`` in (0, 1]."""
    return LossLaw(BOUNDED, check_float(spread, "spread", "in (0, 1], as a share of the largest spread"))
