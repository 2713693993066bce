"""Steps that anyone chose: learned from in their order, each against the sets as they were just before it."""

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.protocol import before_visit
from goalbound.jit.compile import Slot, lean
from goalbound.jit.struct import Struct
from goalbound.learners.visits import learn_outcome

look_before_learning = Slot("look_before_learning")
"""``(constants, state, view, pair)`` the set of a pair just before a step is learned, if the step is learned by it."""


class StepArrays(Struct):
    """n steps, in the order in which they were made."""

    contexts: NDArray[np.float64]
    """[n, d]"""
    pairs: NDArray[np.int64]
    """[n] what was played"""
    places: NDArray[np.int64]
    """[n] the next state, by its place among the M triples"""
    losses: NDArray[np.float64]
    """[n]"""


@lean
def forget_view(constants, state, view, pair):
    """The set of a pair is that of another context."""
    view.revision[pair] = -1


@lean
def learn_steps(constants, state, view, scratch, steps):
    """Learn from steps, whoever chose them. O(m d^2) for each, with m next states of its pair.

    ``view`` is room for the set of a pair, and no episode. The set is that of just before the step, so that bounds of
    the variance, and what outcomes are tested against, follow from earlier steps alone. Nothing else of the learner
    changes: not the intervals, not the loss bound, not the plan that the next episode starts from.
    """
    view.progress["restarts"] = state.totals["restarts"]
    view.progress["counted"] = 0
    for t in range(len(steps.pairs)):
        pair = steps.pairs[t]
        for j in range(len(view.context)):
            view.context[j] = steps.contexts[t, j]
        look_before_learning(constants, state, view, pair)
        before_visit(constants, state, view, pair)
        learn_outcome(constants, state, view, scratch, pair, steps.places[t], steps.losses[t])
        state.totals["logged"] += 1


def single_step(context: NDArray[np.float64], pair: int, place: int, loss: float) -> StepArrays:
    """One step."""
    return StepArrays(
        context.reshape(1, -1), np.array([pair], dtype=np.int64), np.array([place], dtype=np.int64), np.array([loss])
    )


def part_of(steps: StepArrays, first: int, last: int) -> StepArrays:
    """The steps from ``first`` on, before ``last``, as views."""
    return StepArrays._make(column[first:last] for column in steps)
