"""How a learner by ridge regression explores: by optimism, not at all, by posterior sampling, as R-max does, or
by optimism about the next step only."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import e, inf, isfinite, log, sqrt
from typing import Any

from goalbound.errors import ArgumentError
from goalbound.kernels.state import GREEDY, LOCAL, OPTIMISTIC, POSTERIOR, RMAX
from goalbound.models.validation import check_bool, check_float, check_fraction, check_size


@dataclass(frozen=True)
class Exploration:
    """Made by :func:`optimistic`, :func:`greedy`, :func:`sampled`, :func:`rmax` and :func:`local`.

    Attributes:
        name: what it is called where results are recorded.
        spread: of ``sampled``: the standard deviation of a coefficient, in the norm of the pair's Gram matrix; of
            ``local``: the factor of the bonus.
        by_variance: of ``sampled``: that is multiplied by the estimated standard deviation of an outcome.
        optimism: of ``sampled``: the share of plans that are optimistic instead of drawn.
        patience: a plan ends once more is lost under it than this times 1 plus what it expected; not ``optimistic``.
        threshold: of ``rmax``: a pair is known under a context c where the sum of |V^-1 c| is at most this.
        explore: the share of steps in the first episode that play any action of the state.
        fade: in episode k that share is explore * k^-fade.
        ceiling: no value of a plan is above it.
    """

    name: str
    spread: float = 0.0
    threshold: float = 0.0
    explore: float = 0.0
    fade: float = 0.0
    ceiling: float = inf
    by_variance: bool = False
    optimism: float = 0.0
    patience: float = inf

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or self.name not in _CODES:
            raise ArgumentError(f"no way of exploring is called {self.name!r}; there are {', '.join(_CODES)}")
        for name, meaning in _MEANINGS.items():
            object.__setattr__(self, name, check_float(getattr(self, name), name, meaning))
        check_bool(self.by_variance, "by_variance")
        if not (0.0 <= self.explore <= 1.0 and isfinite(self.fade) and self.fade >= 0.0):
            raise ArgumentError(
                f"explore {self.explore} and fade {self.fade} do not fit; explore is in [0, 1], fade >= 0"
            )
        if not (isfinite(self.spread) and self.spread >= 0.0 and isfinite(self.threshold) and self.threshold >= 0.0):
            raise ArgumentError(f"spread {self.spread} and threshold {self.threshold} are finite numbers from 0 on")
        if not 0.0 <= self.optimism <= 1.0:
            raise ArgumentError(f"optimism {self.optimism} is not in [0, 1]; it is the share of optimistic plans")
        if not self.patience > 0.0:
            raise ArgumentError(f"patience {self.patience} is not positive; use a larger one, or infinity")
        if self.code == OPTIMISTIC and self.patience < inf:
            raise ArgumentError(f"patience is {self.patience}; intervals of the optimistic learner end as proven")
        if not self.ceiling >= 1.0:
            raise ArgumentError(
                f"ceiling {self.ceiling} is below 1, the loss of one step; use a larger one, or infinity"
            )

    @property
    def code(self) -> int:
        """As kernels know it."""
        return _CODES[self.name]

    @property
    def draws(self) -> bool:
        """Whether the learner draws numbers, and so needs a stream of its own."""
        return self.code == POSTERIOR or self.explore > 0.0

    def as_json(self) -> dict[str, Any]:
        """For the header of a checkpoint; JSON has no infinity."""
        return {
            key: value if key in ("name", "by_variance") else None if value == inf else float(value)
            for key, value in asdict(self).items()
        }

    @classmethod
    def from_json(cls, values: Any) -> Exploration:
        """What :meth:`as_json` gave; keys and types are checked."""
        if not isinstance(values, dict) or set(values) != set(cls.__annotations__):
            raise ArgumentError(f"the exploration is {values!r}; it needs {sorted(cls.__annotations__)}")
        name, by_variance = values["name"], values["by_variance"]
        words = ("name", "by_variance")
        numbers = {key: inf if value is None else value for key, value in values.items() if key not in words}
        if (
            type(name) is not str
            or type(by_variance) is not bool
            or any(type(x) is not float for x in numbers.values())
        ):
            raise ArgumentError(f"the exploration is {values!r}; it is a name, a flag and numbers")
        return cls(name, by_variance=by_variance, **numbers)

    def __str__(self) -> str:
        return self.name


_MEANINGS = {
    "spread": "a standard deviation, from 0 on",
    "threshold": "the largest width of a pair that is known, from 0 on",
    "explore": "the share of steps that explore in the first episode, in [0, 1]",
    "fade": "how fast exploring fades, from 0 on",
    "optimism": "the share of plans that are optimistic, in [0, 1]",
    "patience": "how many times what a plan expected may be lost under it",
    "ceiling": "what no value of a plan is above, from 1 on",
}
_CODES = {"optimistic": OPTIMISTIC, "greedy": GREEDY, "sampled": POSTERIOR, "rmax": RMAX, "local": LOCAL}


def optimistic() -> Exploration:
    """The paper's: plan in the most optimistic model of the confidence sets."""
    return Exploration("optimistic")


def greedy(*, explore: float = 0.0, fade: float = 0.0, ceiling: float = 1000.0) -> Exploration:
    """Plan in the estimate as it is; now and then (``explore``, fading) play any action.

    An estimate may have no way to the goal under some context, so values are capped at ``ceiling``.
    """
    return Exploration("greedy", explore=explore, fade=fade, ceiling=ceiling)


def sampled(
    *, spread: float = 0.5, by_variance: bool = False, optimism: float = 0.0, patience: float = inf,
    ceiling: float = 1000.0,
) -> Exploration:  # fmt: skip
    """Plan in a draw from the Gaussian posterior of losses and rows; a share ``optimism`` of the plans is optimistic.

    ``spread`` 1/2 is the noise of a number in [0, 1] at its largest; with ``by_variance`` it is a multiple of the noise
    that is estimated. A draw may have no good way to the goal, so values are capped at ``ceiling``.
    """
    return Exploration(
        "sampled", spread=spread, ceiling=ceiling, by_variance=by_variance, optimism=optimism, patience=patience
    )


def rmax(*, threshold: float, ceiling: float = 1000.0) -> Exploration:
    """Plan in the estimate where it is known; a pair that is not leads straight to the goal, at the loss floor.

    Values are capped at ``ceiling``, as those of :func:`greedy` are.
    """
    return Exploration("rmax", threshold=threshold, ceiling=ceiling)


def local(*, bonus: float, ceiling: float = 1000.0) -> Exploration:
    """Plan in the estimate; in each state play the action of the least worth less ``bonus`` times sqrt(log(1 + n))
    standard deviations, for n visits of the plan's action under contexts like this one.

    Values are capped at ``ceiling``, as those of :func:`greedy` are.
    """
    bonus = check_float(bonus, "bonus", "the factor of the bonus of an action, from 0 on")
    if not (isfinite(bonus) and bonus >= 0.0):
        raise ArgumentError(f"bonus {bonus} is not a finite number from 0 on")
    return Exploration("local", spread=bonus, ceiling=ceiling)


def kwik_threshold(context_size: int, *, accuracy: float, delta: float) -> float:
    """When online linear regression knows an answer to within ``accuracy``, with probability 1 - delta:
    min(a^2 / d^(3/2), a^2 / (sqrt(d) log(max(d, e) / delta)), a / (2 sqrt(d))).

    Source: Strehl and Littman (2007), as used by Modi et al. (2018); their text leaves two constants open, which are 1
    here.
    """
    context_size = check_size(context_size, "context_size", "a context has at least one entry")
    delta = check_fraction(delta, "delta", "the probability of failure allowed")
    accuracy = check_float(accuracy, "accuracy", "the error of a probability that is let pass, in (0, 1]")
    if not 0.0 < accuracy <= 1.0:
        raise ArgumentError(f"accuracy {accuracy} is not in (0, 1]; it is the error of a probability that is let pass")
    root, square = sqrt(context_size), accuracy * accuracy
    return min(square / root**3, square / (root * log(max(context_size, e) / delta)), accuracy / (2.0 * root))
