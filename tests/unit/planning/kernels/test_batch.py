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


def test_a_mixture_of_ones_is_one() -> None:
    context = np.array([0.2, 0.4, 0.3, 0.1])
    out = np.empty(1)
    assert sum(context.tolist()) > 1.0
    batch.mix.python(np.ones((4, 1)), context, out)
    assert out[0] == 1.0


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


@given(drawn.problems(proper=True, loss=st.sampled_from([0.1, 0.25, 0.5, 1.0])))
@examples(60)
def test_policy_iteration_ends_at_values_that_the_certificate_holds_close(rows: Rows) -> None:
    policy = drawn.first_pairs(rows)
    states = len(policy)
    workspace = new_evaluation_workspace(states)
    settled = batch.value_iteration.python(rows, 1e-9, workspace, policy)
    least_x, least_y = naive.bounds(rows, workspace.values, policy.tolist())
    _, x, y = batch.improve_and_bound.python(rows, workspace.values, policy.copy())
    assert x >= least_x
    assert y >= least_y
    assert settled == (x + y <= 1e-9)
    if not settled:  # only where a step is one in 10^5 of the value
        assert workspace.values.max() > 1e5 * rows.losses.min()


def test_values_too_small_for_floats_are_not_certified() -> None:
    # v(0) = 1e-320 + 0.3e-320 is rounded to a multiple of 5e-324, which is one part in 2000.
    rows = drawn.rows_from([[(1e-320, [(1, 0.3), (2, 0.7)])], [(1e-320, [(2, 1.0)])]])
    workspace = new_evaluation_workspace(2)
    assert not batch.value_iteration.python(rows, 1e-6, workspace, np.array([0, 1]))


def test_a_policy_that_never_ends_is_not_settled_on() -> None:
    rows = drawn.rows_from([[(0.5, [(0, 1.0)]), (0.5, [(1, 1.0)])]])
    workspace = new_evaluation_workspace(1)
    assert not batch.value_iteration.python(rows, 1e-9, workspace, np.array([0]))
    assert batch.value_iteration.python(rows, 1e-9, workspace, np.array([1]))


def test_of_pairs_that_tie_up_to_rounding_the_lowest_is_taken() -> None:
    # 0.1 + 0.2 against 0.3: the second pair is better by one rounding, and not taken for it.
    rows = drawn.rows_from([[(0.1, [(1, 1.0)]), (0.3, [(2, 1.0)])], [(0.2, [(2, 1.0)])]])
    policy = np.array([1, 2])
    values = np.array([0.3, 0.2, 0.0])
    assert 0.1 + 0.2 > 0.3
    switched, x, _ = batch.improve_and_bound.python(rows, values, policy)
    assert (switched, policy.tolist()) == (1, [0, 2])
    assert 0.0 < x < 1e-14


TWO_DRUGS = LinearCSSP.dense([[[0.5, 0.2]], [[0.5, 0.2]]], [[[[0, 1.0], [0.1, 0.9]]], [[[0, 1.0], [0.9, 0.1]]]])
"""A drug that always works, and one that works in 0.9 of all cases under one component, 0.1 under the other."""
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


def test_a_start_that_is_not_known_is_asked_for_and_the_batch_goes_on_from_there() -> None:
    asked = Asked(TWO_DRUGS, [[0.2, 0.8], [1.0, 0.0]], starts=[[UNKNOWN], [UNKNOWN]])
    assert asked.solve() == (0, 1)  # the second component is the heaviest
    asked.starts[1] = 0
    assert asked.solve() == (2, -1)  # the second context starts from the policy of the first
    # 0.5 for the sure drug; 0.2 / 0.9 for the other one.
    np.testing.assert_allclose(asked.values, [[0.5, 0.0], [0.2 / 0.9, 0.0]], rtol=1e-15)
    assert asked.policy.tolist() == [1]


def test_contexts_before_the_first_are_left_alone() -> None:
    asked = Asked(TWO_DRUGS, [[0.2, 0.8], [1.0, 0.0]], starts=[[0], [0]])
    assert asked.solve(first=1) == (2, -1)
    assert np.isnan(asked.values[0]).all()
    np.testing.assert_allclose(asked.values[1], [0.2 / 0.9, 0.0], rtol=1e-15)


def test_where_no_component_has_a_start_the_context_is_left_to_others() -> None:
    # Under the second component nothing ends, so it has no start; the first component's is asked for only where it is
    # the heavier one.
    problem = LinearCSSP.dense([[[0.5]], [[0.5]]], [[[[0.0, 1.0]]], [[[1.0, 0.0]]]])
    asked = Asked(problem, [[0.75, 0.25], [0.25, 0.75]], starts=[[0], [NONE]])
    assert asked.solve() == (2, -1)  # 0.5 / 0.75, then 0.5 / 0.25 by the policy of the first
    np.testing.assert_allclose(asked.values, [[0.5 / 0.75, 0.0], [2.0, 0.0]], rtol=1e-15)
    alone = Asked(problem, [[0.25, 0.75]], starts=[[0], [NONE]])
    assert alone.solve() == (0, -1)
    assert np.isnan(alone.values).all()


def test_a_policy_that_never_arrives_gives_way_to_the_start_of_the_heaviest_component() -> None:
    stuck = LinearCSSP.dense([[[0.1, 0.5]]], [[[[1.0, 0.0], [0.0, 1.0]]]])
    asked = Asked(stuck, [[1.0]], starts=[[1]], policy=[0])
    assert asked.solve() == (1, -1)
    assert asked.values.tolist() == [[0.5, 0.0]]


def test_contexts_nearby_share_a_slot_and_the_policies_of_others_are_kept() -> None:
    near = [batch.slot_of.python(np.array([one, 1.0 - one])) for one in (0.51, 0.52, 0.55)]
    assert len(set(near)) == 1
    slots = [batch.slot_of.python(np.array([one / 16, 1.0 - one / 16])) for one in range(17)]
    assert len(set(slots)) == 17
    assert max(slots) < batch.SLOTS
    asked = Asked(TWO_DRUGS, [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], starts=proper_starts(TWO_DRUGS))
    assert asked.solve() == (3, -1)
    kept = asked.policies[asked.policies[:, 0] != UNKNOWN]
    assert sorted(kept.ravel().tolist()) == [0, 1]  # one drug under each component


def test_the_values_of_a_context_do_not_depend_on_the_policies_that_are_kept() -> None:
    contexts = np.random.default_rng(0).dirichlet(np.ones(2), 50)
    asked = Asked(TWO_DRUGS, contexts, starts=proper_starts(TWO_DRUGS))
    asked.solve()
    again = Asked(TWO_DRUGS, contexts[::-1], starts=proper_starts(TWO_DRUGS))
    again.solve()
    assert again.values[::-1].tobytes() == asked.values.tobytes()
