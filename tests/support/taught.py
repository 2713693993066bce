"""What the laws of learners are tested with: data of any kind, learners that were taught it, radii by hand."""

from __future__ import annotations

import math
from typing import NamedTuple, TypeVar

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.learners.learner import RidgeLearner
from goalbound.models import Step, Support
from tests.support.strategies import contexts, ssps

Floats = NDArray[np.float64]
L = TypeVar("L", bound=RidgeLearner)


class Seen(NamedTuple):
    """A step made under a context."""

    context: Floats
    step: Step


@st.composite
def data(draw: st.DrawFn, support: Support, size: int, *, most: int = 25) -> list[Seen]:
    """Steps from anywhere, with next states of the support and losses that need not come from any model."""
    seen = []
    for _ in range(draw(st.integers(0, most))):
        pair = draw(st.integers(0, support.pairs - 1))
        following = draw(st.sampled_from(support.next_state[support.row(pair)].tolist()))
        loss = draw(st.sampled_from([0.0, 0.25, 0.7, 1.0]))
        state, action = int(support.pair_state[pair]), int(support.pair_action[pair])
        seen.append(Seen(draw(contexts(size)), Step(state, action, loss, following)))
    return seen


def teach(learner: L, seen: list[Seen]) -> L:
    """The learner after these steps, one episode each. It is made to play their actions: on ties, two learners that
    are told the same would else play different ones."""
    for context, step in seen:
        episode = learner.begin(context)
        episode.act(step.state, allowed=[step.action])
        episode.observe(step)
    return learner


supports = ssps(proper=True, most_states=4, most_actions=2).map(lambda ssp: ssp.support)


def rho(learner: RidgeLearner, pair: int, count: int, *, visits: int | None = None) -> float:
    """sqrt(d log(8 count (1 + tau / lambda) / delta)) + sqrt(lambda)"""
    settings = learner.settings
    tau = learner.statistics.visits[pair] if visits is None else visits
    inside = 8.0 * count * (1.0 + tau / settings.regularization) / settings.delta
    return math.sqrt(settings.context_size * math.log(inside)) + math.sqrt(settings.regularization)


def rows_of(support: Support) -> list[slice]:
    """Where the next states of each pair other than the goal stand."""
    following = [int((support.next_state[support.row(i)] < support.states).sum()) for i in range(support.pairs)]
    return [slice(int(support.next_start[i]), int(support.next_start[i]) + following[i]) for i in range(support.pairs)]
