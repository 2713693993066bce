"""The room of likelihood-ratio sets: all coefficients under which what was seen was not too unlikely, compared with
forecasts that were made before, intersected with the sharp intervals. :mod:`.sets` has the formulas,
docs/explanation/likelihood.md the proofs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.likelihood.bounds import new_bound_workspace, new_lattice
from goalbound.confidence.likelihood.sets import (
    FORECASTERS,
    LEAST_FORECAST,
    MOST_TILT,
    LikelihoodConstants,
    LikelihoodState,
    LikelihoodView,
    count_missing_forecasts,
    erase_likelihood,
    learn_likelihood,
    likelihood_loss,
    likelihood_row,
    make_forecasts,
    take_over_likelihood,
)
from goalbound.confidence.protocol import ConfidenceModel, Run
from goalbound.confidence.regression import FILE_SLACK
from goalbound.confidence.sharp import (
    SharpState,
    check_variance,
    filling,
    new_sharp_state,
    sharp_constants,
    sharp_slots,
)
from goalbound.confidence.widths import IntervalPieces, Widths
from goalbound.errors import FileFormatError
from goalbound.jit.records import lazy_zeros, new_record, record_type
from goalbound.models import Support
from goalbound.models.files.ranges import LARGEST, MANY, around, matching, within
from goalbound.models.validation import set_readonly
from goalbound.planning.kernels.value_iteration import INTERVAL_SET

SET_SHARE, LIKELIHOOD_SHARE, OTHER_SHARE = 0.45, 0.98, 0.05
"""The shares of delta of the sets of losses, and of rows; what of them belongs to the likelihoods; and the share of
each of the other two items of the good event."""
MOST_CELLS = 12
"""Of a lattice of cells; unless the corners alone are more."""
MOST_VERTICES, MOST_PAIR_BOUNDS = 36, 180
"""Of a lattice, and in all for the numbers of one pair; unless the corners alone are more."""
MOST_BOUNDS = 2**22
"""Numbers times vertices: with more numbers the lattice is coarser."""
IN_USE = record_type(integers=("pairs", "numbers", "rows"))
"""Fields of :attr:`LikelihoodState.used`: how many there are of each."""
BY_PAIR, BY_NUMBER = (
    ("contexts", "cell_rows"),
    ("log_loss", "estimate", "missing", "ones", "shift", "outcome_rows", "low", "high"),
)
"""Arrays of which only the pairs and numbers in use are part of a learner."""
PIECES = IntervalPieces()


@dataclass(frozen=True)
class Likelihood(ConfidenceModel):
    """The room of likelihood-ratio sets.

    Attributes:
        widths: the rule, with the pieces of the sharp intervals.
    """

    widths: Widths
    slots = sharp_slots(PIECES)._replace(
        loss_set=likelihood_loss.filled(filling(PIECES)),
        row_set=likelihood_row.filled(filling(PIECES)),
        before_visit=make_forecasts,
        missing=count_missing_forecasts,
        learn=learn_likelihood,
        erase=erase_likelihood,
        take_over=take_over_likelihood,
    )
    shape = INTERVAL_SET
    learns_from_sets = True

    def constants(self, run: Run) -> LikelihoodConstants:
        """The numbers that have a set: what is known has none, nor has a certain next state, and of two next states
        one is enough."""
        support = run.support
        lengths = np.diff(support.next_start)
        rows = np.repeat(run.counted.rows & (lengths > 1), lengths)
        rows[support.next_start[:-1][lengths == 2] + 1] = False
        losses = run.counted.losses
        tracked = np.insert(rows, support.next_start[:-1], losses)
        of_pair = MOST_PAIR_BOUNDS // (int(lengths.max()) + 1)
        budget = max(1, min(MOST_VERTICES, of_pair, MOST_BOUNDS // len(tracked)))
        share = SET_SHARE * LIKELIHOOD_SHARE * run.delta
        return LikelihoodConstants(
            sharp=sharp_constants(self.widths, run, SET_SHARE * (1.0 - LIKELIHOOD_SHARE)),
            loss_log=log(max(1, int(losses.sum())) / share),
            row_log=log(max(1, int(rows.sum())) / share),
            vertices=new_lattice(run.size, budget),
            cells=new_lattice(run.size, min(budget, MOST_CELLS)),
            tracked=set_readonly(tracked),
        )

    def delta_of_tests(self, delta: float) -> float:
        """The other two items of the good event have a share of 0.05 each."""
        return delta * (4.0 * OTHER_SHARE)

    def new_state(self, run: Run, constants: Any) -> LikelihoodState:
        """Nothing was seen."""
        return new_likelihood_state(
            run.support.pairs,
            run.support.triples,
            run.size,
            len(constants.vertices.vertices),
            len(constants.cells.vertices),
            sharp=new_sharp_state(self.widths, run),
        )

    def new_view(self, run: Run) -> LikelihoodView:
        """Forecasts of 1/2."""
        return LikelihoodView(np.full((int(np.diff(run.support.next_start).max()) + 1, FORECASTERS), 0.5))

    def step_work(self, constants: Any) -> float:
        """Now and then all bounds of a pair are computed again."""
        return float(len(constants.vertices.vertices) * len(constants.cells.vertices))

    def state_in_use(self, state: Any) -> LikelihoodState:
        """Without room for pairs that were not played."""
        return part_in_use(state)

    def claim(self, state: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
        """As many pairs, numbers and rows are in use as the file says."""
        claim_in_use(state, arrays)

    def plan_work(self) -> int:
        """60 ms instead of 1 ms, on a treatment ladder."""
        return 50

    def check(self, learner: Any) -> None:
        """Sums over the visits of the pair whose numbers they are."""
        check_variance(learner)
        check_likelihood(learner._state.sets, learner._state.regression.visits, learner.support)

    def check_views(self, views: Any) -> None:
        """Forecasts have a logarithm."""
        within("forecast", views.forecast, np.finfo(np.float64).tiny, 1.0 - 2.0**-53)


def new_likelihood_state(
    pairs: int, triples: int, size: int, vertices: int, cells: int, *, sharp: SharpState
) -> LikelihoodState:
    """Nothing was seen."""
    numbers = pairs + triples
    return LikelihoodState(
        sharp=sharp,
        **{name: np.zeros(pairs, dtype=np.int64) for name in ("place", "first", "visits", "fitted", "bounded")},
        contexts=lazy_zeros((pairs, size)),
        cell_rows=lazy_zeros((pairs, cells), np.int32),
        log_loss=lazy_zeros((numbers, FORECASTERS)),
        estimate=lazy_zeros((numbers, size)),
        missing=lazy_zeros((numbers,), np.int64),
        ones=lazy_zeros((numbers,)),
        shift=lazy_zeros((numbers,)),
        outcome_rows=lazy_zeros((numbers, 2, cells), np.int32),
        low=lazy_zeros((numbers, vertices)),
        high=lazy_zeros((numbers, vertices)),
        rows=lazy_zeros((1 + (pairs + 2 * numbers) * cells, size + 1)),
        used=new_record(IN_USE),
        work=new_bound_workspace(size),
    )


def part_in_use(state: LikelihoodState) -> LikelihoodState:
    """The same arrays, as views, without the room that nothing uses yet."""
    pairs, numbers, rows = (int(state.used[name]) for name in ("pairs", "numbers", "rows"))
    shown = {name: getattr(state, name)[:pairs] for name in BY_PAIR}
    shown |= {name: getattr(state, name)[:numbers] for name in BY_NUMBER}
    return state._replace(**shown, rows=state.rows[: 1 + rows])


def claim_in_use(state: LikelihoodState, arrays: Mapping[str, NDArray[Any]]) -> None:
    """As much room is in use as a file says; that its arrays have these shapes is checked when they are read."""
    room = {"pairs": len(state.contexts), "numbers": len(state.ones), "rows": len(state.rows) - 1}
    for field, most in room.items():
        name = f"state.sets.used.{field}"
        claimed = matching(arrays, name, (1,), np.int64)
        within(name, claimed, 0, most)
        state.used[field] = claimed[0]


def check_likelihood(state: LikelihoodState, visits: NDArray[np.int64], support: Support) -> None:
    """Places and sums of likelihood-ratio sets. ``visits`` [N] are all that count."""
    within("likelihood visits", state.visits, 0, visits)
    within("likelihood bounded", state.bounded, 0, state.visits)
    within("likelihood fitted", state.fitted, 0, state.visits)
    _check_places(state, np.diff(support.next_start))
    used = part_in_use(state)
    within("likelihood missing", used.missing, 0, MANY)
    within("likelihood low", used.low, 0.0, 1.0)
    within("likelihood high", used.high, 0.0, 1.0)
    within("likelihood estimate", used.estimate, 0.0, 1.0)
    by_place = np.flatnonzero(state.place)[np.argsort(state.place[state.place > 0])]
    least, most = state.visits[by_place].astype(np.float64), visits[by_place].astype(np.float64)
    within("likelihood contexts", used.contexts, 0.0, LARGEST)
    room = FILE_SLACK * (most + 1.0)  # forecasts also use sums that came from another learner
    within("likelihood contexts", used.contexts.sum(axis=1), least - room, most + room)
    by_first = np.flatnonzero(state.place)
    by_first = by_first[np.argsort(state.first[by_first])]
    counts = np.diff(np.append(state.first[by_first], int(state.used["numbers"])))
    of_number = np.repeat(state.visits[by_first], counts).astype(np.float64)
    room = FILE_SLACK * (of_number + 1.0)
    within("likelihood ones", used.ones, 0.0, of_number + room)
    within("likelihood log_loss", used.log_loss, 0.0, (-np.log(LEAST_FORECAST) * 2.0 * (of_number + 1.0))[:, None])
    within("likelihood shift", used.shift, *around(0.0, np.log(MOST_TILT) * of_number + room))
    total = float(state.visits.sum())
    within("likelihood rows", used.rows[:, -1], 0.0, total * (1.0 + FILE_SLACK))
    within("likelihood rows", used.rows, 0.0, MOST_TILT * (total + 1.0))
    within("the likelihood row of cells without visits", state.rows[0], 0.0, 0.0)


def _check_places(state: LikelihoodState, lengths: NDArray[np.int64]) -> None:
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
    taken = np.concatenate([used.cell_rows.ravel(), used.outcome_rows.ravel()])
    _check_each_once("likelihood rows", taken[taken != 0], rows)


def _check_each_once(name: str, numbers: NDArray[Any], count: int) -> None:
    """The numbers are 1 to ``count``, in any order."""
    if len(numbers) != count:
        raise FileFormatError(f"{name} has {len(numbers)} entries, and {count} are in use")
    each = np.arange(1, count + 1)
    within(name, np.sort(numbers), each, each)
