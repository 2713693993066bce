"""Where contexts come from: random, listed, drifting, or chosen by an adversary.

A source gives the contexts of episodes ``first .. first + count - 1``, taking what it needs from the stream, and the
same ones however the episodes are cut into chunks: ``draw(rng, 0, 10)`` is ``draw(rng, 0, 4)`` and then
``draw(rng, 4, 6)``. An adaptive source chooses one context at a time instead, and may inspect the learner first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ArgumentError
from goalbound.models.validation import (
    ROW_TOLERANCE,
    check_array,
    check_distribution,
    check_float,
    check_int,
    check_size,
    readonly_copy,
    short_repr,
)

Floats = NDArray[np.float64]
MAX_COMPONENTS = 100_000
"""More would need tables larger than any machine has."""


class ContextSource(Protocol):
    """Contexts that do not depend on the learner."""

    @property
    def context_size(self) -> int:
        """d, the length of a context."""
        ...

    def draw(self, rng: np.random.Generator, first: int, count: int) -> Floats:
        """[count, d] the contexts of episodes ``first .. first + count - 1``, which follow those drawn before."""
        ...


class AdaptiveSource(Protocol):
    """Contexts that may depend on what the learner has seen."""

    @property
    def context_size(self) -> int:
        """d, the length of a context."""
        ...

    def choose(self, rng: np.random.Generator, episode: int, learner: Any) -> Floats:
        """[d] the context of the next episode."""
        ...


@dataclass(frozen=True, eq=False)
class Dirichlet:
    """Independent draws of the Dirichlet law.

    ``alpha`` [d]: the larger an entry, the more weight its component has; all large: near the mean
    ``alpha / sum(alpha)``; all small: near the corners; all 1: uniform on the simplex.

    >>> Dirichlet([2.0, 1.0]).draw(np.random.default_rng(0), 0, 1000).mean(axis=0).round(1)
    array([0.7, 0.3])
    """

    alpha: Floats

    def __post_init__(self) -> None:
        alpha = check_array(self.alpha, "alpha", (None,), "d numbers, one per component; see also Dirichlet.symmetric")
        _check_size(len(alpha), "alpha")
        bad = np.flatnonzero(~((alpha > 0.0) & np.isfinite(alpha)))
        if len(bad):
            raise ArgumentError(f"alpha[{bad[0]}] is {alpha[bad[0]]}; it needs positive numbers")
        object.__setattr__(self, "alpha", readonly_copy(alpha, np.float64))

    @classmethod
    def symmetric(cls, context_size: int, *, alpha: float = 1.0) -> Dirichlet:
        """The same ``alpha`` for each of d components; 1 is uniform on the simplex."""
        size = _check_size(context_size, "context_size")
        return cls(np.full(size, check_float(alpha, "alpha", "a positive number, the same for all components")))

    @property
    def context_size(self) -> int:
        """d, the length of a context."""
        return len(self.alpha)

    def draw(self, rng: np.random.Generator, first: int, count: int) -> Floats:
        """[count, d] independent draws."""
        draws = rng.dirichlet(self.alpha, count)
        return np.ones_like(draws) if self.context_size == 1 else draws  # NumPy's x / x need not be 1


@dataclass(frozen=True, eq=False)
class OneHot:
    """Each episode has all weight on one component, drawn uniformly.

    >>> OneHot(3).draw(np.random.default_rng(0), 0, 2).max(axis=1)
    array([1., 1.])
    """

    context_size: int

    def __post_init__(self) -> None:
        _check_size(self.context_size, "context_size")

    def draw(self, rng: np.random.Generator, first: int, count: int) -> Floats:
        """[count, d] rows of the unit matrix."""
        return np.eye(self.context_size)[rng.integers(self.context_size, size=count)]


@dataclass(frozen=True, eq=False)
class FromArray:
    """The contexts [K, d] given, in order; an error when they run out.

    >>> FromArray([[1.0, 0.0], [0.5, 0.5]]).draw(np.random.default_rng(0), 1, 1)
    array([[0.5, 0.5]])
    """

    contexts: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "contexts", _context_rows(self.contexts))

    @property
    def context_size(self) -> int:
        """d, the length of a context."""
        return self.contexts.shape[1]

    def draw(self, rng: np.random.Generator, first: int, count: int) -> Floats:
        """[count, d] the contexts at their places; nothing is taken from the stream."""
        if first + count > len(self.contexts):
            raise ArgumentError(
                f"there is no context for episode {max(first, len(self.contexts))}: {len(self.contexts)} are listed, "
                "for episodes from 0 on; list more, or repeat them with Cyclic"
            )
        return self.contexts[first : first + count]


@dataclass(frozen=True, eq=False)
class Cyclic:
    """The contexts [K, d] given, in order, repeated from the start when they run out.

    >>> Cyclic([[1.0, 0.0], [0.0, 1.0]]).draw(np.random.default_rng(0), 3, 2)
    array([[0., 1.],
           [1., 0.]])
    """

    contexts: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "contexts", _context_rows(self.contexts))

    @property
    def context_size(self) -> int:
        """d, the length of a context."""
        return self.contexts.shape[1]

    def draw(self, rng: np.random.Generator, first: int, count: int) -> Floats:
        """[count, d] the contexts at their places; nothing is taken from the stream."""
        return self.contexts[np.arange(first, first + count) % len(self.contexts)]


@dataclass(frozen=True, eq=False)
class Drifting:
    """Moves in a straight line from one context to another in ``episodes`` episodes, then stays there.

    Attributes:
        start: [d] the context of episode 0.
        end: [d] the context of episode ``episodes - 1`` and all after it.
        episodes: how long it takes; at least 2.
        noise: in [0, 1]; the share of each context that is a uniform draw from the simplex. 0: nothing is random.

    >>> Drifting([1.0, 0.0], [0.0, 1.0], episodes=3).draw(np.random.default_rng(0), 0, 4)
    array([[1. , 0. ],
           [0.5, 0.5],
           [0. , 1. ],
           [0. , 1. ]])
    """

    start: Floats
    end: Floats
    episodes: int
    noise: float = 0.0

    def __post_init__(self) -> None:
        begin = check_array(self.start, "start", (None,), "d numbers, one per component")
        size = _check_size(len(begin), "start")
        object.__setattr__(
            self, "start", readonly_copy(check_distribution(begin, "start", size, "component"), np.float64)
        )
        object.__setattr__(
            self, "end", readonly_copy(check_distribution(self.end, "end", size, "component"), np.float64)
        )
        if check_int(self.episodes, "episodes", most=2**62) < 2:
            raise ArgumentError(f"episodes is {short_repr(self.episodes)}; a drift takes at least 2")
        if not 0.0 <= check_float(self.noise, "noise", "the share of each context that is random") <= 1.0:
            raise ArgumentError(f"noise {self.noise} is not in [0, 1]; it is the share of each context that is random")

    @property
    def context_size(self) -> int:
        """d, the length of a context."""
        return len(self.start)

    def draw(self, rng: np.random.Generator, first: int, count: int) -> Floats:
        """[count, d] the contexts at their places on the line, with the noise."""
        progress = np.minimum(np.arange(first, first + count) / (self.episodes - 1), 1.0)[:, None]
        line = (1.0 - progress) * self.start + progress * self.end
        if self.noise == 0.0:
            return line
        return (1.0 - self.noise) * line + self.noise * rng.dirichlet(np.ones(self.context_size), count)


@dataclass(frozen=True, eq=False)
class Adversary:
    """Chooses, among ``candidates`` [K, d], the context that the learner knows least.

    How little a pair knows about context c is its squared width c^T V^-1 c. The adversary sums it over all steps that
    the learner has played (pairs, weighted by their visits), and takes the candidate of the largest sum; of equals,
    the first. A plain sum over pairs would be decided by pairs that the learner tried once and left, and a largest
    one by a pair that it never plays; weighted by visits it is the width that the learner's own play runs into.
    Before the first step all pairs count alike.

    The sum is convex in c, so over the whole simplex it is largest at a corner: :meth:`anywhere` tries the corners
    only, and no context is worse for this measure.

    The learner needs ``statistics`` with ``inverse_gram`` [N, d, d] and ``visits`` [N].
    """

    candidates: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "candidates", _context_rows(self.candidates, "candidates"))

    @classmethod
    def anywhere(cls, context_size: int) -> Adversary:
        """May choose any context of the simplex (and chooses a corner: see above)."""
        return cls(np.eye(_check_size(context_size, "context_size")))

    @property
    def context_size(self) -> int:
        """d, the length of a context."""
        return self.candidates.shape[1]

    def choose(self, rng: np.random.Generator, episode: int, learner: Any) -> Floats:
        """[d] the candidate that is known least; nothing is taken from the stream."""
        return self.candidates[int(np.argmax(self.widths(learner)))]

    def widths(self, learner: Any) -> Floats:
        """[K] how little the learner knows about each candidate."""
        inverse_gram, visits = _learner_statistics(learner, self.context_size)
        weights = visits if visits.any() else np.ones_like(visits)
        total = np.einsum("i,ijk->jk", weights, inverse_gram)
        return np.einsum("nj,jk,nk->n", self.candidates, total, self.candidates)


def checked_contexts(values: ArrayLike, name: str, context_size: int | None, first: int = 0) -> Floats:
    """[K, d] points of the simplex, or an error that names the row (counted from ``first``) and the remedy.

    As everywhere, sums are checked to 1e-9; rows that are off by more than rounding are divided by their sum.
    """
    rows = check_array(
        values, name, (None, context_size), f"shape [K, d] = (K, {context_size or 'd'}), one row per episode"
    )
    good = (rows >= 0.0) & (rows <= 1.0 + ROW_TOLERANCE)  # false for NaN
    if not good.all():
        row, entry = (int(i) for i in np.argwhere(~good)[0])
        raise ArgumentError(f"{name}[{first + row}][{entry}] is {rows[row, entry]}; a weight is in [0, 1]")
    sums = rows.sum(axis=1)
    off = np.abs(sums - 1.0)
    if (off > ROW_TOLERANCE).any():
        row = int(np.argmax(off > ROW_TOLERANCE))
        raise ArgumentError(
            f"{name}[{first + row}] sums to {sums[row]:.12g}, not 1; a context is a point of the simplex"
        )
    unnormalised = off > (rows.shape[1] + 4) * 2.0**-52
    if rows.max(initial=0.0) > 1.0:
        unnormalised |= rows.max(axis=1, initial=0.0) > 1.0
    return rows / np.where(unnormalised, sums, 1.0)[:, None] if unnormalised.any() else rows


def _context_rows(contexts: ArrayLike, name: str = "contexts") -> Floats:
    rows = checked_contexts(contexts, name, None)
    if not rows.size:
        raise ArgumentError(f"{name} has shape {rows.shape}; give at least one context with at least one entry")
    return readonly_copy(rows, np.float64)


def _check_size(size: int, name: str) -> int:
    if check_int(size, name) < 1:
        raise ArgumentError(f"{name}: a context has at least one entry, not {short_repr(size)}")
    return check_size(size, name, "a context has at least one entry", most=MAX_COMPONENTS)


def _learner_statistics(learner: Any, size: int) -> tuple[Floats, Floats]:
    if hasattr(learner, "see"):  # its statistics are about what it is shown, not about these contexts
        raise ArgumentError(
            f"an adversary inspects what the learner knows of the contexts themselves, and a {type(learner).__name__} "
            "is shown something else; take other contexts, such as Dirichlet or OneHot"
        )
    statistics = getattr(learner, "statistics", None)
    inverse_gram, visits = (getattr(statistics, name, None) for name in ("inverse_gram", "visits"))
    if inverse_gram is None or visits is None:
        raise ArgumentError(
            f"an adversary inspects learner.statistics.inverse_gram and .visits, and a {type(learner).__name__} has "
            "none; take other contexts, such as Dirichlet or OneHot"
        )
    if inverse_gram.shape[1:] != (size, size):
        raise ArgumentError(f"the learner's contexts have {inverse_gram.shape[1]} entries, the adversary's have {size}")
    return inverse_gram, np.asarray(visits, dtype=np.float64)
