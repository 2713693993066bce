"""What a pair looks like to each context-free method, by the formulas; lengths of attempts by powers of a matrix."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from goalbound.kernels.optimism import hopeful_row
from goalbound.kernels.tabular.layout import Learned, Rules
from goalbound.kernels.tabular.looks import look_at, record
from goalbound.kernels.tabular.posterior import mean_model
from goalbound.kernels.tabular.rooms import copied
from goalbound.kernels.tabular.settling import attempt_length, replan
from goalbound.learners.tabular import Method, TabularLearner, bernstein_ssp, eb_ssp, hoeffding_ssp, psrl_ssp, uc_ssp
from goalbound.learners.tabular import ulcvi as ulcvi_method
from goalbound.models import Support

SUPPORT = Support.full(3, 2)  # N = 6 pairs, 3 next states beside the goal (state 3)
NEXT = [2, 0, 2, 3, 0, 2, 2, 3]  # of pair 0, in this order: state 0 twice, 2 four times, the goal twice
LOSSES = [0.5, 0.25, 0.5, 0.75, 0.5, 0.25, 0.5, 0.75]  # mean 1/2, mean square 0.28125
N, DELTA, SCALE = 8.0, 0.1, 0.03


def taught(method: Method) -> tuple[Rules, Learned]:
    """A learner that saw eight steps of pair 0, loss floor 0.1, and has looked at it."""
    learner = TabularLearner(SUPPORT, method, delta=DELTA, loss_floor=0.1)
    rules, learned = learner._rules, learner._learned
    for following, loss in zip(NEXT, LOSSES, strict=True):
        record.python(rules, learned.counts, 0, following, loss)
    look_at.python(rules, learned, 0)
    return rules, learned


def row_of(learned: Learned, pair: int = 0) -> dict[int, float]:
    plausible = learned.main.plausible
    first = plausible.next_start[pair]
    slots = range(first, first + plausible.used[pair])
    return {int(plausible.state[k]): float(plausible.centre[k]) for k in slots}


def test_steps_are_counted_in_the_order_in_which_next_states_came() -> None:
    _, learned = taught(uc_ssp())
    counts = learned.counts
    assert (counts.visits[0], counts.goals[0], counts.seen[0]) == (8, 2, 2)
    assert counts.slot_state[:2].tolist() == [2, 0]
    assert counts.slot_count[:2].tolist() == [4, 2]
    assert counts.slot[:4].tolist() == [1, -1, 0, -1]
    assert (counts.loss_sums[0], counts.square_sums[0]) == (4.0, 2.25)


def test_the_hopeful_loss_is_the_mean_less_its_radius() -> None:
    _, learned = taught(uc_ssp(scale=SCALE))
    assert learned.main.plausible.losses[0] == pytest.approx(0.5 - SCALE * sqrt(log(4 * 6 * 64 / DELTA) / 16))
    _, wide = taught(uc_ssp())
    assert wide.main.plausible.losses[0] == 0.1  # the floor


@pytest.mark.parametrize(
    ("method", "radius"),
    [
        (uc_ssp(scale=SCALE), SCALE * sqrt(8 * 3 * log(2 * 2 * N / DELTA) / N)),
        (hoeffding_ssp(loss_bound=2.0, scale=SCALE), 5 * SCALE * sqrt(3 * log(6 * N / DELTA) / N)),
    ],
    ids=str,
)
def test_half_the_l1_radius_may_be_taken_from_the_row(method: Method, radius: float) -> None:
    _, learned = taught(method)
    plausible = learned.main.plausible
    assert row_of(learned) == {2: 0.5, 0: 0.25}
    assert plausible.mass[0] == 0.75
    assert plausible.ball[0] == pytest.approx(radius / 2)
    out = np.zeros(2)
    hopeful_row.python(plausible, 0, np.array([5.0, 0.0, 1.0, 0.0]), 0.0, out)
    taken = min(radius / 2, 0.25)  # from state 0 first, where the value is largest
    assert out == pytest.approx([0.5 - (radius / 2 - taken), 0.25 - taken])


def test_bernstein_takes_from_every_next_state_and_drops_the_empty_ones() -> None:
    a = log(6 * N / DELTA) / N
    _, learned = taught(bernstein_ssp(scale=0.01))
    assert row_of(learned) == pytest.approx(
        {s: p - 0.01 * (28 * a + 4 * sqrt(p * a)) for s, p in {2: 0.5, 0: 0.25}.items()}
    )
    _, narrow = taught(bernstein_ssp(scale=0.015))
    assert list(row_of(narrow)) == [2]  # 0.25 - 0.015 (28 a + 2 sqrt(a)) < 0, a = 0.772


def test_the_bonus_of_visgo() -> None:
    _, learned = taught(eb_ssp(scale=SCALE))
    iota = log(12 * 6 * 4 * 64 / DELTA)
    assert learned.bonus.rate[0] == pytest.approx(iota / N)
    assert learned.bonus.flat[0] == pytest.approx(2 * sqrt(2) * sqrt(0.5 * iota / N))
    assert learned.bonus.steep[0] == pytest.approx(2 * sqrt(2) * sqrt(4 * iota) / N)
    assert row_of(learned) == {2: 0.5, 0: 0.25}


def test_the_bonus_of_ulcvi() -> None:
    method = ulcvi_method(loss_bound=2.0, time_bound=1.0, episodes=3, scale=SCALE)
    _, learned = taught(method)
    rate = log(12 * 6 * 26 * 4 * 64 / DELTA) / N
    assert learned.bonus.rate[0] == pytest.approx(rate)
    assert learned.bonus.flat[0] == pytest.approx(SCALE * (sqrt(2 * (0.28125 - 0.25) * rate) + 5 * rate))
    assert learned.bonus.steep[0] == pytest.approx(SCALE * 62 * 26**3 * 3 * rate)


def test_the_mean_of_the_posterior() -> None:
    rules, learned = taught(psrl_ssp())
    mean_model.python(rules, learned)
    assert row_of(learned) == pytest.approx({0: 2.1 / 8.4, 1: 0.1 / 8.4, 2: 4.1 / 8.4})
    assert row_of(learned, 1) == pytest.approx({0: 0.25, 1: 0.25, 2: 0.25})
    assert learned.main.plausible.losses[:2].tolist() == [0.5, 0.5]


def filled(seed: int) -> tuple[Rules, Learned]:
    """Every pair of UC-SSP with some steps, the goal among them."""
    learner = TabularLearner(SUPPORT, uc_ssp(scale=0.02), delta=DELTA, loss_floor=0.1)
    rng = np.random.default_rng(seed)
    for pair in range(6):
        for following in (3, *rng.integers(4, size=int(rng.integers(5, 30)))):
            record.python(learner._rules, learner._learned.counts, pair, 4 * pair + int(following), float(rng.random()))
    assert replan.python(learner._rules, learner._learned, learner._learned.main, 1e-9, 10**6)
    return learner._rules, learner._learned


def optimistic_kernel(learned: Learned) -> NDArray[np.float64]:
    """[S, S] of the greedy policy."""
    plausible, outlook = learned.main.plausible, learned.main.outlook
    kernel = np.zeros((3, 3))
    for state, pair in enumerate(outlook.policy):
        row = np.zeros(int(plausible.used[pair]))
        hopeful_row.python(plausible, pair, outlook.values, outlook.pull[pair], row)
        first = plausible.next_start[pair]
        kernel[state, plausible.state[first : first + len(row)]] = row
    return kernel


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("gamma", [1.0, 0.7, 0.1, 1e-3])
def test_an_attempt_is_as_long_as_the_powers_of_the_optimistic_kernel_say(seed: int, gamma: float) -> None:
    _, learned = filled(seed)
    kernel = optimistic_kernel(learned)
    length = attempt_length.python(learned, learned.main, gamma, 10**4)
    norms = [np.linalg.matrix_power(kernel, h - 1).sum(axis=1).max() for h in range(2, length + 1)]
    assert length >= 2
    assert norms[-1] <= gamma * (1 + 1e-9)
    assert all(norm > gamma for norm in norms[:-1])
    assert attempt_length.python(learned, learned.main, 0.0, 50) == 0


@pytest.mark.parametrize("seed", range(5))
def test_planning_again_after_a_few_steps_is_planning_from_scratch(seed: int) -> None:
    rules, learned = filled(seed)
    cold = copied(learned)
    rng = np.random.default_rng(seed)
    for front in (learned.main, cold.main):
        assert front.length[0] == 0
    for pair in (1, 4):
        following = int(rng.integers(4))
        for one in (learned, cold):
            record.python(rules, one.counts, pair, 4 * pair + following, 1.0)
            one.main.waiting[one.main.length[0]] = pair
            one.main.is_waiting[pair] = True
            one.main.length[0] += 1
    cold.main.outlook.meter[:] = np.inf, 0.0
    cold.main.outlook.values[:-1] = 0.1
    cold.main.outlook.backup[:] = -np.inf
    for one in (learned, cold):
        assert replan.python(rules, one, one.main, 1e-10, 10**6)
    assert learned.main.outlook.values == pytest.approx(cold.main.outlook.values, rel=1e-8)
    assert learned.main.outlook.policy.tolist() == cold.main.outlook.policy.tolist()


def test_a_copy_shares_inside_what_was_shared_and_nothing_with_the_original() -> None:
    _, learned = taught(uc_ssp())
    copy = copied(learned)
    assert copy.unit.plausible.centre is copy.main.plausible.centre
    assert copy.unit.plausible.losses is not copy.main.plausible.losses
    copy.counts.visits[0] = 99
    copy.main.plausible.centre[0] = 0.125
    assert learned.counts.visits[0] == 8
    assert learned.main.plausible.centre[0] == 0.5
    assert copy.main.plausible.pair_start is learned.main.plausible.pair_start
