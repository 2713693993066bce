"""Branch and bound on functions that are arithmetic: what is found, when it stops, and what it tells meanwhile."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from goalbound.planning.context_bounds import BoundStatus, SearchProgress
from goalbound.planning.context_bounds.region import ContextPoint, ContextPoints, CornerPoints
from goalbound.planning.context_bounds.search import Budget, Incumbent, longest_edge, maximise
from goalbound.problems import treatment_ladder

POINTS = ContextPoints(treatment_ladder(1, markers=2))
ROOT: CornerPoints = tuple(POINTS.at(corner) for corner in np.eye(3))


def search(budget: Budget, tolerance: float = 0.01) -> tuple[float, BoundStatus, Incumbent]:
    """The largest value of 1 - |c - (1/3, 1/3, 1/3)|^2, which is 1; no value is further from another than 4 edges."""
    incumbent = Incumbent(0.0, ROOT[0].context, 0)

    def value(context: NDArray[np.float64]) -> float:
        return float(1.0 - ((context - 1.0 / 3.0) ** 2).sum())

    def at(context: NDArray[np.float64]) -> ContextPoint:
        incumbent.update(value(context), context, 0)
        return POINTS.at(context)

    def upper(corners: CornerPoints, parent: float) -> float:
        return min(parent, max(value(corner.context) for corner in corners) + 4.0 * longest_edge(corners)[2])

    largest, status = maximise(ROOT, at=at, upper=upper, incumbent=incumbent, tolerance=tolerance, budget=budget)
    return largest, status, incumbent


def test_the_largest_value_lies_in_the_interval() -> None:
    largest, status, incumbent = search(Budget(100_000))
    assert status is BoundStatus.CONVERGED
    assert incumbent.value <= 1.0 <= largest <= 1.01 * incumbent.value


@pytest.mark.parametrize(
    ("budget", "status"),
    [(Budget(10), BoundStatus.REGION_LIMIT), (Budget(100_000, 1e-9), BoundStatus.TIME_LIMIT)],
)
def test_a_search_that_is_stopped_says_so_and_what_it_knows(budget: Budget, status: BoundStatus) -> None:
    largest, found, incumbent = search(budget)
    assert found is status
    assert incumbent.value <= 1.0 <= largest


def test_it_tells_of_an_interval_that_only_shrinks() -> None:
    heard: list[SearchProgress] = []
    largest, _, incumbent = search(Budget(100_000, of="time", tell=heard.append))
    assert len(heard) > 10
    assert {one.of for one in heard} == {"time"}
    for one, following in pairwise(heard):
        assert one.lower <= following.lower <= 1.0 <= following.upper <= one.upper
        assert one.regions <= following.regions
        assert one.seconds <= following.seconds
    assert (heard[-1].lower, heard[-1].upper) == (incumbent.value, largest)
