"""The test of the linear model: parts of the simplex, sums by hand, and how often it is wrong at its own threshold."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.confidence import linearity as kernels
from goalbound.confidence.linearity import MIXTURE_VARIANCE, PARTS, LinearityTest, new_linearity_test
from goalbound.confidence.protocol import nothing_learned
from goalbound.learners.answers import model_violation
from goalbound.models import Support
from tests.support.strategies import contexts

Floats = NDArray[np.float64]


@given(st.integers(1, 6).flatmap(contexts))
def test_every_context_lies_in_one_part_and_the_alarm_would_name_it(context: Floats) -> None:
    size = len(context)
    part = kernels.simplex_part.python(context)
    assert 0 <= part < PARTS * size
    excess = new_linearity_test(1, 2, PARTS * size)
    for name, value in {"found": 1, "pair": 0, "place": -1, "part": part, "episode": 7}.items():
        excess.violation[name] = value
    alarm = model_violation(excess, Support.full(1, 1), size)
    assert alarm is not None
    assert context[alarm.component] == context.max()
    assert alarm.weights[0] - 1e-12 <= context.max() <= alarm.weights[1] + 1e-12


def test_parts_of_two_components_by_hand() -> None:
    # The heavier of two weighs from 1/2 to 1, in four parts of 1/8 each; of equal ones the first counts.
    assert [kernels.simplex_part.python(np.array([w, 1.0 - w])) for w in (0.5, 0.62, 0.63, 0.76, 0.9, 1.0)] == [
        0, 0, 1, 2, 3, 3,
    ]  # fmt: skip
    assert kernels.simplex_part.python(np.array([0.3, 0.7])) == PARTS + 1
    assert kernels.simplex_part.python(np.array([1.0])) == 0


def test_the_threshold_is_that_of_the_half_normal_mixture() -> None:
    # The mixture of exp(z S - z^2 n / 8) over z >= 0 with density 2 sqrt(r / 2 pi) exp(-r z^2 / 2), by quadrature. Its
    # value at the threshold is 1 / failure at least, and at most twice that: Phi(S / sqrt(n / 4 + r)) lies in [1/2, 1].
    z = np.linspace(0.0, 30.0, 600_001)
    for count in (1, 30, 1000, 100_000):
        for failure in (0.1, 1e-4, 1e-9):
            variance = 0.25 * count + MIXTURE_VARIANCE
            threshold = math.sqrt(variance * (math.log(variance / MIXTURE_VARIANCE) + 2.0 * math.log(1.0 / failure)))
            for share, alarm in ((1.0 + 1e-9, True), (1.0 - 1e-9, False)):
                assert bool(kernels.contradicts.python(share * threshold, count, math.log(1.0 / failure))) == alarm
            log_density = 0.5 * math.log(2.0 * MIXTURE_VARIANCE / math.pi) - 0.5 * MIXTURE_VARIANCE * z * z
            mixture = float(np.trapezoid(np.exp(z * threshold - z * z * count / 8.0 + log_density), z))
            assert 1.0 - 1e-6 <= mixture * failure <= 2.0


@pytest.mark.parametrize("excess", [0.0, -1.0, -1e9])
def test_what_stays_inside_its_interval_contradicts_nothing(excess: float) -> None:
    assert not kernels.contradicts.python(excess, 10, 0.0)


def test_coins_at_the_end_of_their_interval_cross_no_more_often_than_the_threshold_says() -> None:
    # 4000 walks of 2000 fair coins against the interval that ends just at 1/2. At failure 0.05 at most 200 walks are
    # expected to cross, ever; more than 260 would have probability below 1e-5. They do cross now and then, so the
    # threshold is not absurdly high: fewer than 10 would mean a true failure below 0.006 (probability 1e-3).
    rng = np.random.default_rng(0)
    walks = np.cumsum(rng.integers(0, 2, (4000, 2000)) - 0.5, axis=1)
    variance = 0.25 * np.arange(1, 2001) + MIXTURE_VARIANCE
    threshold = np.sqrt(variance * (np.log(variance / MIXTURE_VARIANCE) + 2.0 * math.log(1.0 / 0.05)))
    crossed = int((walks >= threshold).any(axis=1).sum())
    assert 10 <= crossed <= 260


INTERVAL = (0.2, 0.5)
"""of the loss and of all next states, when the plan was made"""
FLOOR = 0.15
"""that was declared of the loss"""
CONTEXT = np.array([0.9, 0.1])
"""in part 3"""


def add_outcome(
    excess: LinearityTest, place: int, loss: float, *, pair: int = 1, episode: int = 13, floor: float = FLOOR
) -> None:
    """A step of a pair with two next states, of which that in ``place`` followed."""
    lows, highs = (np.full(4, end) for end in INTERVAL)
    constants = SimpleNamespace(
        next_start=[0, 2, 4],
        added_loss=0.0,
        watch=SimpleNamespace(alarm_log=math.log(1.0 / 0.01)),
        declared=SimpleNamespace(floor=np.full(2, floor)),
    )
    view = SimpleNamespace(
        context=CONTEXT,
        progress={"number": episode, "counted": 0},
        sets=SimpleNamespace(losses=lows, low=lows, high=highs),
        loss_high=highs,
    )
    run = kernels.test_outcome.filled({kernels.inner_learn: nothing_learned})
    run.python(constants, SimpleNamespace(watch=excess), view, pair, place, loss)


def test_a_step_adds_to_the_sums_of_its_pair_and_part_only() -> None:
    excess = new_linearity_test(2, 4, PARTS * 2)
    add_outcome(excess, 3, 0.6)
    assert np.argwhere(excess.steps).tolist() == [[1, 3]]
    assert excess.losses[1, 3].tolist() == pytest.approx([0.1, -0.4, -0.45])  # 0.6 - 0.5, 0.2 - 0.6, 0.15 - 0.6
    assert excess.rows[2, 3].tolist() == pytest.approx([-0.5, 0.2])  # it did not follow
    assert excess.rows[3, 3].tolist() == pytest.approx([0.5, -0.8])  # it did
    assert np.count_nonzero(excess.losses) + np.count_nonzero(excess.rows) == 7
    assert not excess.violation["found"]


@pytest.mark.parametrize(
    ("loss", "place", "expected"),
    [(1.0, 2, [1, -1, 3, 13]), (0.0, 2, [1, 2, 3, 13]), (0.35, 3, [1, 3, 3, 13])],
    ids=["the loss", "the first next state", "the second next state"],
)
def test_the_alarm_names_the_first_contradiction(loss: float, place: int, expected: list[int]) -> None:
    # At failure 0.01 and n steps of excess 0.5 the threshold sqrt((n/4 + 10)(log(1 + n/40) + 9.21)) is crossed at
    # n = 26: 13 >= sqrt(16.5 (0.501 + 9.210)) = 12.66, and 12.5 < sqrt(16.25 (0.486 + 9.210)) = 12.55.
    # Losses are looked at first, then next states in their order. A loss of 0 is below its interval by only 0.2.
    excess = new_linearity_test(2, 4, PARTS * 2)
    for _ in range(25):
        add_outcome(excess, place, loss)
    assert not excess.violation["found"]
    add_outcome(excess, place, loss)
    assert excess.violation.tolist() == (1, *expected)
    for _ in range(300):
        add_outcome(excess, place, loss, episode=99)
    assert excess.violation.tolist() == (1, *expected)  # only the first one is kept


@pytest.mark.parametrize(("floor", "place"), [(0.2, -2), (0.15, -1)])
def test_losses_below_the_declared_floor_itself_are_distinguished_from_losses_below_the_interval(
    floor: float, place: int
) -> None:
    # Losses of 0 below an interval that begins at 0.2 contradict it at n = 94: 18.8 >= sqrt(33.5 (1.209 + 9.210)) =
    # 18.68, and 18.6 < 18.61 before. Against a floor of 0.15 the sum is 14.1 then, which contradicts nothing.
    excess = new_linearity_test(2, 4, PARTS * 2)
    turn = 0
    while not excess.violation["found"]:
        turn += 1
        add_outcome(excess, 2 + turn % 2, 0.0, floor=floor)
    assert turn == 94
    assert excess.violation.tolist() == (1, 1, place, 3, 13)


def test_contradictions_of_different_parts_and_pairs_do_not_add_up() -> None:
    excess = new_linearity_test(2, 4, PARTS * 2)
    for _ in range(25):
        add_outcome(excess, 0, 1.0, pair=0)
        add_outcome(excess, 2, 1.0, pair=1)
    assert not excess.violation["found"]
