"""What a pair looks like to each context-free method, by the formulas; lengths of attempts by powers of a matrix."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from goalbound.kernels.tabular.confidence import record, update_pair
from goalbound.kernels.tabular.planning import attempt_length, replan
from goalbound.kernels.tabular.psrl import mean_model
from goalbound.kernels.tabular.state import Constants, LearnerState, copied
from goalbound.kernels.value_iteration import optimistic_row
from goalbound.learners.tabular import Method, TabularLearner
from goalbound.learners.tabular.method import (
    bernstein_ssp_method,
    eb_ssp_method,
    hoeffding_ssp_method,
    psrl_ssp_method,
    uc_ssp_method,
)
from goalbound.learners.tabular.method import ulcvi_method as ulcvi_method
from goalbound.models import Support

SUPPORT = Support.full(3, 2)  # N = 6 pairs, 3 next states beside the goal (state 3)
NEXT = [2, 0, 2, 3, 0, 2, 2, 3]  # of pair 0, in this order: state 0 twice, 2 four times, the goal twice
LOSSES = [0.5, 0.25, 0.5, 0.75, 0.5, 0.25, 0.5, 0.75]  # mean 1/2, mean square 0.28125
N, DELTA, SCALE = 8.0, 0.1, 0.03


def taught(method: Method) -> tuple[Constants, LearnerState]:
    """A learner that saw eight steps of pair 0, loss floor 0.1, and has looked at it."""
    learner = TabularLearner(SUPPORT, method, delta=DELTA, loss_floor=0.1)
    constants, learner = learner._constants, learner._state
    for following, loss in zip(NEXT, LOSSES, strict=True):
        record.python(constants, learner.counts, 0, following, loss)
    update_pair.python(constants, learner, 0)
    return constants, learner


def row_of(learner: LearnerState, pair: int = 0) -> dict[int, float]:
    sets = learner.main.sets
    first = sets.next_start[pair]
    slots = range(first, first + sets.used[pair])
    return {int(sets.state[k]): float(sets.centre[k]) for k in slots}


def test_steps_are_counted_in_the_order_in_which_next_states_came() -> None:
    _, learner = taught(uc_ssp_method())
    counts = learner.counts
    assert (counts.visits[0], counts.goals[0], counts.seen[0]) == (8, 2, 2)
    assert counts.seen_state[:2].tolist() == [2, 0]
    assert counts.seen_count[:2].tolist() == [4, 2]
    assert counts.seen_index[:4].tolist() == [1, -1, 0, -1]
    assert (counts.loss_sums[0], counts.square_sums[0]) == (4.0, 2.25)


def test_the_hopeful_loss_is_the_mean_less_its_radius() -> None:
    _, learner = taught(uc_ssp_method(scale=SCALE))
    assert learner.main.sets.losses[0] == pytest.approx(0.5 - SCALE * sqrt(log(4 * 6 * 64 / DELTA) / 16))
    _, wide = taught(uc_ssp_method())
    assert wide.main.sets.losses[0] == 0.1  # the floor


@pytest.mark.parametrize(
    ("method", "radius"),
    [
        (uc_ssp_method(scale=SCALE), SCALE * sqrt(8 * 3 * log(2 * 2 * N / DELTA) / N)),
        (hoeffding_ssp_method(loss_bound=2.0, scale=SCALE), 5 * SCALE * sqrt(3 * log(6 * N / DELTA) / N)),
    ],
    ids=str,
)
def test_half_the_l1_radius_may_be_taken_from_the_row(method: Method, radius: float) -> None:
    _, learner = taught(method)
    sets = learner.main.sets
    assert row_of(learner) == {2: 0.5, 0: 0.25}
    assert sets.mass[0] == 0.75
    assert sets.ball[0] == pytest.approx(radius / 2)
    out = np.zeros(2)
    optimistic_row.python(sets, 0, np.array([5.0, 0.0, 1.0, 0.0]), 0.0, out)
    taken = min(radius / 2, 0.25)  # from state 0 first, where the value is largest
    assert out == pytest.approx([0.5 - (radius / 2 - taken), 0.25 - taken])


def test_bernstein_takes_from_every_next_state_and_drops_the_empty_ones() -> None:
    a = log(6 * N / DELTA) / N
    _, learner = taught(bernstein_ssp_method(scale=0.01))
    assert row_of(learner) == pytest.approx(
        {s: p - 0.01 * (28 * a + 4 * sqrt(p * a)) for s, p in {2: 0.5, 0: 0.25}.items()}
    )
    _, narrow = taught(bernstein_ssp_method(scale=0.015))
    assert list(row_of(narrow)) == [2]  # 0.25 - 0.015 (28 a + 2 sqrt(a)) < 0, a = 0.772


def test_the_bonus_of_visgo() -> None:
    _, learner = taught(eb_ssp_method(scale=SCALE))
    iota = log(12 * 6 * 4 * 64 / DELTA)
    assert learner.bonus.rate[0] == pytest.approx(iota / N)
    assert learner.bonus.flat[0] == pytest.approx(2 * sqrt(2) * sqrt(0.5 * iota / N))
    assert learner.bonus.steep[0] == pytest.approx(2 * sqrt(2) * sqrt(4 * iota) / N)
    assert row_of(learner) == {2: 0.5, 0: 0.25}


def test_the_bonus_of_ulcvi() -> None:
    method = ulcvi_method(loss_bound=2.0, time_bound=1.0, episodes=3, scale=SCALE)
    _, learner = taught(method)
    rate = log(12 * 6 * 26 * 4 * 64 / DELTA) / N
    assert learner.bonus.rate[0] == pytest.approx(rate)
    assert learner.bonus.flat[0] == pytest.approx(SCALE * (sqrt(2 * (0.28125 - 0.25) * rate) + 5 * rate))
    assert learner.bonus.steep[0] == pytest.approx(SCALE * 62 * 26**3 * 3 * rate)


def test_the_mean_of_the_posterior() -> None:
    constants, learner = taught(psrl_ssp_method())
    mean_model.python(constants, learner)
    assert row_of(learner) == pytest.approx({0: 2.1 / 8.4, 1: 0.1 / 8.4, 2: 4.1 / 8.4})
    assert row_of(learner, 1) == pytest.approx({0: 0.25, 1: 0.25, 2: 0.25})
    assert learner.main.sets.losses[:2].tolist() == [0.5, 0.5]


def filled(seed: int) -> tuple[Constants, LearnerState]:
    """Every pair of UC-SSP with some steps, the goal among them."""
    learner = TabularLearner(SUPPORT, uc_ssp_method(scale=0.02), delta=DELTA, loss_floor=0.1)
    rng = np.random.default_rng(seed)
    for pair in range(6):
        for following in (3, *rng.integers(4, size=int(rng.integers(5, 30)))):
            record.python(
                learner._constants, learner._state.counts, pair, 4 * pair + int(following), float(rng.random())
            )
    assert replan.python(learner._constants, learner._state, learner._state.main, 1e-9, 10**6)
    return learner._constants, learner._state


def optimistic_kernel(learner: LearnerState) -> NDArray[np.float64]:
    """[S, S] of the greedy policy."""
    sets, iteration = learner.main.sets, learner.main.iteration
    kernel = np.zeros((3, 3))
    for state, pair in enumerate(iteration.policy):
        row = np.zeros(int(sets.used[pair]))
        optimistic_row.python(sets, pair, iteration.values, iteration.dual[pair], row)
        first = sets.next_start[pair]
        kernel[state, sets.state[first : first + len(row)]] = row
    return kernel


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("gamma", [1.0, 0.7, 0.1, 1e-3])
def test_an_attempt_is_as_long_as_the_powers_of_the_optimistic_kernel_say(seed: int, gamma: float) -> None:
    _, learner = filled(seed)
    kernel = optimistic_kernel(learner)
    length = attempt_length.python(learner, learner.main, gamma, 10**4)
    norms = [np.linalg.matrix_power(kernel, h - 1).sum(axis=1).max() for h in range(2, length + 1)]
    assert length >= 2
    assert norms[-1] <= gamma * (1 + 1e-9)
    assert all(norm > gamma for norm in norms[:-1])
    assert attempt_length.python(learner, learner.main, 0.0, 50) == 0


@pytest.mark.parametrize("seed", range(5))
def test_planning_again_after_a_few_steps_is_planning_from_scratch(seed: int) -> None:
    constants, learner = filled(seed)
    cold = copied(learner)
    rng = np.random.default_rng(seed)
    for model in (learner.main, cold.main):
        assert model.dirty_count[0] == 0
    for pair in (1, 4):
        following = int(rng.integers(4))
        for one in (learner, cold):
            record.python(constants, one.counts, pair, 4 * pair + following, 1.0)
            one.main.dirty[one.main.dirty_count[0]] = pair
            one.main.is_dirty[pair] = True
            one.main.dirty_count[0] += 1
    cold.main.iteration.progress["residual"] = np.inf
    cold.main.iteration.progress["total_decrease"] = 0.0
    cold.main.iteration.values[:-1] = 0.1
    cold.main.iteration.backup[:] = -np.inf
    for one in (learner, cold):
        assert replan.python(constants, one, one.main, 1e-10, 10**6)
    assert learner.main.iteration.values == pytest.approx(cold.main.iteration.values, rel=1e-8)
    assert learner.main.iteration.policy.tolist() == cold.main.iteration.policy.tolist()


def test_a_copy_shares_inside_what_was_shared_and_nothing_with_the_original() -> None:
    _, learner = taught(uc_ssp_method())
    copy = copied(learner)
    assert copy.unit.sets.centre is copy.main.sets.centre
    assert copy.unit.sets.losses is not copy.main.sets.losses
    copy.counts.visits[0] = 99
    copy.main.sets.centre[0] = 0.125
    assert learner.counts.visits[0] == 8
    assert learner.main.sets.centre[0] == 0.5
    assert copy.main.sets.pair_start is learner.main.sets.pair_start
