"""Algorithm 1 line by line: what a kernel changes, by hand; whole runs are in tests/properties."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from goalbound.estimation import paper, scaled, sharp
from goalbound.jit.records import named_arrays
from goalbound.kernels import algorithm as kernels
from goalbound.kernels.pending import UNIT
from goalbound.kernels.state import CHANGE_LOG_SIZE
from goalbound.learners.exploration import greedy, rmax, sampled
from goalbound.learners.prior import PriorKnowledge
from goalbound.models import Support
from tests.reference.projection import projected
from tests.support.ridge import exploring, lr_cssp
from tests.support.ridge_kernels import Arguments, arguments_of
from tests.support.uniform_numbers import Numbers

SUPPORT = Support.full(2, 2)
"""Pairs 0 and 1 of state 0, pairs 2 and 3 of state 1; each has places 0, 1 and 2 (the goal) of its own."""
CONTEXT = [0.25, 0.75]
GOAL = 2


def arguments(**settings: Any) -> Arguments:
    given = {"loss_floor": 0.5, "loss_bound": 1.0, "delta": 0.5} | settings
    return arguments_of(lr_cssp(SUPPORT, 2, **given), CONTEXT)


def doubling(**settings: Any) -> Arguments:
    """A learner that seeks its bound, from B = 1 on, in its first interval."""
    case = arguments(loss_bound=None, **settings)
    case.episode.progress["loss_bound"] = 1.0
    return case


def explorer(exploration: Any, **settings: Any) -> Arguments:
    return arguments_of(exploring(exploration, SUPPORT, 2, **settings), CONTEXT)


def observe(case: Arguments, pair: int, to: int, loss: float = 0.5) -> bool:
    return bool(
        kernels.observe.python(case.constants, case.learner, case.episode, case.scratch, pair, 3 * pair + to, loss)
    )


def make_known(case: Arguments) -> None:
    """Under the context of the episode nothing is uncertain."""
    case.episode.known_width[:] = 0.0
    case.episode.norm[:] = 0.0


def plan(case: Arguments, sweeps: int = 10**6) -> bool:
    return bool(kernels.plan.python(case.constants, case.learner, case.episode, case.workspace, sweeps))


def is_known(case: Arguments, pair: int) -> bool:
    return bool(kernels.is_known.python(case.constants, case.episode, pair))


def all_arrays(case: Arguments, *, without: tuple[str, ...] = ()) -> dict[str, NDArray[Any]]:
    return {
        name: array.copy() for name, array in named_arrays("learner", case.learner) if not name.endswith(without)
    }  # fmt: skip


def test_an_episode_begins_with_its_context_the_last_plan_and_nothing_of_the_one_before() -> None:
    case = arguments()
    plan(case)
    observe(case, 0, 1)
    observe(case, 2, 0)
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


def test_the_radii_of_a_pair_are_those_of_the_paper() -> None:
    case = arguments(delta=0.1)
    case.learner.regression.visits[1] = 7
    kernels.set_radii.python(case.constants, case.learner, 1, 2, 0.0, 0.0)
    # d = 2, lambda = 1, 1 + 7 / 1 = 8; N = 4 pairs, 8 rows that do not lead to the goal, 2 of them of this pair
    rho = math.sqrt(2 * math.log(8 * 8 / 0.1 * 8)) + 1.0
    assert case.learner.loss_radius[1] == pytest.approx(math.sqrt(2 * math.log(8 * 4 / 0.1 * 8)) + 1.0, rel=1e-14)
    assert case.learner.next_radius[1] == pytest.approx(math.sqrt(2) * rho, rel=1e-14)
    assert case.learner.known_width[1] == pytest.approx(2 * rho, rel=1e-14)
    # Outcomes that are missing, worth a norm of 3 / 4, and an inexact loss of 1 / 8 make all of them larger.
    case.learner.pending.norms[1] = round(0.75 / UNIT)
    kernels.set_radii.python(case.constants, case.learner, 1, 2, 0.125, 0.0)
    assert case.learner.loss_radius[1] == pytest.approx(
        math.sqrt(2 * math.log(8 * 4 / 0.1 * 8)) + 1.0 + 0.75 + 0.125, rel=1e-14
    )
    assert case.learner.next_radius[1] == pytest.approx(math.sqrt(2) * rho + 0.75, rel=1e-14)
    assert case.learner.known_width[1] == pytest.approx(2 * rho + math.sqrt(2) * 0.75 + 0.125, rel=1e-14)


def test_a_visit_returns_the_norm_of_its_context_before_and_adds_up_the_log_determinant() -> None:
    case, contexts = arguments(), np.random.default_rng(3).dirichlet(np.ones(2), 12)
    gram = np.eye(2)
    for context in contexts:
        norm = kernels.count_visit.python(case.constants, case.learner, case.scratch, 2, context)
        assert norm == pytest.approx(math.sqrt(context @ np.linalg.solve(gram, context)), rel=1e-12)
        gram += np.outer(context, context)
    np.testing.assert_allclose(case.learner.regression.gram[2], gram, rtol=1e-14)
    exact = float(np.linalg.slogdet(gram)[1])
    assert exact <= case.learner.log_det[2] <= exact + 1e-9
    assert case.learner.regression.visits.tolist() == [0, 0, 12, 0]


def test_a_step_brings_the_estimate_of_its_pair_up_to_date_and_no_other() -> None:
    case, rng = arguments(), np.random.default_rng(1)
    contexts, losses = rng.dirichlet(np.ones(2), 30), rng.random(30)
    following = rng.integers(3, size=30)
    for context, loss, to in zip(contexts, losses, following, strict=True):
        case.begin(context)
        observe(case, 1, int(to), float(loss))
    gram = np.eye(2) + contexts.T @ contexts
    np.testing.assert_allclose(case.learner.losses[1], np.linalg.solve(gram, contexts.T @ losses), rtol=1e-11)
    rows = np.array([np.linalg.solve(gram, contexts[following == state].sum(axis=0)) for state in range(2)])
    first, order = 3, case.learner.regression.seen_state[3:5]
    np.testing.assert_allclose(case.learner.rows[first : first + 2], projected(rows, gram)[order], atol=1e-12)
    assert not case.learner.losses[[0, 2, 3]].any()
    assert case.learner.revision.tolist() == [1, 31, 1, 1]  # once when all was set up


def test_the_log_of_changes_is_a_ring() -> None:
    case = arguments()
    start = int(case.learner.totals["changes"])
    for pair in [3] * CHANGE_LOG_SIZE + [2, 1]:
        kernels.mark_changed.python(case.learner, pair)
    assert case.learner.totals["changes"] == start + CHANGE_LOG_SIZE + 2
    ring = np.roll(case.learner.change_log, -(start % CHANGE_LOG_SIZE))
    assert ring[:3].tolist() == [2, 1, 3]


@pytest.mark.parametrize(("changes", "looked_at"), [(1, [1]), (CHANGE_LOG_SIZE + 1, [0, 1])])
def test_only_pairs_in_the_log_are_looked_at_again_unless_too_many_changes_were_missed(
    changes: int, looked_at: list[int]
) -> None:
    case = arguments()
    assert plan(case)
    case.learner.revision[0] += 1  # a change that the log does not have
    for _ in range(changes):
        kernels.mark_changed.python(case.learner, 1)
    before = case.episode.revision.copy()
    kernels.update_sets.python(case.constants, case.learner, case.episode)
    assert np.flatnonzero(case.episode.revision != before).tolist() == looked_at
    assert np.isinf(case.episode.iteration.progress["residual"]) == (changes > CHANGE_LOG_SIZE)


def test_a_plan_without_data_pays_the_floor_once() -> None:
    case = arguments()
    assert plan(case)
    assert case.episode.iteration.values.tolist() == [0.5, 0.5, 0.0]
    assert case.episode.progress["planned"] == 1
    assert case.episode.progress["loss_bound"] == 1.0


def test_a_plan_that_is_cut_short_says_so() -> None:
    case = arguments(loss_floor=0.1, widths=scaled(paper(), by=1e-6))
    for pair in range(4):
        case.estimate(pair, {0: [0.9, 0.9], 1: [0.0, 0.0]}, [0.5, 0.5])
    assert not plan(case, 1)
    assert plan(case)
    # 0.5 / (1 - 0.9), but for what the tiny radii give
    assert case.episode.iteration.values[:2] == pytest.approx([5.0, 5.0], rel=1e-3)


@pytest.mark.parametrize(
    ("widths", "norm", "known"),
    [
        (0.05, 0.0, False),  # 10 * 1 * 0.05 = 0.5 is the floor: the test is strict
        (np.nextafter(0.05, 0.0), 0.0, True),
        (0.0, 0.03467, True),  # 10 sqrt(log(4 * 1 / 0.5)) = 14.4203, and 0.5 / 14.4203 = 0.034673
        (0.0, 0.03468, False),
    ],
)
def test_a_pair_is_known_by_both_sides_of_the_inequality(widths: float, norm: float, known: bool) -> None:
    case = arguments()
    plan(case)
    case.episode.known_width[2], case.episode.norm[2] = widths, norm
    assert is_known(case, 2) == known


def test_what_was_known_may_be_unknown_in_a_later_interval_or_under_a_larger_bound() -> None:
    case = arguments()
    plan(case)
    make_known(case)
    case.episode.norm[2] = 0.03
    assert is_known(case, 2)  # 14.42 * 0.03 = 0.433
    case.episode.progress["interval"] = 10
    assert not is_known(case, 2)  # 10 sqrt(log(80)) = 20.93; * 0.03 = 0.628
    case.episode.progress["interval"], case.episode.progress["loss_bound"] = 1, 2.0
    assert not is_known(case, 2)


def test_who_has_no_confidence_sets_knows_nothing_but_what_was_declared() -> None:
    for exploration in (greedy(), sampled(spread=0.5)):
        case = explorer(exploration)
        make_known(case)
        assert not is_known(case, 0)
    case = explorer(rmax(threshold=0.25))
    case.episode.known_width[:2] = [0.25, 0.2501]
    assert [is_known(case, 0), is_known(case, 1)] == [True, False]
    known = PriorKnowledge.nothing(SUPPORT, 2).with_losses({(0, 0): 0.5, (0, 1): 0.5}).with_rows({(0, 0): [0, 0, 1.0]})
    case = arguments(prior=known)
    plan(case)
    case.episode.known_width[:2] = 99.0
    assert [is_known(case, 0), is_known(case, 1)] == [True, False]


def test_a_step_with_an_unknown_pair_ends_its_interval() -> None:
    case = arguments()
    plan(case)
    assert not is_known(case, 0)
    assert observe(case, 0, 1, 0.75)
    progress = case.episode.progress
    assert (progress["interval"], progress["intervals"], progress["unknown_steps"]) == (2, 2, 1)
    assert (progress["planned"], progress["interval_loss"]) == (0, 0.0)


def test_a_step_with_a_known_pair_goes_on_with_its_plan() -> None:
    case = arguments()
    plan(case)
    make_known(case)
    assert not observe(case, 0, 1, 0.75)
    assert not observe(case, 2, 0, 0.5)
    progress = case.episode.progress
    assert (progress["interval"], progress["intervals"], progress["unknown_steps"]) == (1, 1, 0)
    assert (progress["planned"], progress["interval_loss"]) == (1, 1.25)
    assert case.learner.regression.visits.tolist() == [1, 0, 1, 0]  # learned from all the same


def test_the_goal_ends_the_interval_and_opens_no_other() -> None:
    case = arguments()
    plan(case)
    make_known(case)
    assert observe(case, 0, GOAL)
    assert (case.episode.progress["planned"], case.episode.progress["intervals"]) == (0, 1)
    assert case.learner.totals["intervals"] == 1


def test_a_step_leaves_its_plan_to_the_next_episode() -> None:
    case = arguments()
    plan(case)
    case.episode.iteration.values[:2], case.episode.iteration.policy[:] = [0.75, 0.875], [1, 2]
    observe(case, 1, GOAL)
    assert case.learner.values.tolist() == [0.75, 0.875, 0.0]
    assert case.learner.policy.tolist() == [1, 2]


def test_with_a_replan_factor_an_unknown_step_counts_an_interval_but_keeps_the_plan() -> None:
    # Under one context of norm^2 1/16 + 9/16 = 5/8 the determinant of I + n c c^T is 1 + 5 n / 8: it has doubled at
    # the second visit.
    case = arguments(replan_factor=2.0)
    plan(case)
    assert not observe(case, 0, 1)
    progress = case.episode.progress
    assert (progress["interval"], progress["intervals"], progress["planned"]) == (2, 1, 1)
    assert observe(case, 0, 1)
    assert (progress["interval"], progress["intervals"], progress["planned"]) == (3, 2, 0)
    assert progress["unknown_steps"] == 2


def test_rmax_does_not_go_round_for_ever_with_pairs_that_it_knows() -> None:
    case = explorer(rmax(threshold=99.0), replan_factor=1.0)
    plan(case)
    assert is_known(case, 0)
    assert not observe(case, 0, 1)  # 1 + 5 / 8 < 2
    assert observe(case, 0, 1)


def test_an_interval_that_loses_too_much_doubles_the_bound() -> None:
    # 48 B log(4 m / delta) = 48 log(8) = 99.8132 for B = 1, m = 1, delta = 1/2
    assert 48.0 * math.log(8.0) == pytest.approx(99.8132, abs=1e-4)
    case = doubling()
    make_known(case)
    case.episode.progress["interval_loss"] = 98.8131
    assert not observe(case, 0, 1, 1.0)
    assert (case.learner.totals["loss_bound"], case.learner.totals["doublings"]) == (1.0, 0)
    case.episode.progress["interval_loss"] = 98.8133
    assert observe(case, 0, 1, 1.0)
    assert (case.learner.totals["loss_bound"], case.learner.totals["doublings"]) == (2.0, 1)
    assert case.episode.progress["interval"] == 2


def test_a_later_interval_may_lose_more_before_the_bound_doubles() -> None:
    case = doubling()
    make_known(case)
    case.episode.progress["interval"] = 2  # 48 log(16) = 133.084
    case.episode.progress["interval_loss"] = 132.0
    assert not observe(case, 0, 1, 1.0)
    assert observe(case, 0, 1, 1.0)


def test_a_bound_that_is_given_is_not_doubled() -> None:
    case = arguments()
    plan(case)
    make_known(case)
    case.episode.progress["interval_loss"] = 1e6
    assert not observe(case, 0, 1, 1.0)
    assert case.learner.totals["loss_bound"] == 1.0


def test_an_episode_whose_bound_is_behind_gives_up_its_interval_and_doubles_nothing() -> None:
    case = doubling()
    make_known(case)
    case.learner.totals["loss_bound"] = 4.0  # another episode has gone on
    case.episode.progress["interval_loss"] = 100.0
    assert observe(case, 0, 1, 1.0)
    assert (case.learner.totals["loss_bound"], case.learner.totals["doublings"]) == (4.0, 0)


def test_a_bound_that_a_plan_has_doubled_is_the_learners_from_its_first_step_on() -> None:
    case = doubling()
    make_known(case)
    case.episode.progress["loss_bound"] = 8.0
    observe(case, 0, 1)
    assert (case.learner.totals["loss_bound"], case.learner.totals["doublings"]) == (8.0, 1)


def rare_exits(case: Arguments) -> Arguments:
    """Every pair leads to the goal with 0.1 for a loss of 0.5, as far as is known: all values are 5."""
    for pair in range(4):
        case.estimate(pair, {0: [0.9, 0.9], 1: [0.0, 0.0]}, [0.5, 0.5])
        case.learner.regression.visits[pair] = 9
    case.learner.loss_radius[:] = case.learner.next_radius[:] = 0.0
    return case


def plan_with_doubling(case: Arguments) -> bool:
    return bool(kernels.plan_with_doubling.python(case.constants, case.learner, case.episode, case.workspace, 10**6))


def test_a_plan_above_the_bound_is_made_under_a_bound_that_is_not_below_it() -> None:
    case = rare_exits(doubling())
    assert plan_with_doubling(case)
    assert case.episode.iteration.values[:2] == pytest.approx([5.0, 5.0], rel=1e-2)
    assert case.episode.progress["loss_bound"] == 8.0  # 1, 2, 4, 8
    # The learner's own is doubled by the first step that is made with the plan; the data stays.
    assert (case.learner.totals["loss_bound"], case.learner.totals["doublings"]) == (1.0, 0)
    assert case.learner.regression.visits.tolist() == [9] * 4


def test_a_plan_above_the_bound_forgets_all_where_that_is_asked_for_and_is_made_again() -> None:
    case = rare_exits(doubling(forget=True))
    assert plan_with_doubling(case)
    totals = case.learner.totals
    assert (totals["loss_bound"], totals["doublings"], totals["restarts"]) == (8.0, 1, 1)
    assert case.learner.regression.visits.tolist() == [0] * 4
    assert case.episode.iteration.values[:2] == pytest.approx([0.5, 0.5])  # without data: the floor


def test_forgotten_data_leaves_a_learner_like_new_with_a_smaller_share_of_the_failure() -> None:
    for settings in ({}, {"widths": sharp()}):
        fresh, case = doubling(forget=True, **settings), doubling(forget=True, **settings)
        rng = np.random.default_rng(2)
        for _ in range(30):
            case.begin(rng.dirichlet(np.ones(2)))
            plan(case)
            observe(case, int(rng.integers(4)), int(rng.integers(3)), float(rng.random()))
        kernels.count_pending.python(case.constants, case.learner, case.episode, case.scratch, 0)
        revision, intervals = case.learner.revision.copy(), int(case.learner.totals["intervals"])
        kernels.restart.python(case.constants, case.learner)
        # of restarts, r = 1 has the share 6 / (pi^2 (r + 1)^2)
        assert case.learner.totals["restart_log"] == pytest.approx(-math.log(6 / (math.pi**2 * 4)), rel=1e-14)
        fresh.learner.totals["restarts"] = 1
        kernels.reset_data.python(fresh.constants, fresh.learner)
        kept = ("revision", "change_log", "values", "policy")
        mine, theirs = all_arrays(case, without=kept), all_arrays(fresh, without=kept)
        for name in mine:
            if ".totals." not in name and ".linearity." not in name and not name.endswith("seen_state"):
                np.testing.assert_array_equal(mine[name], theirs[name], err_msg=name)
        assert (case.learner.revision == revision + 1).all()  # everyone looks again
        assert case.learner.totals["intervals"] == intervals > 30


def test_a_step_whose_data_was_forgotten_on_the_way_is_not_learned_from() -> None:
    case = doubling(forget=True)
    make_known(case)
    case.episode.progress["interval_loss"] = 100.0
    assert observe(case, 0, 1, 1.0)  # it doubles the bound, which forgets all data, itself included
    assert case.learner.totals["restarts"] == 1
    assert case.learner.regression.visits.sum() == 0


def test_a_visit_without_its_outcome_counts_as_one_that_may_have_been_anything() -> None:
    case = arguments()
    plan(case)
    before = float(case.learner.loss_radius[0])
    kernels.keep_pending.python(case.constants, case.learner, case.episode, case.scratch, 0)
    norm = math.sqrt(0.625)  # |c| in V = I, squared: 1/16 + 9/16
    assert case.learner.regression.visits[0] == case.learner.pending.visits[0] == 1
    assert case.learner.pending.norms[0] * UNIT == pytest.approx(norm, abs=2 * UNIT)
    # log(1 + 1 / 1) more under the root, and the norm
    grown = math.sqrt(2 * math.log(8 * 4 / 0.5 * 2)) + 1.0
    assert case.learner.loss_radius[0] == pytest.approx(grown + norm, rel=1e-9)
    assert case.learner.loss_radius[0] > before
    # when its outcome comes after all, nothing is missing and nothing is counted twice
    observe(case, 0, 1, 0.5)
    assert case.learner.regression.visits[0] == 1
    assert case.learner.pending.norms[0] == case.learner.pending.visits[0] == 0
    assert case.learner.loss_radius[0] == pytest.approx(grown, rel=1e-14)


def test_a_learner_plays_any_pair_as_often_as_its_episode_asks() -> None:
    case = explorer(greedy(explore=0.5, fade=1.0))
    case.episode.iteration.policy[:] = [0, 3]

    def played(*numbers: float) -> tuple[int, int]:
        stream = Numbers(*numbers)
        pair = kernels.select_pair.python(case.constants, case.episode, 1, stream)
        return int(pair), len(stream.left)

    assert played(0.4999, 0.25) == (2, 0)  # the first half of [0, 1) is the first of two pairs
    assert played(0.4999, 0.75) == (3, 0)
    assert played(0.5, 0.25) == (3, 1)
    case.episode.progress["number"] = 4  # 0.5 / 4
    assert played(0.125, 0.25) == (3, 1)
    assert played(0.1249, 0.25) == (2, 0)
    never = arguments()
    assert kernels.select_pair.python(never.constants, never.episode, 1, Numbers()) == 2


def test_noise_is_drawn_for_every_triple_and_pair_and_makes_all_pairs_new() -> None:
    case = explorer(sampled(spread=0.5))
    plan(case)
    kernels.draw_noise.python(case.constants, case.episode, np.random.default_rng(6))
    assert case.episode.noise.tobytes() == np.random.default_rng(6).standard_normal(12 + 4).tobytes()
    assert case.episode.revision.tolist() == [-1] * 4
    assert case.episode.iteration.progress["residual"] == np.inf


def test_the_first_number_of_a_draw_says_whether_the_plan_is_optimistic() -> None:
    case = explorer(sampled(spread=0.5, optimism=0.25))
    for number, optimistic in ((0.2499, 1), (0.25, 0)):

        class Stream(Numbers):
            def standard_normal(self) -> float:
                return 1.5

        kernels.draw_noise.python(case.constants, case.episode, Stream(number))
        assert case.episode.progress["optimistic"] == optimistic
        assert set(case.episode.noise.tolist()) == {1.5}


def test_a_plan_ends_once_far_more_was_lost_than_it_expected() -> None:
    for patience, ends_at in ((1.0, [3]), (2.0, [6]), (np.inf, [])):  # 3 * 0.9 > 2.5, 6 * 0.9 > 5
        case = explorer(sampled(spread=0.0, patience=patience), replan_factor=1e9)
        plan(case)
        case.episode.iteration.values[0] = 1.5  # so up to 2.5 may be lost, or twice that
        ended = []
        for step in range(1, 7):
            if observe(case, 0, 0, 0.9):
                ended.append(step)
                break
            case.episode.iteration.values[0] = 99.0  # what it expects on the way does not count
        assert ended == ends_at


def test_the_largest_value_is_shown_as_a_lower_bound() -> None:
    case = arguments()
    plan(case)
    case.episode.iteration.values[:2] = [2.0, 3.0]
    case.episode.iteration.progress["residual"] = 0.0
    rounding = 1e-12 * 3.0 / 0.5  # of a backup, in units of the floor
    shown = kernels.max_optimistic_value.python(case.constants, case.episode)
    assert shown == pytest.approx(3.0 * (1.0 - rounding), rel=1e-15)
    case.episode.iteration.progress["residual"] = 0.0625  # an eighth of the floor
    shown = kernels.max_optimistic_value.python(case.constants, case.episode)
    assert shown == pytest.approx(3.0 * (1.0 - 0.0625 / (0.0625 + 0.5)), rel=1e-9)


@pytest.mark.parametrize("settings", [{}, {"widths": scaled(paper(), by=0.01)}, {"loss_bound": None}], ids=str)
def test_both_forms_learn_the_same_bits(settings: dict[str, Any]) -> None:
    ended = []
    for form in ("python", "compiled"):
        case, rng = arguments(**settings), np.random.default_rng(8)
        for _ in range(12):
            getattr(kernels.begin, form)(case.constants, case.learner, case.episode, rng.dirichlet(np.ones(2)))
            run = getattr(kernels.plan_with_doubling, form)
            assert run(case.constants, case.learner, case.episode, case.workspace, 10**6)
            pair, loss = int(case.episode.iteration.policy[0]), float(rng.random())
            place = 3 * pair + int(rng.integers(3))
            getattr(kernels.observe, form)(case.constants, case.learner, case.episode, case.scratch, pair, place, loss)
        ended.append({name: array.tobytes() for name, array in all_arrays(case).items()})
    assert ended[0] == ended[1]
