"""The change detector: its naive twin, its two forms, its martingale, and what a restart forgets."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.around import change_kernels as kernels
from goalbound.around.change_kernels import (
    CASE,
    CAUTION,
    COUNT,
    CUSUM,
    EXPECTED,
    MOST_LEVERAGE,
    NO_ALARM,
    OBSERVED,
    RATIOS,
    ROBERTS,
    STEP,
    ChangeSums,
)
from goalbound.around.monitor import ChangeDetector
from goalbound.learners.visits import StepArrays
from goalbound.models import Support
from tests.reference import change_detection as twin
from tests.reference.change_detection import Visit

SUPPORT = Support.from_pairs([{0: [0, 1], 1: [0, 1, 2]}, {0: [0, 2]}])
"""Three pairs: 0 leads to states 0 and 1, pair 1 to all (the goal is 2), pair 2 (state 1, action 0) to 0 and the goal.
Numbers: loss and triples of pair 0 (0; 1, 2), pair 1 (3; 4 to 6), pair 2 (7; 8, 9), goal and loss of both actions
(10, 11; 12, 13)."""
NEVER = 1e300


def new(size: int = 2) -> ChangeSums:
    return kernels.new_change_sums(SUPPORT, size)


def drawn(count: int, seed: int, *, pair: int | None = None) -> StepArrays:
    """Steps under contexts of two components, all outcomes equally likely."""
    rng = np.random.default_rng(seed)
    pairs = rng.integers(3, size=count) if pair is None else np.full(count, pair)
    first, m = SUPPORT.next_start[pairs], np.diff(SUPPORT.next_start)[pairs]
    places = first + (rng.random(count) * m).astype(np.int64)
    return StepArrays(rng.dirichlet([1.0, 1.0], size=count), pairs, places, rng.random(count))


def entered(steps: StepArrays, *, form: str = "python", run_length: float = NEVER) -> ChangeSums:
    sums = new()
    getattr(kernels.detect_changes, form)(sums, steps, np.arange(len(steps.pairs)), run_length)
    return sums


def test_the_sums_of_a_pair_are_those_of_its_naive_twin() -> None:
    steps = drawn(60, 1, pair=1)
    sums = entered(steps)
    visits = [Visit(c, int(k) - 2, loss) for c, k, loss in zip(steps.contexts, steps.places, steps.losses, strict=True)]
    e, tested = twin.all_evidence(visits, 3, RATIOS, caution=CAUTION, most_leverage=MOST_LEVERAGE)
    assert tested[0] > 0  # the first visit is no evidence
    for k, number in enumerate([4, 5, 6, 3]):  # the triples of pair 1, its loss
        for at in range(len(RATIOS)):
            assert sums.evidence[number, at, ROBERTS] == pytest.approx(twin.shiryaev_roberts(e[:, k, at]), rel=1e-9)
            largest, begin = twin.cusum(e[:, k, at])
            assert sums.evidence[number, at, CUSUM] == pytest.approx(largest, abs=1e-9)
            assert sums.evidence[number, at, STEP] == sums.evidence[number, at, CASE] == tested[begin]
            since = [visits[t] for t in tested[begin:]]
            assert sums.evidence[number, at, COUNT] == len(since)
            assert sums.evidence[number, at, OBSERVED] == pytest.approx(sum(twin.outcomes(one, 3)[k] for one in since))
            means = sum(twin.forecasts(visits[:t], visits[t].context, 3)[0][k] for t in tested[begin:])
            assert sums.evidence[number, at, EXPECTED] == pytest.approx(means)


def test_the_numbers_of_an_action_multiply_the_evidence_of_all_its_pairs() -> None:
    steps = drawn(80, 2)
    sums, alone = entered(steps), {}
    for pair in (0, 2):  # the pairs of action 0; the goal may follow pair 2 alone
        mine = steps.pairs == pair
        part = StepArrays(*(np.ascontiguousarray(column[mine]) for column in steps))
        alone[pair] = entered(part).evidence[:, :, ROBERTS]
    np.testing.assert_allclose(
        sums.evidence[10, :, ROBERTS], alone[2][9], rtol=1e-9
    )  # the goal of action 0: the triple (1, 0, 2)
    # Its loss mixes the visits of both pairs: by hand, e = R / (R before + 1) of the pair that was visited.
    by_hand, before = np.zeros(4), {pair: np.zeros(4) for pair in (0, 2)}
    for t in range(80):
        pair = int(steps.pairs[t])
        if pair != 1:
            now = entered(StepArrays(*(column[: t + 1] for column in steps))).evidence[{0: 0, 2: 7}[pair], :, ROBERTS]
            if not np.array_equal(now, before[pair]):
                by_hand = (by_hand + 1.0) * now / (before[pair] + 1.0)
                before[pair] = now
    np.testing.assert_allclose(sums.evidence[11, :, ROBERTS], by_hand, rtol=1e-9)


def test_compiled_and_python_give_the_same_bits() -> None:
    steps = drawn(200, 3)
    one, other = entered(steps, run_length=50.0), entered(steps, form="compiled", run_length=50.0)
    for name, array in one._asdict().items():
        assert np.asarray(array).tobytes() == np.asarray(getattr(other, name)).tobytes(), name


@pytest.mark.parametrize("law", [{0.0: 0.7, 1.0: 0.3}, {0.1: 0.5, 0.5: 0.5}, {0.3: 1.0}])
@pytest.mark.parametrize("ratio", RATIOS)
def test_evidence_has_mean_one_whatever_the_law_with_the_forecast_mean(law: dict[float, float], ratio: float) -> None:
    mean = sum(x * chance for x, chance in law.items())  # 0.3 each
    found = sum(chance * kernels.evidence.python(x, mean, ratio) for x, chance in law.items())
    assert mean == pytest.approx(0.3)
    assert found == pytest.approx(1.0, rel=1e-12)


def test_the_mean_of_the_sums_is_the_count_of_steps_where_the_means_are_given() -> None:
    # All sequences of 6 visits of pair 2 with loss 0 or 1: means 0.3 (state 0), 0.7 (goal), 0.4 (loss), 4^6 in all.
    sums = new(1)
    means = np.full((10, 1), 0.5)
    means[[8, 9, 7]] = [[0.3], [0.7], [0.4]]
    total = 0.0
    for code in range(4**6):
        again = sums._replace(**{name: array.copy() for name, array in sums._asdict().items()})
        again = again._replace(outcome_sums=means, given=np.ones(3, dtype=np.bool_))
        draws = [(code >> 2 * t) & 3 for t in range(6)]
        chance = np.prod([(0.7 if one & 1 else 0.3) * (0.4 if one & 2 else 0.6) for one in draws])
        steps = StepArrays(
            np.ones((6, 1)), np.full(6, 2), np.array([6 if one & 1 else 5 for one in draws]),
            np.array([float(one >> 1) for one in draws]),
        )  # fmt: skip
        kernels.detect_changes.compiled(again, steps, np.zeros(6, dtype=np.int64), NEVER)
        own, shared = (kernels.roberts_of.python(again, part) for part in (2, 3))
        total += chance * (0.5 * own + 0.5 * shared)
    assert total == pytest.approx(6.0, rel=1e-9)


def test_an_alarm_stops_the_part() -> None:
    steps = drawn(200, 4, pair=2)
    steps.places[100:], steps.losses[100:] = 5, 0.9  # never the goal any more
    sums = new()
    found = kernels.detect_changes.python(sums, steps, np.arange(200), 1000.0)
    assert found == 1
    raised = np.flatnonzero(sums.alarm_step != NO_ALARM)
    assert len(raised) == 1
    assert raised[0] in (2, 3 + 0)  # pair 2, or its action
    assert 100 < sums.alarm_step[raised[0]] < 150
    assert sums.steps[0] == 200
    assert sums.visits[2] < 150


def test_after_an_alarm_is_acknowledged_nothing_is_known_of_its_pairs() -> None:
    detector, steps = ChangeDetector(SUPPORT, 2, run_length=1000.0), drawn(200, 4, pair=2)
    steps.places[100:], steps.losses[100:] = 5, 0.9  # never the goal any more
    assert detector.enter(steps, np.arange(200)) == 1
    detector.acknowledge()
    fresh = new()
    for name in ("gram", "inverse", "outcome_sums", "visits", "evidence", "alarm_step"):
        np.testing.assert_array_equal(getattr(detector._sums, name), getattr(fresh, name), err_msg=name)
