"""Maps from data: knots at quantiles, categories that are frequent, centres of clusters. Fit once, before learning."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from goalbound.adapters.covariates.columns import column_of, is_missing, listed, number_column, number_rows
from goalbound.adapters.covariates.composite import Additive, Tensor
from goalbound.adapters.covariates.covariate_map import CovariateMap, Floats, check_map, checked_size
from goalbound.adapters.covariates.multivariate import FromTransformer, SoftClusters, products
from goalbound.adapters.covariates.univariate import Categories, Hats, plain_value
from goalbound.errors import ArgumentError
from goalbound.models.validation import check_int, check_list, generator_from_seed, set_readonly, short_repr

MAX_LLOYD_ITERATIONS = 1000
"""The most iterations of k-means; data that needs more is an error."""

Map = TypeVar("Map", bound=CovariateMap)


def fit_hats(values: Any, count: int, *, clamp: bool = False) -> Hats:
    """Hat functions with ``count`` knots at quantiles of the values: equally many values lie between two knots.

    Missing values are left out; see :func:`fill_missing`.

    >>> fit_hats([1, 2, 3, 4, 50], 3).knots
    array([ 1.,  3., 50.])
    """
    return Hats(_quantiles(values, count), clamp=clamp)


def fit_categories(values: Any, *, min_count: int = 1, other: bool = True) -> Categories:
    """The categories that occur at least ``min_count`` times, in the order of their names.

    Missing values are left out; see :func:`fill_missing`.

    >>> fit_categories(["A", "B", "A", "C", None, "B"], min_count=2).names
    ('A', 'B', 'other')
    """
    given = [value for value in map(plain_value, listed(values)) if not is_missing(value)]
    for place, value in enumerate(given):
        if not isinstance(value, str | int | float):
            raise ArgumentError(
                f"values: {short_repr(value)} (number {place}) is not a category, which is a word or a whole number"
            )
    counts = Counter(given)
    least = check_int(min_count, "min_count", most=2**62)
    kept = sorted((value for value, count in counts.items() if count >= least), key=lambda one: (str(type(one)), one))
    rare = [value for value in counts if value not in kept]
    if not kept or (rare and not other):
        what = f"{rare[0]!r} occurs {counts[rare[0]]} times" if rare else "there are no values"
        raise ArgumentError(f"{what}, and min_count is {least}; lower it, or let rare ones be other=True")
    return Categories(tuple(kept), other=other)


def fit_clusters(table: Any, count: int, *, seed: int, temperature: float | None = None) -> SoftClusters:
    """Centres by k-means (Lloyd's rounds from the seeds of k-means++), in units of each column's standard deviation.

    ``table`` [K, n]; rows with gaps are left out. Without a temperature it is twice the mean squared distance to the
    nearest centre, per column: that of equal round Gaussian clusters. The same seed gives the same centres; they are
    in the order of their first column.

    >>> rows = [[0.0, 0.0], [0.2, 0.0], [9.0, 9.0], [9.2, 9.0]]
    >>> fit_clusters(rows, 2, seed=0).centres
    array([[0.1, 0. ],
           [9.1, 9. ]])
    """
    data = _usable_rows(table)
    if not 1 <= check_int(count, "count") <= len(np.unique(data, axis=0)):
        raise ArgumentError(
            f"count is {short_repr(count)}; it is from 1 to the number of different rows of the table, "
            f"{len(np.unique(data, axis=0))}"
        )
    checked_size(count, "SoftClusters")
    spread = data.std(axis=0)
    scales = np.where(spread > 0.0, spread, 1.0)
    centres = _lloyd(data / scales, _seeds(data / scales, count, generator_from_seed(seed)))
    if temperature is None:
        temperature = 2.0 * float(_squared_distances(data / scales, centres).min(axis=1).mean()) / data.shape[1]
        if temperature == 0.0:
            raise ArgumentError("every row is a centre, so nothing says how soft the clusters are; give a temperature")
    order = np.lexsort(centres.T[::-1])
    return SoftClusters(centres[order] * scales, temperature, scales)


def fill_missing(map: Map, table: Any) -> Map:
    """The map with a rule for missing values: they get the mean context of the rows of the table that have none.

    Parts of :class:`Additive` and :class:`Tensor` get the means of their own columns.

    >>> fill_missing(Hats([0, 10]), [0, 5, 10, 10, None])(None)
    array([0.375, 0.625])
    """
    check_map(map)
    filled: Any
    if isinstance(map, Additive | Tensor):
        parts = zip(map.maps, map.columns, strict=True)
        filled = replace(map, maps=tuple(fill_missing(part, column_of(table, column)) for part, column in parts))
        return filled
    if isinstance(map, FromTransformer) or not hasattr(map, "missing"):
        raise ArgumentError(f"a {type(map).__name__} has no rule for missing values; let the transformer fill them")
    anything: Any = replace(map, missing=np.eye(map.context_size)[0])  # type: ignore[type-var]
    result = anything.apply(table)
    complete = ~result.missing.any(axis=1)
    if not complete.any():
        raise ArgumentError("every row has something missing; a mean needs at least one complete row")
    mean = result.accepted()[complete].mean(axis=0)
    filled = replace(map, missing=mean / mean.sum())  # type: ignore[type-var]
    return filled


def _quantiles(values: Any, count: int) -> Floats:
    if check_int(count, "count") < 2:
        raise ArgumentError(f"count is {short_repr(count)}; there are at least 2 knots, the ends")
    checked_size(count, "by count, the knots")
    numbers = number_column(values)
    numbers = numbers[~np.isnan(numbers)]
    if not len(numbers) or np.isinf(numbers).any():
        raise ArgumentError(f"values: there are {len(numbers)} numbers to fit to, and all must be finite")
    knots = np.quantile(numbers, np.linspace(0.0, 1.0, count))
    if len(np.unique(knots)) < count:
        raise ArgumentError(
            f"{count} quantiles of the values give only {len(np.unique(knots))} different knots, because many values "
            "are equal; ask for fewer, or place the knots yourself"
        )
    return knots


def _usable_rows(table: Any) -> Floats:
    table = table if isinstance(table, np.ndarray) and table.ndim else check_list(table, "table", "rows of numbers")
    first: Any = next(iter(table), None)
    if first is None or not np.iterable(first):
        raise ArgumentError("clusters need rows of numbers, a table [K, n]; for one column use fit_hats")
    if not len(list(first)):
        raise ArgumentError("the first row of the table is empty; clusters need rows of numbers, [K, n]")
    data = number_rows(table, len(list(first)))
    data = data[~np.isnan(data).any(axis=1)]
    if not len(data) or not np.isfinite(data).all():
        raise ArgumentError(f"the table has {len(data)} rows without gaps to fit to, and all must be finite")
    return data


def _squared_distances(rows: Floats, centres: Floats) -> Floats:
    """[K, k]"""
    return np.asarray(
        np.maximum((rows**2).sum(axis=1)[:, None] - 2.0 * products(rows, centres) + (centres**2).sum(axis=1), 0.0)
    )


def _seeds(rows: Floats, count: int, rng: np.random.Generator) -> Floats:
    """k-means++: each next seed is drawn in proportion to its squared distance from those before."""
    chosen = [int(rng.integers(len(rows)))]
    nearest = ((rows - rows[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < count:
        chosen.append(int(rng.choice(len(rows), p=nearest / nearest.sum())))
        nearest = np.minimum(nearest, ((rows - rows[chosen[-1]]) ** 2).sum(axis=1))
    return rows[chosen]


def _lloyd(rows: Floats, centres: Floats) -> Floats:
    """Centres that are the means of the rows nearest to them."""
    middle = rows.mean(axis=0)  # distances are more exact around it
    rows, centres = rows - middle, centres - middle
    owner: NDArray[np.int64] | None = None
    for _ in range(MAX_LLOYD_ITERATIONS):
        distances = _squared_distances(rows, centres)
        now = np.argmin(distances, axis=1)
        if owner is not None and np.array_equal(now, owner):
            return set_readonly(centres + middle)
        owner = now
        for k in range(len(centres)):
            mine = rows[owner == k]
            # A centre that lost all its rows restarts at the row furthest from its centre.
            centres[k] = mine.mean(axis=0) if len(mine) else rows[np.argmax(distances.min(axis=1))]
    raise ArgumentError(
        f"k-means did not converge in {MAX_LLOYD_ITERATIONS} iterations; ask for fewer clusters, or fit to a sample"
    )
