"""What was read from a file into the state of a room is what visits imply: contexts are not negative and sum to 1,
outcomes lie in [0, 1]. Bounds leave room for rounding; what they leave to a forger is a learner of other steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.likelihood.forecasts import LEAST_FORECAST
from goalbound.confidence.likelihood.sets import MOST_TILT
from goalbound.confidence.likelihood.state import IN_USE, LikelihoodState, part_in_use
from goalbound.confidence.linearity import LinearityTest, Untested
from goalbound.confidence.regression import RegressionSums
from goalbound.errors import FileFormatError
from goalbound.models import Support
from goalbound.models.files.ranges import LARGEST, MANY, around, within, within_record

SLACK = 1e-6
"""A share of the visits and of the ridge: more than the rounding of sums."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def ridge_of(constants: Any) -> Floats:
    """[N] the multiple of the identity in the Gram matrix of a pair without data."""
    ridge: Floats = constants.regularization + np.where(constants.model.guessed, constants.model.strength, 0.0)
    return ridge


def visited(regression: RegressionSums, ridge: Floats) -> tuple[Floats, Floats]:
    """[N, d, d] the sums of c c^T, without the ridge, and [N] how far rounding may have moved them."""
    data = regression.gram - ridge[:, None, None] * np.eye(regression.gram.shape[1])
    return data, SLACK * (regression.visits + ridge)


def check_points(losses: Floats, rows: Floats, visits: Integers, ridge: Floats) -> None:
    """Ridge coefficients and projected rows."""
    most = 1.0 + 2.0 * np.sqrt(losses.shape[1] + visits / ridge)
    within("state.sets.losses", losses, *around(0.0, most[:, None]))
    within("state.sets.rows", rows, 0.0, 1.0 + SLACK)


def check_radii(**radii: Floats) -> None:
    """Radii by their names: none is negative."""
    for name, radius in radii.items():
        within(f"state.sets.{name}", radius, 0.0, LARGEST)


def check_variance(
    variance: Floats, log_det: Floats, regression: RegressionSums, ridge: Floats, support: Support
) -> None:
    """Sums of c c^T times at most a quarter; empty where there are none."""
    if not len(variance):
        return
    data, slack = visited(regression, ridge)
    rows, columns = np.tril_indices(data.shape[1])
    most = np.repeat(0.25 * data[:, rows, columns] + slack[:, None], np.diff(support.next_start), axis=0)
    within("variance of state.sets", variance, 0.0, most)
    within("variance_log_det of state.sets", log_det, 0.0, LARGEST)


def check_watch(test: LinearityTest | Untested, support: Support) -> None:
    """Each step of the test adds at most 1 to a sum, or takes it. They are kept where data is forgotten."""
    within_record(
        "violation", test.violation, found=(0, 1), pair=(0, support.pairs - 1), place=(-2, support.triples - 1)
    )
    if isinstance(test, Untested):
        return
    within("linearity steps", test.steps, 0, MANY)
    sums = 2.0 * (test.steps.astype(np.float64)[:, :, None] + 1.0)
    within("linearity losses", test.losses, *around(0.0, sums))
    within("linearity rows", test.rows, *around(0.0, np.repeat(sums, np.diff(support.next_start), axis=0)))


def check_likelihood(state: LikelihoodState, visits: Integers, support: Support) -> None:
    """Places and sums of likelihood-ratio sets. ``visits`` [N] are all that count."""
    within("likelihood visits", state.visits, 0, visits)
    within("likelihood bounded", state.bounded, 0, state.visits)
    within("likelihood fitted", state.fitted, 0, state.visits)
    _check_places(state, np.diff(support.next_start))
    used = part_in_use(state)
    within("likelihood pending", used.pending, 0, MANY)
    within("likelihood low", used.low, 0.0, 1.0)
    within("likelihood high", used.high, 0.0, 1.0)
    within("likelihood estimate", used.estimate, 0.0, 1.0)
    by_place = np.flatnonzero(state.place)[np.argsort(state.place[state.place > 0])]
    least, most = state.visits[by_place].astype(np.float64), visits[by_place].astype(np.float64)
    within("likelihood contexts", used.contexts, 0.0, LARGEST)
    room = SLACK * (most + 1.0)  # forecasts also use sums that came from another learner
    within("likelihood contexts", used.contexts.sum(axis=1), least - room, most + room)
    by_first = np.flatnonzero(state.place)
    by_first = by_first[np.argsort(state.first[by_first])]
    counts = np.diff(np.append(state.first[by_first], int(state.used["numbers"])))
    of_number = np.repeat(state.visits[by_first], counts).astype(np.float64)
    room = SLACK * (of_number + 1.0)
    within("likelihood ones", used.ones, 0.0, of_number + room)
    within("likelihood log_loss", used.log_loss, 0.0, (-np.log(LEAST_FORECAST) * 2.0 * (of_number + 1.0))[:, None])
    within("likelihood shift", used.shift, *around(0.0, np.log(MOST_TILT) * of_number + room))
    total = float(state.visits.sum())
    within("likelihood rows", used.rows[:, -1], 0.0, total * (1.0 + SLACK))
    within("likelihood rows", used.rows, 0.0, MOST_TILT * (total + 1.0))
    within("the likelihood row of cells without visits", state.rows[0], 0.0, 0.0)


def _check_places(state: LikelihoodState, lengths: Integers) -> None:
    """Every pair that was played has its place, its numbers and its rows, which nobody else has."""
    pairs, numbers, rows = (int(state.used[name]) for name in IN_USE.names or ())
    within("likelihood place", state.place, 0, pairs)
    within("likelihood first", state.first, 0, max(numbers - 1, 0))
    placed = np.flatnonzero(state.place)
    _check_each_once("likelihood place", state.place[placed], pairs)
    within("likelihood visits of pairs without a place", state.visits[state.place == 0], 0, 0)
    order = placed[np.argsort(state.first[placed])]
    ends = np.cumsum(1 + lengths[order])
    first = ends - 1 - lengths[order]
    within("likelihood first", state.first[order], first, first)
    end = np.append(0, ends)[-1:]
    within("likelihood numbers", np.array([numbers]), end, end)
    used = part_in_use(state)
    taken = np.concatenate([used.cell_rows.ravel(), used.hit_rows.ravel(), used.miss_rows.ravel()])
    _check_each_once("likelihood rows", taken[taken != 0], rows)


def _check_each_once(name: str, numbers: NDArray[Any], count: int) -> None:
    """The numbers are 1 to ``count``, in any order."""
    if len(numbers) != count:
        raise FileFormatError(f"{name} has {len(numbers)} entries, and {count} are in use")
    each = np.arange(1, count + 1)
    within(name, np.sort(numbers), each, each)
