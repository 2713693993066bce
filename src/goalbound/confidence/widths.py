"""How wide the confidence sets are: the radii of the paper, as proven or as printed, and a scale that says its name.

With m_i next states of pair i other than the goal, M' their sum over all N pairs, tau visits and regularization lambda:

    rho   = sqrt(d log(8 M' (1 + tau / lambda) / delta)) + sqrt(lambda)     for each row of the dynamics
    rho_l = sqrt(d log(8 N  (1 + tau / lambda) / delta)) + sqrt(lambda)     for the losses

Reads the paper as: |S|^2 |A| and |S| |A| count triples and pairs, so M' and N stand for them, and the |S| of a pair is
the number of its possible next states; with full supports these are the paper's. The goal is not a row.

Why sqrt(lambda) is enough, though a row of the truth may have norm sqrt(d): the numbers regressed are in [0, 1], so
their noise is 1/2-sub-Gaussian, and the theorem behind Theorem (confidenceEllipsoid), with R = 1/2 and norm sqrt(d),
gives a radius of at most sqrt(max(d, 2) log(x)) / 2 + sqrt(d lambda), x the argument above (for d = 1 the 2 is needed,
and there is nothing else to show). That is at most sqrt(d log(x)) + sqrt(lambda) exactly if
sqrt(lambda) (sqrt(d) - 1) <= sqrt(d log(x)) / 2, which holds for lambda = 1 always, as x >= 8 / delta > e^4 gives a
right side of at least sqrt(d) for delta <= 8 e^-4 = 0.146. For other settings :meth:`Widths.check` tests it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from math import inf, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.protocol import ConfidenceModel, from_fields, is_saved_as
from goalbound.errors import ArgumentError
from goalbound.jit.struct import Struct
from goalbound.models import Support
from goalbound.models.validation import check_bool, check_float, check_type, set_readonly

SMALLEST_SCALE, LARGEST_SCALE = 1e-100, 1e100
"""Beyond them the squares of radii are no floats any more."""


class Radii(Struct):
    """The constants of the widths for one support; kernels turn them into radii as visits grow."""

    next_factor: NDArray[np.float64]
    """[N] radius of the rows of a pair = factor * rho"""
    known_factor: NDArray[np.float64]
    """[N] beta of the known test = factor * rho"""
    width_factor: NDArray[np.float64]
    """[N] what one more unit of radius adds to beta, whatever the scale"""
    loss_factor: float
    loss_log: float
    """log(8 N / delta)"""
    next_log: float
    """log(8 M' / delta)"""


@dataclass(frozen=True)
class IntervalPieces:
    """What the sharp widths are made of; each piece can be left out, to see what it brings.

    Attributes:
        goal: the goal has an interval of its own; else any mass may go there.
        half: numbers in [0, 1] have noise that is 1/2-sub-Gaussian; else 1.
        determinant: the determinant of the Gram matrix is used as it is; else a bound of it by the visits.
        entrywise: the bias of the ridge is bounded entry by entry; else by norms.
        variance: bounds by the variance of a next state are used where they are smaller.
    """

    goal: bool = True
    half: bool = True
    determinant: bool = True
    entrywise: bool = True
    variance: bool = True


@dataclass(frozen=True)
class Widths:
    """A rule for the radii: made by :func:`paper`, :func:`printed`, :func:`sharp` and :func:`scaled`.

    Attributes:
        name: what the rule is called where results are recorded.
        joint: whether the ball of a pair's matrix has the radius of all its rows together, sqrt(m_i) rho, or rho.
        scale: what all radii, and beta, are multiplied by.
        intervals: an interval for each next state instead of a ball, or None.
        likelihood: whether these intervals are intersected with likelihood-ratio sets.
    """

    name: str
    joint: bool
    scale: float = 1.0
    intervals: IntervalPieces | None = None
    likelihood: bool = False

    @property
    def proven(self) -> bool:
        """Whether the sets hold the truth with probability 1 - delta by the paper's proof."""
        return self.joint and self.scale >= 1.0

    @property
    def pieces(self) -> IntervalPieces:
        """What the intervals are made of, of a rule that makes intervals."""
        assert self.intervals is not None
        return self.intervals

    @property
    def room(self) -> ConfidenceModel:
        """The confidence model with these widths; its module is loaded now."""
        if self.likelihood:
            from goalbound.confidence.likelihood import Likelihood

            return Likelihood(self)
        if self.intervals is None:
            from goalbound.confidence.balls import Balls

            return Balls(self)
        from goalbound.confidence.sharp import Sharp

        return Sharp(self)

    def radii(self, support: Support, *, delta: float) -> Radii:
        """The constants for a support."""
        goal = support.states
        following = np.add.reduceat(support.next_state < goal, support.next_start[:-1]).astype(np.float64)
        # At least N, so that beta covers the loss radius too where most pairs lead straight to the goal.
        rows = max(float(following.sum()), float(support.pairs))
        # Departs from the paper: beta counts at least one next state, so that it also covers the loss of a pair that
        # leads only to the goal.
        return Radii(
            next_factor=set_readonly(self.scale * (np.sqrt(following) if self.joint else np.minimum(following, 1.0))),
            known_factor=set_readonly(self.scale * np.maximum(following, 1.0)),
            width_factor=set_readonly(np.sqrt(np.maximum(following, 1.0))),
            loss_factor=self.scale,
            loss_log=log(8.0 * support.pairs / delta),
            next_log=log(8.0 * rows / delta),
        )

    def check(self, support: Support, context_size: int, *, delta: float, regularization: float) -> None:
        """An error if the regularization is too large for the proof (see the top of this file)."""
        if not self.proven or self.intervals is not None:  # intervals count the bias as it is, whatever lambda
            return
        radii = self.radii(support, delta=delta)
        most_bias = sqrt(context_size * min(radii.loss_log, radii.next_log)) / 2.0
        if sqrt(regularization) * (sqrt(context_size) - 1.0) > most_bias:
            most = (most_bias / (sqrt(context_size) - 1.0)) ** 2
            raise ArgumentError(
                f"regularization {regularization:g} is too large for the proof of the {self} widths at "
                f"d = {context_size}, delta = {delta:g}; use at most {most:.3g} (the paper uses 1)"
            )

    def as_json(self) -> dict[str, Any]:
        """For the header of a checkpoint, and for records of results."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Any) -> Widths:
        """What :meth:`as_json` gave; keys and types are checked."""
        if isinstance(values, dict) and values.get("intervals") is not None:
            pieces = from_fields(IntervalPieces, values["intervals"], "the pieces of the widths")
            values = {**values, "intervals": pieces}
        made = from_fields(cls, values, "widths")
        if not SMALLEST_SCALE <= made.scale <= LARGEST_SCALE:
            raise ArgumentError(
                f"the scale of the widths is {made.scale}; it is from {SMALLEST_SCALE:g} to {LARGEST_SCALE:g}"
            )
        alike = [rule() for rule in RULES.values()] if made.intervals is None else [sharp(**asdict(made.intervals))]
        if not any(made == replace(rule, scale=made.scale) for rule in alike) and made != likelihood():
            raise ArgumentError(f"widths is {values!r:.300}; no rule is called {made.name!r} and has these settings")
        return made

    def __str__(self) -> str:
        return self.name if self.scale == 1.0 else f"{self.scale:g} x {self.name}"


def paper() -> Widths:
    """The radii that the paper proves: sqrt(m_i) rho for the matrix of a pair (its projection lemma)."""
    return Widths("paper", joint=True)


def printed() -> Widths:
    """The radii as eq. (dynamics-conf-set) prints them: rho for the whole matrix of a pair. *Not proven.*"""
    return Widths("printed", joint=False)


def sharp(
    *, goal: bool = True, half: bool = True, determinant: bool = True, entrywise: bool = True, variance: bool = True
) -> Widths:
    """Sets that hold the truth with the same probability and are much smaller: an interval for the loss, and for each
    next state, of a pair under a context. docs/explanation/sharp.md has the proofs, and what each piece brings.

    Each piece (see :class:`IntervalPieces`) can be left out, to see what it brings; the sets are valid all the same.

    >>> print(sharp(), sharp(variance=False), sep="; ")
    sharp; sharp without variance
    """
    for name, used in zip(IntervalPieces.__annotations__, (goal, half, determinant, entrywise, variance), strict=True):
        check_bool(used, name)
    intervals = IntervalPieces(bool(goal), bool(half), bool(determinant), bool(entrywise), bool(variance))
    missing = [name for name, used in asdict(intervals).items() if not used]
    return Widths("sharp" + (f" without {', '.join(missing)}" if missing else ""), joint=True, intervals=intervals)


def likelihood() -> Widths:
    """Likelihood-ratio sets, intersected with the intervals of :func:`sharp`: proven as these are, and smaller.

    All coefficients under which what was seen of a loss, or of a next state, was not too unlikely, compared with a
    forecast that was made before (:mod:`.likelihood.sets`; docs/explanation/likelihood.md has the proofs).
    98% of the failure probability of the sets is theirs, 2% that of the intervals. They use it: where :func:`sharp`
    practically never fails, these may, with the probability that ``delta`` says.

    >>> print(likelihood(), likelihood().proven)
    likelihood True
    """
    return Widths("likelihood", joint=True, intervals=IntervalPieces(), likelihood=True)


def scaled(widths: Widths, *, by: float) -> Widths:
    """The same rule with all radii, and the known test, multiplied. Below 1 nothing is promised.

    >>> print(scaled(paper(), by=0.1))
    0.1 x paper
    """
    check_type(widths, Widths, "widths", f"give {rule_names(lambda rule: not rule.likelihood)}")
    if widths.likelihood:
        raise ArgumentError("widths is likelihood(), which has no radius to multiply; scale sharp() instead")
    if not 0.0 < (factor := check_float(by, "by", "the scale that all radii are multiplied by")) < inf:
        raise ArgumentError(f"by is {by}; a scale is a positive number")
    scale = widths.scale * factor
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        raise ArgumentError(
            f"by is {by}, which makes a scale of {scale:g}; scales are from {SMALLEST_SCALE:g} to {LARGEST_SCALE:g}"
        )
    return replace(widths, scale=scale)


RULES: Mapping[str, Callable[[], Widths]] = {
    "likelihood": likelihood,
    "sharp": sharp,
    "paper": paper,
    "printed": printed,
}
"""The rules by name; learners use the first one unless another is given."""
DEFAULT_RULE = next(iter(RULES.values()))
FASTEST_RULE = "sharp"
"""The proven rule that learns from a step in the least time; its widths are worth scaling where no proof is needed."""


def rule_names(fits: Callable[[Widths], bool] = lambda rule: True) -> str:
    """The rules that fit, as code calls them, for error messages.

    >>> rule_names(lambda rule: rule.intervals is not None)
    'likelihood(), sharp()'
    """
    return ", ".join(f"{name}()" for name, rule in RULES.items() if fits(rule()))


def rule_from_json(values: Any, rooms: Iterable[Any] = ()) -> Widths | ConfidenceModel:
    """What ``as_json`` of a rule gave; ``rooms`` are confidence models of third parties, by value."""
    for room in rooms:
        if isinstance(room, ConfidenceModel) and is_saved_as(room, values):
            return room
    try:
        return Widths.from_json(values)
    except ArgumentError as error:
        remedy = "for a model of your own load_learner(path, rooms=[model]); no store holds one"
        raise ArgumentError(f"{error}; {remedy}") from None
