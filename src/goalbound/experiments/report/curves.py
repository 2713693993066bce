"""Curves of a report: means over seeds with bands, on a grid of episodes; and how the regret grows along them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goalbound.experiments import metrics
from goalbound.experiments.bootstrap import band

if TYPE_CHECKING:
    from goalbound.experiments.records import RunRecord
    from goalbound.experiments.summary import RunGroup

POINTS = 240
"""The most points of a curve."""
COARSE = 48
"""The most points of the curves of single seeds and of the local exponent."""
WINDOW = 10.0
"""The local exponent is fitted from K / 10 to K."""
FIT_POINTS = 20
DIGITS = 6
"""Significant digits of the numbers in a page."""


def episode_grid(groups: Sequence[RunGroup]) -> NDArray[np.int64]:
    """Episodes that all runs kept: half of them evenly spaced, half evenly in the logarithm."""
    tables = [record.table["episode"] for group in groups for record in group.records.values()]
    kept = tables[0]
    for episode in tables[1:]:
        kept = np.intersect1d(kept, episode)
    if len(kept) <= POINTS:
        return kept
    first, last = float(kept[0]), float(kept[-1])
    wanted = np.concatenate([np.geomspace(first, last, POINTS // 2), np.linspace(first, last, POINTS // 2)])
    return kept[np.unique(metrics.nearest_rows(kept, wanted))]


def coarse_grid(grid: NDArray[np.int64]) -> NDArray[np.int64]:
    """Fewer episodes of the grid, about evenly spaced in the logarithm; the last is among them."""
    wanted = np.geomspace(float(grid[0]), float(grid[-1]), COARSE)
    return grid[np.unique(metrics.nearest_rows(grid, wanted))]


def mean_curve(curves: Sequence[NDArray[np.float64]]) -> dict[str, Any]:
    """The mean over seeds, and with two or more the ends of its band; NaN where a seed has no value."""
    values = np.array(curves)
    fine = np.isfinite(values).all(axis=0)
    filled = np.where(fine, values, 0.0)
    ends = band(filled) if len(values) > 1 else None
    mean, *bands = (all_rounded(np.where(fine, one, np.nan)) for one in (filled.mean(axis=0), *(ends or ())))
    low, high = bands or (None, None)
    return {"values": mean, "low": low, "high": high}


def local_exponents(record: RunRecord, at: NDArray[np.int64]) -> NDArray[np.float64]:
    """The x with regret ~ episodes^x from K / 10 to K, at each K: least squares on the logarithms.

    NaN before there is a decade, and where there was no regret at its beginning.
    """
    shift = -np.linspace(1.0, 0.0, FIT_POINTS)  # in decades
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.log10(metrics.cumulative_at(record, "expected_regret", (at[:, None] * WINDOW**shift).ravel()))
    y = y.reshape(len(at), FIT_POINTS)
    x = shift - shift.mean()
    fine = (at >= WINDOW * record.table["episode"][0]) & np.isfinite(y).all(axis=1)
    return np.where(fine, np.where(np.isfinite(y), y, 0.0) @ x / (x @ x), np.nan)


def rounded(value: float | None) -> float | None:
    """To six significant digits; None for what is not finite."""
    if value is None or not np.isfinite(value):
        return None
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def all_rounded(values: NDArray[np.float64]) -> list[float | None]:
    """Each of them by :func:`rounded`."""
    return [rounded(float(value)) for value in values]
