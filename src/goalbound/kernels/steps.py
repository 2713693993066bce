"""Steps that anyone chose: learned from in their order, each against the sets as they were just before it."""

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import lean
from goalbound.jit.struct import Struct
from goalbound.kernels.algorithm import update_regression
from goalbound.kernels.confidence import pair_set
from goalbound.kernels.ties import begin_tied, check_noise_free, forecast_visit


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

    Returns how many were learned: fewer where the loss of one contradicts what was said to be free of noise.
    """
    episode.progress["restarts"] = learner.totals["restarts"]
    episode.progress["counted"] = 0
    for t in range(len(steps.pairs)):
        pair = steps.pairs[t]
        for j in range(len(episode.context)):
            episode.context[j] = steps.contexts[t, j]
        if constants.noise_free.on and not check_noise_free(constants, learner, episode.context, pair, steps.losses[t]):
            return t
        if constants.ties.on:
            begin_tied(constants, episode, episode.context)
        if constants.intervals.on:
            pair_set(constants, learner, episode, pair)
        else:
            episode.revision[pair] = -1  # its set is of another context
        if constants.likelihood.on:
            forecast_visit(constants, learner, episode, pair)
        update_regression(constants, learner, episode, scratch, pair, steps.places[t], steps.losses[t])
        learner.totals["logged"] += 1
    return len(steps.pairs)
