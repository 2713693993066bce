"""Intervals over seeds."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.experiments.bootstrap import band, symmetric_interval


def test_the_band_of_twenty_skewed_numbers_holds_their_mean_91_times_of_100():
    # 400 trials of 20 exponential numbers. The coverage of this band is 0.909 (10 000 trials, another seed), so the
    # count is 363 with a deviation of 5.8; 4 deviations away from it come by chance less than once in 10 000.
    rng = np.random.default_rng(0)
    samples = rng.exponential(size=(20, 400))
    low, high = band(samples)
    held = int(((low <= 1.0) & (high >= 1.0)).sum())
    assert 340 <= held <= 386


def test_the_interval_of_sign_flips_leaves_out_zero_just_where_few_flips_are_as_far_from_it() -> None:
    rng = np.random.default_rng(5)
    signs = (np.arange(2**8)[:, None] >> np.arange(8) & 1) * 2 - 1
    for _ in range(50):
        values = rng.normal(0.9, 1.0, size=8)
        as_far = int((np.abs(signs @ values) >= abs(values.sum()) - 1e-12).sum())
        found = symmetric_interval(values.tolist())
        # 2^8 = 256 flips, 2.5% of them: 6 at each end.
        assert (found.low > 0.0 or found.high < 0.0) == (as_far <= 2 * 6)


@pytest.mark.parametrize("law", ["normal", "cauchy", "two points"])
def test_the_interval_of_sign_flips_holds_the_middle_of_every_symmetric_law(law: str) -> None:
    # 2000 trials of a coverage of at least 0.95: fewer than 1850 has probability below 1e-5 (2000 0.95 = 1900, sd 9.7).
    rng = np.random.default_rng(11)
    draw = {
        "normal": lambda: rng.normal(size=9), "cauchy": lambda: rng.standard_cauchy(size=9),
        "two points": lambda: rng.choice([-1.0, 1.0], size=9),
    }[law]  # fmt: skip
    held = 0
    for _ in range(2000):
        found = symmetric_interval((5.0 + draw()).tolist())
        held += found.low <= 5.0 <= found.high
    assert held >= 1850
