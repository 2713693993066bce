"""The test of losses against what plans allow for."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.around.excess import COUNT, CUSUM, ROBERTS, STAKES, ExcessLossTest
from goalbound.errors import FileFormatError


def test_its_sums_are_those_over_all_starts_of_products() -> None:
    test, losses = ExcessLossTest(), [0.5, 2.0, 0.1, 3.0, 0.9]
    for lost in losses:
        test.add(lost, 0.8)
    for at, stake in enumerate(STAKES):
        e = [1.0 + stake * (lost / 0.8 - 1.0) for lost in losses]
        assert test.sums[ROBERTS, at] == pytest.approx(sum(np.prod(e[start:]) for start in range(5)))


def test_losses_that_are_allowed_on_average_are_never_found_so_soon() -> None:
    # 1,000 episodes raise a warning with probability 1,000 / 10,000 at most: more than 15 of 50 runs have one with
    # probability 4e-5 at most (binomial, 0.1). The losses are 0 or 5, the allowed mean is 1.
    found = 0
    for seed in range(50):
        test, losses = ExcessLossTest(), 5.0 * (np.random.default_rng(seed).random(1000) < 0.2)
        found += sum(test.add(float(lost), 1.0) for lost in losses)
    assert found <= 15


def test_an_excess_that_begins_late_is_found_and_described_from_where_it_began() -> None:
    test = ExcessLossTest()
    for _ in range(1000):
        assert not test.add(0.5, 1.0)
    assert test.excess(by_bounds=True) is None
    found = [test.add(2.5, 1.0) for _ in range(60)]
    assert sum(found) == 1
    excess = test.excess(by_bounds=True)
    assert excess is not None
    assert excess.lost == pytest.approx(2.5, abs=0.2)
    assert excess.allowed == pytest.approx(1.0)
    assert excess.episodes == found.index(True) + 1
    assert "upper bound of their plans" in str(excess)
    assert "estimate" in str(test.excess(by_bounds=False))


def test_a_file_restores_it_and_what_cannot_be_is_refused() -> None:
    test, again = ExcessLossTest(), ExcessLossTest()
    test.add(3.0, 1.0)
    again.restore(test.sums)
    np.testing.assert_array_equal(again.sums, test.sums)
    for wrong in (np.zeros((5, 2)), np.full((5, 3), np.nan), np.full((5, 3), -1.0)):
        with pytest.raises(FileFormatError, match="excess"):
            ExcessLossTest().restore(wrong)
    claimed = np.zeros((5, 3))
    claimed[ROBERTS] = 1e6
    with pytest.raises(FileFormatError, match="no episodes"):
        ExcessLossTest().restore(claimed)


def test_the_sums_of_two_tests_add_up_and_an_excess_of_both_is_one() -> None:
    one, other = ExcessLossTest(), ExcessLossTest()
    for lost in (0.5, 0.2):
        one.add(lost, 1.0)
    ended = int((one.sums[CUSUM] <= 0.0).sum())  # what was no excess is not part of the next
    for lost in (3.0, 2.0):
        other.add(lost, 1.0)
    expected = one.sums[ROBERTS] + other.sums[ROBERTS]
    one.merge(other)
    assert not one.found
    np.testing.assert_allclose(one.sums[ROBERTS], expected)
    assert ended == len(STAKES)
    np.testing.assert_array_equal(one.sums[COUNT:], other.sums[COUNT:])
    near = ExcessLossTest()
    count = 0
    while not near.found:
        near.add(3.0, 1.0)
        count += 1
    near.sums[ROBERTS] *= 0.6
    half = ExcessLossTest()
    half.restore(near.sums)
    assert not half.found
    near.merge(half)
    assert near.found
    excess = near.excess(by_bounds=True)
    assert excess is not None
    assert (excess.lost, excess.allowed, excess.episodes) == (pytest.approx(3.0), pytest.approx(1.0), 2 * count)


def test_false_warnings_of_merged_tests_are_as_rare_as_those_of_one() -> None:
    # As above: 1,000 episodes in all, 400 of them elsewhere until then, are found in more than 15 of 50 runs with
    # probability 4e-5 at most.
    found = 0
    for seed in range(50):
        losses = 5.0 * (np.random.default_rng(seed).random(1000) < 0.2)
        one, other = ExcessLossTest(), ExcessLossTest()
        found += sum(one.add(float(lost), 1.0) for lost in losses[:300])
        found += sum(other.add(float(lost), 1.0) for lost in losses[300:700])
        before = one.found
        one.merge(other)
        found += one.found and not before
        found += sum(one.add(float(lost), 1.0) for lost in losses[700:])
    assert found <= 15
