"""Algorithm 1 line by line: what a kernel changes, by hand; whole runs are in tests/properties."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from goalbound.confidence import paper, scaled, sharp
from goalbound.jit.compile import Kernel
from goalbound.learners import loop as kernels
from goalbound.learners.doubling import plan_under_bound
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.state import CHANGE_LOG_SIZE
from goalbound.learners.visits import mark_changed
from goalbound.models import Step, Support
from goalbound.planning.kernels import value_iteration
from tests.reference.projection import projected
from tests.support.ridge import lr_cssp
from tests.support.ridge_kernels import Arguments, arguments_of

SUPPORT = Support.full(2, 2)
"""Pairs 0 and 1 of state 0, pairs 2 and 3 of state 1; each has places 0, 1 and 2 (the goal) of its own."""
CONTEXT = [0.25, 0.75]
GOAL = 2


def arguments(**settings: Any) -> Arguments:
    given = {"loss_floor": 0.5, "loss_bound": 1.0, "delta": 0.5} | settings
    return arguments_of(lr_cssp(SUPPORT, 2, **given), CONTEXT)


def test_an_episode_begins_with_its_context_the_last_plan_and_nothing_of_the_one_before() -> None:
    case = arguments()
    case.plan()
    case.observe(0, 1)
    case.observe(2, 0)
    case.learner.values[:2], case.learner.policy[:] = [3.0, 4.0], [1, 3]
    case.begin([0.5, 0.5])
    episode, progress = case.episode, case.episode.progress
    assert episode.context.tolist() == [0.5, 0.5]
    assert episode.iteration.values.tolist() == [3.0, 4.0, 0.0]
    assert episode.iteration.policy.tolist() == [1, 3]
    assert episode.iteration.dual.tolist() == [0.0] * 4
    assert episode.revision.tolist() == [-1] * 4
    assert episode.iteration.progress["residual"] == np.inf
    # two unknown steps opened intervals 2 and 3, this episode has the fourth
    assert (progress["number"], progress["interval"], progress["intervals"]) == (2, 4, 1)
    assert [int(progress[name]) for name in ("planned", "unknown_steps", "counted", "counted_norm")] == [0] * 4
    assert progress["interval_loss"] == 0.0


def test_with_intervals_the_first_thresholds_are_the_values_of_their_states() -> None:
    case = arguments(widths=sharp())
    case.learner.values[:2] = [3.0, 4.0]
    case.begin(CONTEXT)
    assert case.episode.iteration.dual.tolist() == [3.0, 3.0, 4.0, 4.0]


def test_a_step_brings_the_estimate_of_its_pair_up_to_date_and_no_other() -> None:
    case, rng = arguments(), np.random.default_rng(1)
    contexts, losses = rng.dirichlet(np.ones(2), 30), rng.random(30)
    following = rng.integers(3, size=30)
    for context, loss, to in zip(contexts, losses, following, strict=True):
        case.begin(context)
        case.observe(1, int(to), float(loss))
    gram = np.eye(2) + contexts.T @ contexts
    np.testing.assert_allclose(case.learner.sets.losses[1], np.linalg.solve(gram, contexts.T @ losses), rtol=1e-11)
    rows = np.array([np.linalg.solve(gram, contexts[following == state].sum(axis=0)) for state in range(2)])
    first, order = 3, case.learner.regression.seen_state[3:5]
    np.testing.assert_allclose(case.learner.sets.rows[first : first + 2], projected(rows, gram)[order], atol=1e-12)
    assert not case.learner.sets.losses[[0, 2, 3]].any()
    assert case.learner.revision.tolist() == [1, 31, 1, 1]  # once when all was set up


@pytest.mark.parametrize(("changes", "looked_at"), [(1, [1]), (CHANGE_LOG_SIZE + 1, [0, 1])])
def test_only_pairs_in_the_log_are_looked_at_again_unless_too_many_changes_were_missed(
    changes: int, looked_at: list[int]
) -> None:
    case = arguments()
    assert case.plan()
    case.learner.revision[0] += 1  # a change that the log does not have
    for _ in range(changes):
        mark_changed.python(case.learner, 1)
    before = case.episode.revision.copy()
    case.python(kernels.update_sets)(case.constants, case.learner, case.episode)
    assert np.flatnonzero(case.episode.revision != before).tolist() == looked_at
    assert np.isinf(case.episode.iteration.progress["residual"]) == (changes > CHANGE_LOG_SIZE)


def test_a_plan_without_data_pays_the_floor_once() -> None:
    case = arguments()
    assert case.plan()
    assert case.episode.iteration.values.tolist() == [0.5, 0.5, 0.0]
    assert case.episode.progress["planned"] == 1
    assert case.episode.progress["loss_bound"] == 1.0


def test_a_plan_that_is_cut_short_says_so() -> None:
    case = arguments(loss_floor=0.1, widths=scaled(paper(), by=1e-6))
    for pair in range(4):
        case.estimate(pair, {0: [0.9, 0.9], 1: [0.0, 0.0]}, [0.5, 0.5])
    assert not case.plan(1)
    assert case.plan()
    # 0.5 / (1 - 0.9), but for what the tiny radii give
    assert case.episode.iteration.values[:2] == pytest.approx([5.0, 5.0], rel=1e-3)


def test_a_step_with_an_unknown_pair_ends_its_interval() -> None:
    case = arguments()
    case.plan()
    assert not case.is_known(0)
    assert case.observe(0, 1, 0.75)
    progress = case.episode.progress
    assert (progress["interval"], progress["intervals"], progress["unknown_steps"]) == (2, 2, 1)
    assert (progress["planned"], progress["interval_loss"]) == (0, 0.0)


def test_a_step_with_a_known_pair_goes_on_with_its_plan() -> None:
    case = arguments()
    case.plan()
    case.make_known()
    assert not case.observe(0, 1, 0.75)
    assert not case.observe(2, 0, 0.5)
    progress = case.episode.progress
    assert (progress["interval"], progress["intervals"], progress["unknown_steps"]) == (1, 1, 0)
    assert (progress["planned"], progress["interval_loss"]) == (1, 1.25)
    assert case.learner.regression.visits.tolist() == [1, 0, 1, 0]  # learned from all the same


def test_the_goal_ends_the_interval_and_opens_no_other() -> None:
    case = arguments()
    case.plan()
    case.make_known()
    assert case.observe(0, GOAL)
    assert (case.episode.progress["planned"], case.episode.progress["intervals"]) == (0, 1)
    assert case.learner.totals["intervals"] == 1


def test_a_step_leaves_its_plan_to_the_next_episode() -> None:
    case = arguments()
    case.plan()
    case.episode.iteration.values[:2], case.episode.iteration.policy[:] = [0.75, 0.875], [1, 2]
    case.observe(1, GOAL)
    assert case.learner.values.tolist() == [0.75, 0.875, 0.0]
    assert case.learner.policy.tolist() == [1, 2]


def test_the_largest_value_is_shown_as_a_lower_bound() -> None:
    case = arguments()
    case.plan()
    case.episode.iteration.values[:2] = [2.0, 3.0]
    case.episode.iteration.progress["residual"] = 0.0
    rounding = 1e-12 * 3.0 / 0.5  # of a backup, in units of the floor
    shown = case.python(kernels.max_optimistic_value)(case.constants, case.episode)
    assert shown == pytest.approx(3.0 * (1.0 - rounding), rel=1e-15)
    case.episode.iteration.progress["residual"] = 0.0625  # an eighth of the floor
    shown = case.python(kernels.max_optimistic_value)(case.constants, case.episode)
    assert shown == pytest.approx(3.0 * (1.0 - 0.0625 / (0.0625 + 0.5)), rel=1e-9)


@pytest.mark.parametrize("settings", [{}, {"widths": scaled(paper(), by=0.01)}, {"loss_bound": None}], ids=str)
def test_both_forms_learn_the_same_bits(settings: dict[str, Any]) -> None:
    ended = []
    for form in ("python", "compiled"):
        case, rng = arguments(**settings), np.random.default_rng(8)
        for _ in range(12):
            run = {
                kernel: getattr(case.program[kernel], form)
                for kernel in (kernels.begin, plan_under_bound, kernels.observe)
            }
            run[kernels.begin](case.constants, case.learner, case.episode, rng.dirichlet(np.ones(2)))
            assert run[plan_under_bound](case.constants, case.learner, case.episode, case.workspace, 10**6)
            pair, loss = int(case.episode.iteration.policy[0]), float(rng.random())
            place = 3 * pair + int(rng.integers(3))
            run[kernels.observe](case.constants, case.learner, case.episode, case.scratch, pair, place, loss)
        ended.append({name: array.tobytes() for name, array in case.all_arrays().items()})
    assert ended[0] == ended[1]


RAGGED = Support.from_pairs([{0: [0, 1, 2]}, {0: [0, 1], 1: [2]}])
RULES = [paper, sharp]
Form = Callable[[Kernel], Callable[..., Any]]
FORMS: list[Form] = [lambda kernel: kernel.python, lambda kernel: kernel.compiled]


def taught(widths: Callable[[], Any]) -> Arguments:
    learner = LRCSSP(RAGGED, 2, loss_floor=0.5, widths=widths())
    rng = np.random.default_rng(4)
    for _ in range(40):
        pair = int(rng.integers(3))
        state, action = ((0, 0), (1, 0), (1, 1))[pair]
        following = int(rng.choice(RAGGED.next_state[RAGGED.row(pair)]))
        learner.learn(rng.dirichlet(np.ones(2)), Step(state, action, 0.5, following))
    return arguments_of(learner, CONTEXT)


@pytest.mark.parametrize("widths", RULES)
@pytest.mark.parametrize("form", FORMS)
def test_the_sets_of_all_pairs_are_those_of_each(form: Form, widths: Callable[[], Any]) -> None:
    one, other = taught(widths), taught(widths)
    one.look_at(0, 1, 2)
    form(other.program[kernels.all_pair_sets])(other.constants, other.learner, other.episode)
    for mine, theirs in zip(one.episode.sets, other.episode.sets, strict=True):
        assert np.asarray(mine).tobytes() == np.asarray(theirs).tobytes()
    assert one.episode.known_width.tobytes() == other.episode.known_width.tobytes()


@pytest.mark.parametrize("form", FORMS)
def test_the_pairs_that_are_known_are_those_whose_test_says_so(form: Form) -> None:
    case = taught(sharp)
    case.look_at(0, 1, 2)
    case.episode.progress["loss_bound"] = 1.0
    case.episode.known_width[1] = case.episode.norm[1] = 0.0
    expected = [case.is_known(pair) for pair in range(3)]
    found = np.zeros(3, dtype=np.bool_)
    form(case.program[kernels.known_pairs])(case.constants, case.learner, case.episode, found)
    assert found.tolist() == expected == [False, True, False]


@pytest.mark.parametrize("widths", RULES)
@pytest.mark.parametrize("form", FORMS)
def test_the_optimistic_rows_of_all_pairs_are_those_of_each(form: Form, widths: Callable[[], Any]) -> None:
    case = taught(widths)
    case.look_at(0, 1, 2)
    sets, iteration = case.episode.sets, case.episode.iteration
    iteration.values[:] = [3.0, 1.5, 0.0]
    expected, found = np.zeros(RAGGED.triples), np.zeros(RAGGED.triples)
    for pair in range(3):
        row = expected[RAGGED.row(pair)]
        value_iteration.optimistic_row.python(sets, pair, iteration.values, iteration.dual[pair], row)
    form(value_iteration.optimistic_rows)(sets, iteration, found)
    assert found.tobytes() == expected.tobytes()
    assert found.any()
