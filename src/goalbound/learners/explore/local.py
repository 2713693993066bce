"""Optimism about the next step only: the plan of the estimate, but for the step that is to be made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.points import POINT_SLOTS, Points, estimated_loss, estimated_row
from goalbound.confidence.protocol import Run
from goalbound.jit.compile import engine, lean
from goalbound.jit.records import new_record, record_type
from goalbound.jit.struct import Struct
from goalbound.learners.explore.crossings import fill_row, filled_loss, mark_interchangeable, row_concentration
from goalbound.learners.explore.greedy import CEILING
from goalbound.learners.explore.protocol import ExplorationRule, ExploreSlots, check_rule, outgrown_if_unknown
from goalbound.learners.explore.shrinkage import set_loss_shrinkage
from goalbound.models.validation import set_readonly
from goalbound.planning.kernels.stochastic_rows import TO_BEST, min_with_free_mass

LEAST_VARIANCE = 0.01
"""Added to the variance of the value of the next state, in units of the squared range of the values that may follow."""
LOCAL_PROGRESS = record_type(reals=("own_share", "mean_loss", "shrinkage", "dispersion", "concentration"))
"""Fields of :attr:`LocalView.progress`, as :mod:`.shrinkage` and :mod:`.crossings` say."""


class LocalConstants(Struct):
    """The bonus, and the pairs that nothing but experience tells apart."""

    bonus: float
    """its factor"""
    pairs: NDArray[np.bool_]
    """[N] the interchangeable pairs"""


class LocalView(Struct):
    """What an episode begins with."""

    progress: np.void
    """fields: LOCAL_PROGRESS"""


@lean
def begin_local(constants, state, view):
    """How noisy losses have been, and how much of all steps were one's own."""
    set_loss_shrinkage(constants, state, view.explore.progress)


@lean
def begin_at_crossings(constants, state, view):
    """How deterministic rows have been, too."""
    set_loss_shrinkage(constants, state, view.explore.progress)
    view.explore.progress["concentration"] = row_concentration(constants, state)


@lean
def shrunk_loss(constants, state, view, pair):
    """The estimated loss; above the mean of all steps it is drawn to it, unless it was guessed."""
    loss = estimated_loss(state, view, pair)
    if not constants.model.guessed[pair]:
        norm = view.norm[pair]
        weight = view.explore.progress["shrinkage"] * norm * norm
        loss = min(loss, (loss + weight * view.explore.progress["mean_loss"]) / (1.0 + weight))
    return min(1.0, loss), min(1.0, loss)


@lean
def crossing_loss(constants, state, view, pair):
    """The loss of an interchangeable pair is filled by what was seen under all contexts."""
    if not constants.explore.pairs[pair]:
        return shrunk_loss(constants, state, view, pair)
    loss = min(1.0, filled_loss(constants, state, view, pair, estimated_loss(state, view, pair)))
    return loss, loss


@lean
def crossing_row(constants, state, view, pair):
    """The row of an interchangeable pair is filled likewise, and leads to the best next state by a share."""
    view.sets.ball[pair] = 0.0
    estimated_row(constants, state, view, pair)
    if constants.explore.pairs[pair]:
        fill_row(constants, state, view, pair)
    return 0.0


@lean
def bonus_visits(view, planned):
    """The visits that the bonus of a pair grows with, in a state whose pair of the plan is ``planned``: those of that
    pair, 1 / w^2 of them for contexts like this one, but no more than there were episodes."""
    norm = view.norm[planned]
    return min(1.0 / (norm * norm), float(view.progress["number"]))


@lean
def value_range(constants, view, pair):
    """How far the values of the states that may follow a pair are apart, by the plan of the view."""
    least = np.inf
    most = 0.0
    for k in range(constants.next_start[pair], constants.next_start[pair + 1]):
        value = view.iteration.values[constants.next_state[k]]
        least = min(least, value)
        most = max(most, value)
    return most - least


@lean
def optimistic_worth(constants, view, pair, visits):
    """The backup of a pair at the values of the plan, less the bonus of its estimate. O(m).

    The variance of an outcome is that of the loss, by the dispersion of all losses, and that of the value of the next
    state. While little was seen the latter has w^2 of the squared range of the values that may follow: where all next
    states are alike, there is nothing to find out. What is known has no variance. The bonus grows with the logarithm of
    ``visits`` over those of the pair itself, 1 / w^2, so that no pair is given up for ever. Of it counts the share of
    steps that were one's own: after a log it is nothing at first.
    """
    sets = view.sets
    loss = sets.losses[pair]
    mean = 0.0
    square = 0.0
    for k in range(sets.next_start[pair], sets.next_start[pair] + sets.used[pair]):
        value = view.iteration.values[sets.state[k]]
        mean += sets.centre[k] * value
        square += sets.centre[k] * value * value
    if sets.mass[pair] == TO_BEST:
        _, best = min_with_free_mass(sets, pair, view.iteration.values)
        value = view.iteration.values[sets.state[sets.next_start[pair] + best]]
        mean += sets.ball[pair] * value
        square += sets.ball[pair] * value * value
    norm = view.norm[pair]
    variance = 0.0
    if not constants.declared.loss_known[pair]:
        variance += view.explore.progress["dispersion"] * min(loss, 1.0) * (1.0 - min(loss, 1.0))
    if not constants.declared.row_known[pair]:
        apart = value_range(constants, view, pair)
        variance += max(square - mean * mean, 0.0) + apart * apart * (norm * norm + LEAST_VARIANCE)
    reach = log(1.0 + visits * norm * norm)
    bonus = view.explore.progress["own_share"] * constants.explore.bonus
    return loss + mean - bonus * norm * sqrt(reach * variance)


@lean
def select_locally(constants, view, state, rng):
    """:func:`locally_optimistic_pair`; nothing is drawn."""
    return locally_optimistic_pair(constants, view, state)


@lean
def locally_optimistic_pair(constants, view, state):
    """The pair of the least worth less its bonus; ties go to the plan's, then to the first. O(m) for m next states of
    the state's pairs."""
    planned = view.iteration.policy[state]
    visits = bonus_visits(view, planned)
    chosen = planned
    best = optimistic_worth(constants, view, planned, visits)
    for pair in range(constants.pair_start[state], constants.pair_start[state + 1]):
        worth = optimistic_worth(constants, view, pair, visits)
        if worth < best:
            best = worth
            chosen = pair
    return chosen


@lean
def ends_off_plan(constants, state, view, pair, loss):
    """A step that is not the plan's ends its interval: its bonus would be paid again."""
    return pair != view.iteration.policy[constants.pair_state[pair]]


@lean
def outgrown_at_crossings(constants, state, view, pair, known):
    """Of an interchangeable pair also when its visits reach a power of two: the first say most of where it leads."""
    if constants.explore.pairs[pair]:
        visits = state.regression.visits[pair]
        if visits & (visits - 1) == 0:
            return True
    return outgrown_if_unknown(constants, state, view, pair, known)


ROOM = Points(POINT_SLOTS._replace(loss_set=shrunk_loss))
SLOTS = ExploreSlots(begin_exploring=begin_local, select=select_locally, ends=ends_off_plan)
CROSSING_ROOM = Points(POINT_SLOTS._replace(loss_set=crossing_loss, row_set=crossing_row))
CROSSING_SLOTS = SLOTS._replace(begin_exploring=begin_at_crossings, outgrown=outgrown_at_crossings)


@dataclass(frozen=True)
class Local(ExplorationRule):
    """Plan in the estimate; in each state play the action of the least worth less ``bonus`` times sqrt(log(1 + n))
    standard deviations, for n visits of the plan's action under contexts like this one.

    Attributes:
        bonus: the factor of the bonus of an action.
        ceiling: no value of a plan is above it.
    """

    bonus: float
    ceiling: float = CEILING
    name = "local"

    def __post_init__(self) -> None:
        check_rule(self)

    def constants(self, run: Run) -> LocalConstants:
        """The bonus, and the interchangeable pairs: without a guess, and of which nothing is known for sure."""
        support = run.support
        pairs = np.zeros(support.pairs, dtype=np.bool_)
        mark = engine(support.triples)(mark_interchangeable)
        mark(support.pair_start, support.next_start, support.next_state, pairs)
        pairs &= run.counted.losses & run.counted.rows & ~run.counted.guesses
        return LocalConstants(self.bonus, set_readonly(pairs))

    def room(self, constants: Any) -> Points:
        """Estimates with losses drawn to their mean."""
        return CROSSING_ROOM if constants.pairs.any() else ROOM

    def slots(self, constants: Any) -> ExploreSlots:
        """Those of the bonus."""
        return CROSSING_SLOTS if constants.pairs.any() else SLOTS

    def new_view(self, run: Run) -> LocalView:
        """Nothing noted."""
        return LocalView(new_record(LOCAL_PROGRESS))

    def select(self, learner: Any, view: Any, state: int) -> int:
        """The pair of the least worth less its bonus."""
        return int(learner._effort.engine(0)(locally_optimistic_pair)(learner._constants, view, state))

    def select_among(self, learner: Any, view: Any, state: int, allowed: NDArray[np.int64]) -> int:
        """The same among the possible ones; ties go to the plan's."""
        planned = self._planned(learner, view, state, allowed)
        run = learner._effort.engine(0)
        visits = run(bonus_visits)(view, planned)
        worth = [run(optimistic_worth)(learner._constants, view, pair, visits) for pair in allowed]
        return planned if worth[list(allowed).index(planned)] == min(worth) else int(allowed[int(np.argmin(worth))])

    def planned_for(self, learner: Any, view: Any, pair: int, allowed: NDArray[np.int64] | None) -> int | None:
        """The pair of the plan; where it is not allowed, the best at the values of the plan."""
        state = int(learner.support.pair_state[pair])
        if allowed is None:
            played = self.select(learner, view, state)
        else:
            played = self.select_among(learner, view, state, allowed)
        return self._planned(learner, view, state, allowed) if played == pair else None

    def _planned(self, learner: Any, view: Any, state: int, allowed: NDArray[np.int64] | None) -> int:
        planned = int(view.iteration.policy[state])
        return planned if allowed is None or planned in allowed else int(learner.best_pair(view, allowed))

    def noted(self, learner: Any, found: Any, state: int, view: Any) -> Any:
        """An explanation that says what is played to find out more, with a note where actions that nothing tells apart
        were not played yet."""
        played, planned = self.select(learner, view, state), int(view.iteration.policy[state])
        if played != planned:
            found = found.exploring(*(int(learner.support.pair_action[pair]) for pair in (played, planned)))
        first = int(learner.support.pair_start[state])
        alike = learner._constants.explore.pairs[first : first + len(found.actions)]
        untried = [one.action for one, same in zip(found.actions, alike, strict=True) if same and not one.visits]
        visits = int(learner._state.regression.visits.sum())
        if not untried or 0 < visits <= learner._state.totals["logged"]:  # after a log they may lead anywhere
            return found
        note = (
            "Nothing but experience tells the actions of this state apart: the plan takes those that were never played "
            f"({', '.join(untried)}) to lead to the best of their next states."
        )
        return replace(found, notes=(*found.notes, note))

    def card_numbers(self) -> dict[str, float]:
        """The bonus."""
        return {"bonus": self.bonus}

    def describe(self) -> list[str]:
        """The bonus."""
        return [f"bonus {self.bonus:.3g} x the estimated deviation"]
