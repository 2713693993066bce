"""What a learner of an experiment may begin with: a log of what a runbook did, and a colleague's guess of the model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError
from goalbound.experiments.registry.catalog import hint
from goalbound.learners.learner import RidgeLearner
from goalbound.learners.prior import PriorKnowledge
from goalbound.models import LinearCSSP, Step
from goalbound.models.step import LossLaw
from goalbound.models.validation import check_float, short_repr
from goalbound.planning import solve
from goalbound.simulation import Dirichlet, ModelEnvironment, bernoulli

DEVIATIONS = 0.3
"""The share of the steps of a log that play any action, as people do who know better, or try something."""
MOST_STEPS = 200
"""A case of a log is given up after so many steps: the runbook may be improper under its context."""
LARGEST_SHARE = 1000.0
GUESSES = ("nothing", "average", "first component")
GUESS_STRENGTH = 5.0
"""How many visits of a pair at each corner of the simplex a guess is worth, if nothing else is said."""
R = TypeVar("R", bound=RidgeLearner)


class LogLaw(NamedTuple):
    """How the cases of a log came: as those of the run that follows."""

    contexts: Any = None
    """a source that draws contexts; None: uniform on the simplex"""
    losses: LossLaw = bernoulli()


ANY_LOG = LogLaw()
"""Where no run says how cases come."""


def runbook_log(
    problem: LinearCSSP, cases: int, rng: np.random.Generator, law: LogLaw = ANY_LOG
) -> Iterator[tuple[NDArray[np.float64], Step]]:
    """Steps of cases by a runbook: the policy that is best in the equal mixture of all components, with some
    deviations."""
    size, support = problem.context_size, problem.support
    source = Dirichlet.symmetric(size) if law.contexts is None else law.contexts
    if not hasattr(source, "draw"):
        raise ArgumentError(
            f"log_share needs contexts that are drawn, and {type(source).__name__} chooses them by the learner; name "
            "another source, such as dirichlet"
        )
    usual = solve(problem.at(np.full(size, 1.0 / size))).policy
    environment = ModelEnvironment(problem, rng=rng, losses=law.losses)
    for context in source.draw(rng, 0, cases):
        state = environment.begin(context)
        for _ in range(MOST_STEPS):
            first, last = support.pair_start[state], support.pair_start[state + 1]
            other = support.pair_action[rng.integers(first, last)]
            step = environment.step(int(other if rng.random() < DEVIATIONS else usual[state]))
            yield context, step
            state = step.next_state
            if state == support.states:
                break


def warm_started(
    learner: R, problem: LinearCSSP, share: float, episodes: int, rng: np.random.Generator, law: LogLaw
) -> R:
    """The learner, after a log of ``share`` times as many cases as there are episodes to come."""
    if not 0.0 <= check_float(share, "log_share", "cases of a log over episodes to come, from 0 on") <= LARGEST_SHARE:
        raise ArgumentError(f"log_share is {short_repr(share)}; it is from 0 (no log) to {LARGEST_SHARE:g}")
    cases = round(share * episodes)
    if cases:
        learner.learn_log(runbook_log(problem, cases, rng, law))
    return learner


def guessed(problem: LinearCSSP, word: str, strength: float = GUESS_STRENGTH) -> PriorKnowledge | None:
    """A guess of the problem that knows nothing of contexts: what is so on average, or in the first component."""
    if word not in GUESSES:
        near = hint(word, GUESSES) if isinstance(word, str) else ""
        raise ArgumentError(f"guess is {short_repr(word)}{near}; it is one of {', '.join(GUESSES)}")
    if word == "nothing":
        return None
    size = problem.context_size
    weights = np.full(size, 1.0 / size) if word == "average" else np.eye(size)[0]
    return PriorKnowledge.nothing(problem.support, size).with_model(problem.at(weights), strength=strength)
