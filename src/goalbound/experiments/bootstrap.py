"""Confidence intervals over seeds: bootstrap bands, exact proportions, exact intervals of differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
LEVEL = 0.95
MAX_ENUMERATED = 16
"""Up to this many values, all subsets are enumerated."""
DRAWN_SUBSETS = 9999
FEW_SEEDS = "fewer than 6 seeds: no interval"


@dataclass(frozen=True)
class Estimate:
    """A number over seeds.

    Attributes:
        mean: over the seeds that have the number; None if none has.
        low: lower end of the 95% band of the mean; None without a band.
        high: upper end.
        values: the number of each seed, in the order of the group's seeds.
        note: why there is no mean or no band, or which seeds are left out; empty if all is there.
    """

    mean: float | None
    low: float | None
    high: float | None
    values: tuple[float | None, ...]
    note: str = ""

    @property
    def has_band(self) -> bool:
        """Whether there are two seeds or more to make a band of."""
        return self.low is not None and self.high is not None


def estimate(values: Sequence[float | None], *, seed: int = 0, reasons: Sequence[str] = ()) -> Estimate:
    """The mean over seeds and its percentile bootstrap band.

    Seeds are resampled with replacement 2000 times; the band covers 95% of the means. With few seeds it is too narrow:
    for normal values it covers the mean with probability 0.75 with three seeds (where it is their range), 0.84 with
    five, 0.90 with ten, 0.93 with twenty. Numbers of equally many seeds share their resamples.

    Args:
        values: one per seed; None, or a number that is not finite, where a run has no such number.
        seed: of the resampling.
        reasons: why values are missing; empty ones do not count.

    >>> estimate([1.0, 2.0, 3.0])
    Estimate(mean=2.0, low=1.0, high=3.0, values=(1.0, 2.0, 3.0), note='')
    >>> estimate([1.0])
    Estimate(mean=1.0, low=None, high=None, values=(1.0,), note='one seed: no band')
    """
    kept = tuple(None if value is None or not math.isfinite(value) else float(value) for value in values)
    there = np.array([value for value in kept if value is not None], dtype=np.float64)
    notes = []
    if len(there) < len(kept):
        why = "; ".join(dict.fromkeys(reason for reason in reasons if reason)) or "not known"
        notes.append(why if not len(there) else f"{len(there)} of {len(kept)} seeds; others: {why}")
    if not len(there):
        return Estimate(None, None, None, kept, "".join(notes) or "no runs")
    if len(there) == 1:
        notes.append("one seed: no band")
        return Estimate(float(there[0]), None, None, kept, "; ".join(notes))
    low, high = band(there[:, None], seed=seed)
    return Estimate(float(there.mean()), float(low[0]), float(high[0]), kept, "; ".join(notes))


def band(values: NDArray[np.float64], *, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower and upper ends [m] of the bands of the means of m numbers, ``values`` [seeds, m] with two seeds or more."""
    count = len(values)
    drawn = np.random.default_rng([seed, count]).integers(count, size=(RESAMPLES, count))
    times = np.stack([(drawn == one).sum(axis=1) for one in range(count)], axis=1).astype(np.float64)
    means = np.einsum("bn,nm->bm", times, values) / count
    low, high = np.quantile(means, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0], axis=0)
    return low, high


def proportion(flags: Sequence[bool | None], *, reason: str = "not known") -> Estimate:
    """The share of the seeds for which something held, with the exact 95% band of Clopper and Pearson.

    Not a bootstrap: where it held for all seeds, resampling would claim certainty.

    >>> two = proportion([True, True])
    >>> two.mean, round(two.low, 4), two.high  # low: p with p^2 = 0.025
    (1.0, 0.1581, 1.0)
    """
    from scipy.special import betaincinv  # scipy.stats takes much longer to import

    kept = tuple(None if flag is None else float(flag) for flag in flags)
    there = [value for value in kept if value is not None]
    if not there:
        return Estimate(None, None, None, kept, reason)
    held, count = int(sum(there)), len(there)
    if count == 1:
        return Estimate(there[0], None, None, kept, "one seed: no band")
    tail = (1.0 - LEVEL) / 2.0
    low = float(betaincinv(held, count - held + 1, tail)) if held else 0.0
    high = float(betaincinv(held + 1, count - held, 1.0 - tail)) if held < count else 1.0
    return Estimate(held / count, low, high, kept)


def symmetric_interval(values: Sequence[float], *, seed: int = 0) -> Estimate:
    """The mean over seeds, and a confidence interval of the centre of their law, exact if the law is symmetric.

    The centre lies between any two neighbours of the sorted means of the subsets of n such values with probability
    2^-n (Hartigan, 1969). So a 95% interval needs six values, of which it is the range; it excludes 0 if and only if
    fewer than 5% of all sign flips have a mean as far from 0. No other assumption is made. Above 16 values, 9999
    subsets are drawn, which is exact but for subsets drawn twice.

    >>> symmetric_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    Estimate(mean=3.5, low=1.0, high=6.0, values=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0), note='')
    >>> symmetric_interval([1.0, 2.0, 3.0]).note
    'fewer than 6 seeds: no interval'
    """
    array = np.array(values, dtype=np.float64)
    count = len(array)
    if count <= MAX_ENUMERATED:
        chosen = (np.arange(1, 2**count)[:, None] >> np.arange(count)) & 1
    else:
        chosen = np.random.default_rng([seed, count]).integers(2, size=(DRAWN_SUBSETS, count))
        chosen = chosen[chosen.any(axis=1)]
    outside = math.floor((len(chosen) + 1) * (1.0 - LEVEL) / 2.0)
    mean, kept = float(array.mean()), tuple(array.tolist())
    if not outside:
        return Estimate(mean, None, None, kept, "one seed: no interval" if count == 1 else FEW_SEEDS)
    means = np.sort(np.einsum("kn,n->k", chosen.astype(np.float64), array) / chosen.sum(axis=1))
    return Estimate(mean, float(means[outside - 1]), float(means[-outside]), kept)
