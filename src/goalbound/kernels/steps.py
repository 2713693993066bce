"""Steps that anyone chose: learned from in their order, each against the sets as they were just before it."""

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import lean
from goalbound.jit.struct import Struct
from goalbound.kernels.algorithm import update_regression
from goalbound.kernels.confidence import pair_set
from goalbound.kernels.forecasts import make_forecasts


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
def learn_steps(constants, learner, episode, scratch, steps):
    """Learn from steps, whoever chose them. O(m d^2) for each, with m next states of its pair.

    ``episode`` is room for the set of a pair, and no episode. The set is that of just before the step, so that bounds
    of the variance, and what outcomes are tested against, follow from earlier steps alone. Nothing else of the learner
    changes: not the intervals, not the loss bound, not the plan that the next episode starts from.
    """
    episode.progress["restarts"] = learner.totals["restarts"]
    episode.progress["counted"] = 0
    for t in range(len(steps.pairs)):
        pair = steps.pairs[t]
        for j in range(len(episode.context)):
            episode.context[j] = steps.contexts[t, j]
        if constants.intervals.on:
            pair_set(constants, learner, episode, pair)
        else:
            episode.revision[pair] = -1  # its set is of another context
        if constants.likelihood.on:
            make_forecasts(constants, learner, episode, pair)
        update_regression(constants, learner, episode, scratch, pair, steps.places[t], steps.losses[t])
        learner.totals["logged"] += 1
