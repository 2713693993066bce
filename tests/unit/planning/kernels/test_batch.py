"""Many contexts at once: mixtures to the bit, bounds and policies against fractions and the planner."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.models import LinearCSSP
from goalbound.models.arrays import Rows
from goalbound.planning import solve
from goalbound.planning.kernels import batch
from goalbound.planning.kernels.elimination import new_evaluation_workspace
from goalbound.problems import random_cssp
from tests.reference import batch as naive
from tests.reference import kernels as twins
from tests.support import drawn, strategies
from tests.support.strategies import examples, linear_cssps


@given(linear_cssps(proper=False), st.data())
def test_rows_are_mixed_to_the_bit_as_the_problem_mixes_them(problem: LinearCSSP, data: Any) -> None:
    context = data.draw(strategies.contexts(problem.context_size))
    ssp = problem.at(context)
    for components, expected in ((problem.losses, ssp.losses), (problem.probabilities, ssp.probabilities)):
        turned, out = np.array(components.T, order="C"), np.empty(len(expected))
        batch.mix.python(turned, context, out)
        assert out.tobytes() == expected.tobytes() == np.array(naive.mixed(turned, context.tolist())).tobytes()


@given(drawn.problems(), st.data())
@examples(60)
def test_the_bounds_of_any_values_are_the_exact_ones_rounded_outwards(rows: Rows, data: Any) -> None:
    policy = data.draw(drawn.policies(rows, np.ones(len(rows.losses), dtype=bool)))
    values = data.draw(drawn.values(len(policy)))
    least_x, least_y = naive.bounds(rows, values, policy.tolist())
    taken = policy.copy()
    with np.errstate(all="ignore"):
        _, x, y = batch.improve_and_bound.python(rows, values, taken)
    for bound, least in ((x, least_x), (y, least_y)):
        assert bound == np.inf or Fraction(float(bound)) >= least
    halved = rows._replace(probabilities=0.5 * rows.probabilities)  # the sum of a row is divided out
    with np.errstate(all="ignore"):
        assert batch.improve_and_bound.python(halved, values, policy.copy())[1:] == (x, y)
    best = naive.best_pairs(rows, values)
    v = twins.exactly(values)
    pairs = twins.pairs_of(rows)
    for s, pair in enumerate(taken.tolist()):
        slack = 4 * Fraction(batch.TIE) * (twins.size(pairs[best[s]], v) + v[s])
        assert twins.gain(pairs[pair], v) <= twins.gain(pairs[best[s]], v) + slack


UNKNOWN, NONE = batch.UNKNOWN, batch.NONE


class Asked:
    """A batch of contexts of a problem, and what the kernel has filled."""

    def __init__(self, problem: LinearCSSP, contexts: Any, *, starts: Any, policy: Any = None) -> None:
        support = problem.support
        self.components = batch.Components(
            np.ascontiguousarray(problem.losses.T), np.ascontiguousarray(problem.probabilities.T)
        )
        self.contexts = np.array(contexts, dtype=np.float64)
        self.starts = np.array(starts, dtype=np.int64)
        self.rows = Rows(
            support.pair_start, support.next_start, support.next_state, np.empty(support.pairs),
            np.empty(support.triples),
        )  # fmt: skip
        self.workspace = new_evaluation_workspace(support.states)
        self.policies = np.full((batch.SLOTS, support.states), UNKNOWN)
        self.policy = np.full(support.states, -1) if policy is None else np.array(policy, dtype=np.int64)
        self.values = np.full((len(self.contexts), support.states + 1), np.nan)

    def solve(self, form: str = "python", *, first: int = 0) -> tuple[int, int]:
        done, component = getattr(batch.solve_batch, form)(
            self.components,
            self.contexts,
            first,
            1e-9,
            self.starts,
            self.rows,
            self.workspace,
            self.policies,
            self.policy,
            self.values,
        )
        return int(done), int(component)


def proper_starts(problem: LinearCSSP) -> NDArray[np.int64]:
    """[d, S] the best pairs under each component."""
    support = problem.support
    corners = np.eye(problem.context_size)
    policies = [solve(problem.at(corner)).policy for corner in corners]
    return np.array([[support.pair(s, int(a)) for s, a in enumerate(policy)] for policy in policies])


def test_a_batch_has_the_values_that_the_planner_finds_one_by_one() -> None:
    problem = random_cssp(6, actions=3, context_size=3, seed=8)
    contexts = np.random.default_rng(1).dirichlet(np.ones(3), 12)
    one, other = (Asked(problem, contexts, starts=proper_starts(problem)) for _ in range(2))
    assert one.solve() == (12, -1)
    for context, values in zip(contexts, one.values, strict=True):
        np.testing.assert_allclose(values, solve(problem.at(context)).values, rtol=2e-9)  # 1e-9 each
    assert other.solve("compiled") == (12, -1)
    assert other.values.tobytes() == one.values.tobytes()
    assert other.policy.tobytes() == one.policy.tobytes()
