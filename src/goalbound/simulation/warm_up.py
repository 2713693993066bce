"""Compile kernels ahead of time, so that nobody waits for them later."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from goalbound.confidence.widths import RULES
from goalbound.errors import ArgumentError
from goalbound.jit.compile import compiled_ahead
from goalbound.learners.base import LearnerBase
from goalbound.learners.layers import unwrap
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.protocol import Learner
from goalbound.learners.ridge import LocalOptimism
from goalbound.models import LinearCSSP, Step, Support
from goalbound.models.validation import short_repr
from goalbound.planning import evaluate, solve
from goalbound.simulation.contexts import FromArray
from goalbound.simulation.play import play

STEPS = 3
"""An episode of so few steps runs every kernel of a learner."""


def warm_up(*learners: Learner) -> float:
    """Compile the kernels of these learners and of the planner, or load them from the cache. Returns the seconds taken.

    What is compiled is cached on disk: processes that start later load it in about a second. Programs do not depend on
    the size of a problem or on the number of components. Without learners, the programs of :class:`LRCSSP` by default
    (``widths.likelihood()``), with intervals (``widths.sharp()``) and with balls (``widths.paper()``) are compiled;
    greedy, epsilon-greedy, posterior sampling and R-max learners run the last too, and so does
    :class:`~goalbound.LocalOptimism`, whose own kernels are compiled as well.

    The learners are copied, and learn nothing.

    Example::

        goalbound.warm_up()                 # when a container image is built
        goalbound.warm_up(learner)          # before a service takes its first request
    """
    begun = time.perf_counter()
    with compiled_ahead():
        for learner in learners or _standard():
            _exercise(learner)
    return time.perf_counter() - begun


def _standard() -> list[Learner]:
    support = Support.full(2, 2)
    proven = [LRCSSP(support, 2, loss_floor=0.1, widths=rule()) for rule in RULES.values()]
    crossing = Support.from_pairs([{0: [1, 2], 1: [1, 2]}, {0: [3]}, {0: [3]}])  # actions that nothing tells apart
    return [*proven, *(LocalOptimism(one, 2, loss_floor=0.1) for one in (support, crossing))]


def _exercise(learner: Any) -> None:
    inner = unwrap(learner)
    support = getattr(inner, "support", None)
    size = getattr(learner, "context_size", getattr(inner, "context_size", None))
    if not isinstance(support, Support) or not isinstance(size, int):
        raise ArgumentError(
            f"{short_repr(learner)} has no support and context_size, so no problem can be made for it; "
            "give a learner, such as LRCSSP(...)"
        )
    problem = _problem_for(support, size, getattr(inner, "prior", None))
    context = np.full((1, size), 1.0 / size)
    settings: dict[str, Any] = {"episodes": 1, "step_limit": STEPS}
    for compiled in (True, False):
        play(problem, copy.deepcopy(learner), FromArray(context), compiled=compiled, **settings)
    if isinstance(inner, LearnerBase):
        _overrule(copy.deepcopy(inner), problem)
    planned: Callable[..., object] | None = getattr(learner, "plan", None)
    if planned is not None:
        planned(context[0])
    solved = solve(problem.at(context[0]))
    evaluate(problem.at(context[0]), solved.policy)


def _overrule(learner: LearnerBase, problem: LinearCSSP) -> None:
    """People choose: a step that is learned, an action that is forbidden, a proposal that is overruled."""
    support, size = learner.support, learner.context_size
    context = np.full(size, 1.0 / size)
    row = support.row(0)
    following = int(support.next_state[row][problem.probabilities[row].any(axis=1)][0])
    step = Step(0, int(support.pair_action[0]), 0.5, following)
    learner.learn(context, step)
    episode = learner.begin(context)
    proposed = episode.act(0)
    others = [int(action) for action in support.pair_action[: support.pair_start[1]] if action != proposed]
    if others:
        episode.begins(others[0])
    episode.observe(step, overridden=True)


def _problem_for(support: Support, size: int, prior: PriorKnowledge | None) -> LinearCSSP:
    """Every pair leads to each of its next states with the same probability, but for what is known."""
    lengths = np.diff(support.next_start)
    losses = np.full((support.pairs, size), 0.5)
    rows = np.repeat((1.0 / lengths)[:, None], size, axis=1)[np.repeat(np.arange(support.pairs), lengths)]
    if prior is not None:
        losses = np.where(prior.loss_known[:, None], prior.losses, np.maximum(losses, prior.floors[:, None]))
        known = np.repeat(prior.row_known, lengths)
        if known.any():
            rows[known] = prior.rows[known]
    return LinearCSSP(support, losses, rows, start=0)
