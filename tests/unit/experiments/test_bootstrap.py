"""Intervals over seeds."""

from __future__ import annotations

import numpy as np

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
