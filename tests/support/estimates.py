"""Ridge estimates, rows and balls, drawn by Hypothesis or by a generator; and the kernel that projects them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.confidence.projection import new_projection_workspace, project
from tests.support.strategies import contexts

Floats = NDArray[np.float64]


@st.composite
def ridge_estimates(draw: st.DrawFn) -> tuple[Floats, Floats]:
    """(rows [m, d], gram [d, d]) as a learner meets them: contexts of the simplex, each with a next state or the
    goal, some of them seen thousands of times."""
    size, following = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    seen = st.tuples(contexts(size), st.integers(0, following), st.sampled_from([1, 1, 1, 7, 10_000]))
    gram = draw(st.sampled_from([1.0, 0.1, 1e-3])) * np.eye(size)
    sums = np.zeros((following + 1, size))
    for context, next_state, times in draw(st.lists(seen, max_size=12)):
        gram += times * np.outer(context, context)
        sums[next_state] += times * context
    return np.linalg.solve(gram, sums[:-1].T).T, gram


@st.composite
def any_rows(draw: st.DrawFn, size: int | None = None) -> tuple[Floats, Floats, Floats]:
    """(rows [m, d], other rows [m, d], gram [d, d]): quarters, so that corners, edges and ties are frequent."""
    size = size or draw(st.integers(1, 3))
    following = draw(st.integers(1, 4))
    quarters = st.lists(st.integers(-6, 9), min_size=following * size, max_size=following * size)
    rows, others = (np.reshape(draw(quarters), (following, size)) / 4.0 for _ in range(2))
    factor = np.reshape(draw(st.lists(st.integers(-3, 3), min_size=size**2, max_size=size**2)), (size, size))
    return rows, others, np.eye(size) + factor @ factor.T


@st.composite
def balls(draw: st.DrawFn) -> tuple[Floats, float, Floats]:
    """(centre [m], radius, values [m]): centres on the border of the simplex, radii from none to all of it, equal
    values and zero values are frequent."""
    size = draw(st.integers(1, 5))
    shares = draw(st.lists(st.integers(0, 5), min_size=size + 1, max_size=size + 1).filter(any))
    value = st.one_of(st.sampled_from([0.0, 1.0, 2.5]), st.floats(1e-3, 100.0))
    radius = draw(st.one_of(st.sampled_from([0.0, 1e-6, 0.25, 2.0]), st.floats(1e-8, 1.5)))
    values = draw(st.lists(value, min_size=size, max_size=size))
    return np.array(shares[:size]) / sum(shares), radius, np.array(values)


class RidgeRows(NamedTuple):
    """Ridge rows [m, d] and the Gram matrix [d, d] of the steps of a pair."""

    rows: Floats
    gram: Floats


def ridge_rows(contexts: Floats, visits: NDArray[np.int64], counts: NDArray[np.int64], ridge: float = 1.0) -> RidgeRows:
    """Contexts [n, d], how often each came [n], and how often each next state followed [n, m]."""
    gram = ridge * np.eye(contexts.shape[1]) + (contexts * visits[:, None]).T @ contexts
    return RidgeRows(np.linalg.solve(gram, contexts.T @ counts).T, gram)


def drawn_rows(rng: np.random.Generator, count: int, size: int, spread: float, most: int) -> RidgeRows:
    """A pair with ``count`` next states whose steps were drawn from a linear truth. ``spread`` is how far contexts are
    from each other, ``most`` how often one may have come: far below 1 and a million make a Gram matrix ill."""
    kinds = int(rng.integers(1, 30))
    contexts = rng.dirichlet(np.ones(size)) + spread * rng.dirichlet(np.full(size, 0.3), size=kinds)
    contexts /= contexts.sum(axis=1, keepdims=True)
    truth = rng.dirichlet(np.full(count + 1, 0.2), size=size)
    visits = rng.integers(1, most + 1, size=kinds)
    chances = contexts @ truth
    counts = np.array([rng.multinomial(n, p / p.sum()) for n, p in zip(visits, chances, strict=True)])
    return ridge_rows(contexts, visits, counts[:, :count])


class Projected(NamedTuple):
    """What the kernel gave: how many guesses it took (-1: no answer), and the rows."""

    guesses: int
    rows: Floats


def project_rows(
    rows: Floats, gram: Floats, start: Floats | None = None, *, form: str = "python", stochastic: bool = False
) -> Projected:
    """The kernel on rows [m, d], from a start [m, d] (nothing: zeros)."""
    count, size = rows.shape
    scratch = new_projection_workspace(count, size)
    scratch.target[:count] = rows
    answer = np.zeros((count, size)) if start is None else start.copy()
    guesses = getattr(project, form)(gram, np.linalg.inv(gram), count, stochastic, scratch, answer)
    return Projected(int(guesses), answer)


def feasible_starts(rng: np.random.Generator, shape: tuple[int, int]) -> list[Floats]:
    """Zeros, a corner, the middle, anything: none of them near the answer."""
    corner = np.zeros(shape)
    corner[0] = 1.0
    anything = rng.dirichlet(np.ones(shape[0] + 1), size=shape[1])[:, : shape[0]].T
    return [np.zeros(shape), corner, np.full(shape, 1.0 / shape[0]), anything]
