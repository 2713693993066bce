"""Where the learner becomes something simpler: one component is counting, corners are separate problems."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.confidence.regression import RENEW_EVERY
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.models import LinearCSSP
from tests.reference.optimism import is_stochastic
from tests.support.driving import MODES, draw_step, small_problem
from tests.support.ridge import lr_cssp
from tests.support.strategies import examples
from tests.support.taught import data, rho, rows_of, supports, teach

NARROW: dict[str, Any] = {**MODES["narrow"], "tolerance": 1e-9}


@examples(20)
@given(drawn=st.data())
def test_with_one_component_everything_is_counting(drawn: st.DataObject) -> None:
    """d = 1, so the context is [1.0] always. With n visits of a pair: the Gram matrix is lambda + n, the sums count
    (both to the bit; those of losses, which are compensated, to the last one), estimates are sums / (lambda + n),
    which is a sub-distribution as it is, and the widths are radius / sqrt(lambda + n). Where the goal cannot follow,
    the next states share the missing lambda / (lambda + n)."""
    support = drawn.draw(supports)
    seen = drawn.draw(data(support, 1))
    learner = teach(lr_cssp(support, 1, **NARROW), seen)
    visits, rows = np.zeros(support.pairs), np.zeros(support.triples)
    paid_of: list[list[float]] = [[] for _ in range(support.pairs)]
    for _, step in seen:
        pair = support.pair(step.state, step.action)
        visits[pair] += 1.0
        paid_of[pair].append(step.loss)
        rows[support.row(pair).start + support.next_state[support.row(pair)].tolist().index(step.next_state)] += 1.0
    np.testing.assert_array_equal(learner.statistics.gram[:, 0, 0], 1.0 + visits)
    losses = np.array([math.fsum(paid) for paid in paid_of])
    np.testing.assert_allclose(learner.statistics.loss_sums[:, 0], losses, rtol=2.0**-52)
    np.testing.assert_array_equal(learner.statistics.next_sums[:, 0], rows)
    np.testing.assert_allclose(learner.statistics.inverse_gram[:, 0, 0], 1.0 / (1.0 + visits), rtol=1e-13)
    np.testing.assert_allclose(learner.estimate.losses[:, 0], losses / (1.0 + visits), rtol=1e-13)
    plan, places = learner.plan([1.0]), rows_of(support)
    triples = max(support.pairs, sum(place.stop - place.start for place in places))
    for pair, place in enumerate(places):
        estimate = rows[place] / (1.0 + visits[pair])
        farthest = float(np.linalg.norm(estimate))  # straight to the goal
        if is_stochastic(support, pair):
            estimate += 1.0 / (1.0 + visits[pair]) / len(estimate)
            best = plan.values[support.next_state[place]]
            farthest = float(np.linalg.norm(estimate - np.eye(len(estimate))[int(best.argmin())]))
            if (best == best.min()).sum() > 1:  # any of these rows is as good
                farthest = float(np.linalg.norm(estimate - plan.rows[place]))
        np.testing.assert_allclose(learner.estimate.rows[place, 0], estimate, rtol=1e-13)
        width = 0.01 / math.sqrt(1.0 + visits[pair])
        loss = losses[pair] / (1.0 + visits[pair]) - rho(learner, pair, support.pairs) * width
        assert plan.losses[pair] == pytest.approx(max(0.1, loss), rel=1e-12)
        moved = float(np.linalg.norm(estimate - plan.rows[place]))
        reach = math.sqrt(place.stop - place.start) * rho(learner, pair, triples) * width
        assert moved == pytest.approx(min(reach, farthest), rel=1e-9, abs=1e-12)


class OneHot(NamedTuple):
    """A learner of d components that met corners only, and d learners of one component, each of which met what
    happened under its own."""

    joint: LRCSSP
    single: list[LRCSSP]


def one_hot(problem: LinearCSSP, episodes: int, settings: dict[str, Any]) -> Iterator[tuple[OneHot, int, int]]:
    """Plays what the joint learner chooses; before each step gives the learners, the component and the action."""
    size, support = problem.context_size, problem.support
    learners = OneHot(
        lr_cssp(support, size, **settings), [lr_cssp(support, 1, **settings) for _ in range(size)]
    )  # fmt: skip
    rng = np.random.default_rng(7)
    for _ in range(episodes):
        component, state = int(rng.integers(size)), int(rng.integers(support.states))
        context = np.eye(size)[component]
        joint, single = learners.joint.begin(context), learners.single[component].begin([1.0])
        while state != support.states:
            action = joint.act(state)
            yield learners, component, action
            single.act(state)
            single._action = action  # it learns from the same step, whatever it would have played
            step = draw_step(problem, context, state, action, rng.random())
            joint.observe(step)
            single.observe(step)
            state = step.next_state


@pytest.mark.parametrize("size", [2, 3])
def test_corners_are_separate_problems_to_every_estimate(size: int) -> None:
    """Contexts that are corners: the Gram matrices are diagonal, and what pair i says of component j is what the
    learner says that saw the episodes of j only. Equal to the bit: Gram entries, their inverses, sums, estimates (no
    projection happens: sums / (lambda + n) is a sub-distribution), and so w, the width before the radius.

    Not equal: the radii, in which d and *all* visits of the pair stand. Under corner j the optimistic loss is
    L_j - (sqrt(d log(8 N (1 + tau) / delta)) + 1) w with the joint d and tau, so the joint learner is the more
    hopeful one. (Inverses are equal up to ``RENEW_EVERY`` visits of a pair, when they are computed anew.)
    """
    problem = small_problem(5, context_size=size)
    learners = [learners for learners, _, _ in one_hot(problem, 60, NARROW)][-1]
    joint, support = learners.joint, problem.support
    off = ~np.eye(size, dtype=np.bool_)
    assert (joint.statistics.gram[:, off] == 0.0).all()
    assert (joint.statistics.inverse_gram[:, off] == 0.0).all()
    assert joint.statistics.visits.max() < RENEW_EVERY
    for j, single in enumerate(learners.single):
        statistics = single.statistics
        np.testing.assert_array_equal(joint.statistics.gram[:, j, j], statistics.gram[:, 0, 0])
        np.testing.assert_array_equal(joint.statistics.inverse_gram[:, j, j], statistics.inverse_gram[:, 0, 0])
        np.testing.assert_array_equal(joint.statistics.next_sums[:, j], statistics.next_sums[:, 0])
        np.testing.assert_array_equal(joint.estimate.losses[:, j], single.estimate.losses[:, 0])
        np.testing.assert_array_equal(joint.estimate.rows[:, j], single.estimate.rows[:, 0])
        plan, alone = joint.plan(np.eye(size)[j]), single.plan([1.0])
        for pair in range(support.pairs):
            width = 0.01 * math.sqrt(statistics.inverse_gram[pair, 0, 0])
            for learner, hoped in ((joint, plan.losses), (single, alone.losses)):
                loss = single.estimate.losses[pair, 0] - rho(learner, pair, support.pairs) * width
                assert hoped[pair] == pytest.approx(max(0.1, loss), rel=1e-12)
        assert (plan.losses <= alone.losses).all()
        assert (plan.values <= alone.upper).all()
        assert (plan.values[:-1] < alone.values[:-1]).any()
    np.testing.assert_array_equal(
        joint.statistics.visits, np.sum([single.statistics.visits for single in learners.single], axis=0)
    )
