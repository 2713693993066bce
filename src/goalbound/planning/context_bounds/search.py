"""Branch and bound over sub-simplices of the context simplex: the search itself, its limits and its progress.

The function is known by certified lower bounds at points and certified upper bounds on sub-simplices. The one with the
largest upper bound is split at the middle of its longest edge, until nothing can be larger than the best point by more
than the tolerance. Corners are unit vectors, so the middles are exact in floating point and the parts cover the
simplex without a gap.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.planning.context_bounds.region import ContextPoint, CornerPoints

SMALLEST_EDGE = 2.0**-30
"""Sub-simplices with shorter edges are not split any more."""


class BoundStatus(Enum):
    """How the search for a bound ended. The interval is valid in every case."""

    CONVERGED = "converged"
    NO_PROPER_POLICY = "some context has no proper policy: nothing is finite"
    REGION_LIMIT = "stopped by the region limit: the interval is valid but wider than the tolerance"
    TIME_LIMIT = "stopped by the time limit: the interval is valid but wider than the tolerance"
    RESOLUTION = "stopped at the smallest regions: the interval is valid but wider than the tolerance"


class SearchProgress(NamedTuple):
    """How far a search has come: what it is sure of by now."""

    of: str
    """"loss" (B*) or "time" (T*)"""
    lower: float
    upper: float
    """the value lies between them; infinite while nothing is known"""
    regions: int
    """sub-simplices examined"""
    seconds: float
    """since it began"""


Tell = Callable[[SearchProgress], None]


@dataclass
class Budget:
    """How much a search may spend, sub-simplices examined and seconds (infinity: no limit), and whom it tells."""

    regions: int
    seconds: float = np.inf
    of: str = "loss"
    tell: Tell | None = None
    spent: int = 0
    _started: float = field(default_factory=time.monotonic)

    def limit_reached(self) -> BoundStatus | None:
        """The limit that forbids another split, if any."""
        if self.spent + 2 > self.regions:
            return BoundStatus.REGION_LIMIT
        if np.isfinite(self.seconds) and time.monotonic() - self._started >= self.seconds:
            return BoundStatus.TIME_LIMIT
        return None

    def report(self, lower: float, upper: float) -> None:
        """Tell how far the search has come, where someone asked for it."""
        if self.tell is not None:
            self.tell(SearchProgress(self.of, lower, upper, self.spent, time.monotonic() - self._started))

    def seconds_left(self) -> float:
        """At least a millisecond."""
        return max(1e-3, self.seconds - (time.monotonic() - self._started))


@dataclass
class Incumbent:
    """The largest certified lower bound so far, and where it is attained."""

    value: float
    context: NDArray[np.float64]
    state: int

    def update(self, value: float, context: NDArray[np.float64], state: int) -> None:
        """Replace the incumbent if this value is larger."""
        if value > self.value:
            self.value, self.context, self.state = value, context, state


def longest_edge(vertices: CornerPoints) -> tuple[int, int, float]:
    """The ends of the longest edge, the first of several, and its length (0 for a single point)."""
    found = (0, 0, 0.0)
    for j, k in itertools.combinations(range(len(vertices)), 2):
        length = float(np.sqrt(((vertices[j].context - vertices[k].context) ** 2).sum()))
        if length > found[2]:
            found = (j, k, length)
    return found


def maximise(
    root: CornerPoints,
    *,
    at: Callable[[NDArray[np.float64]], ContextPoint],
    upper: Callable[[CornerPoints, float], float],
    incumbent: Incumbent,
    tolerance: float,
    budget: Budget,
) -> tuple[float, BoundStatus]:
    """A certified upper bound of the largest value over ``root``; CONVERGED if <= (1 + tolerance) incumbent.value.

    Args:
        root: the vertices of the simplex.
        at: the vertex of a context; it updates ``incumbent`` with its own lower bound.
        upper: a certified upper bound over the sub-simplex of these vertices, at most that of its parent, which is
            given (infinity for the root); it may update ``incumbent`` too.
        incumbent: the best point, changed in place.
    """
    budget.spent += 1
    order = itertools.count()  # equal bounds are taken in the order they were found
    heap = [(-upper(root, np.inf), next(order), root)]
    settled = 0.0
    status = BoundStatus.CONVERGED
    while heap and -heap[0][0] > (1.0 + tolerance) * incumbent.value:
        budget.report(incumbent.value, max(settled, -heap[0][0]))
        ended = budget.limit_reached()
        if ended is not None:
            status = ended
            break
        bound, _, vertices = heapq.heappop(heap)
        j, k, length = longest_edge(vertices)
        if length < SMALLEST_EDGE:
            settled = max(settled, -bound)
            status = BoundStatus.RESOLUTION
            continue
        middle = at(0.5 * (vertices[j].context + vertices[k].context))
        for replaced in (j, k):
            half = (*vertices[:replaced], middle, *vertices[replaced + 1 :])
            budget.spent += 1
            above = upper(half, -bound)
            if above > (1.0 + tolerance) * incumbent.value:
                heapq.heappush(heap, (-above, next(order), half))
            else:
                settled = max(settled, above)
    largest = max(settled, -heap[0][0] if heap else 0.0, incumbent.value)
    budget.report(incumbent.value, largest)
    if status is BoundStatus.RESOLUTION and largest <= (1.0 + tolerance) * incumbent.value:
        status = BoundStatus.CONVERGED
    return largest, status
