"""Checks of the planner's arguments: the kind of problem, and its size."""

from __future__ import annotations

from typing import Any

from goalbound.errors import ArgumentError
from goalbound.jit.compile import Effort, Run
from goalbound.models import SSP, LinearCSSP
from goalbound.planning.chain import DIRECT_STATES

EFFORT = Effort()
"""The work of all planning in this process: many small problems get compiled kernels as one large one does."""


def require_ssp(problem: Any) -> SSP:
    """The problem, if it is one without context; else an error that says what to do."""
    if isinstance(problem, SSP):
        return problem
    if isinstance(problem, LinearCSSP):
        raise ArgumentError(
            f"this problem has a context ({problem}); plan for one: problem.at([...]) with "
            f"{problem.context_size} weights, or problem.component(0)"
        )
    raise ArgumentError(_not_a_problem(problem, "an SSP"))


def require_contextual(problem: Any) -> LinearCSSP:
    """The problem, if it is contextual; else an error that says what to do."""
    if isinstance(problem, LinearCSSP):
        return problem
    if isinstance(problem, SSP):
        raise ArgumentError("this problem has no context; pass the LinearCSSP itself, or LinearCSSP.mix([problem])")
    raise ArgumentError(_not_a_problem(problem, "a LinearCSSP"))


def engine_for(problem: SSP) -> Run:
    """How to run kernels on a problem. Few states are solved directly, with few sweeps, so each may be longer."""
    support = problem.support
    return EFFORT.engine(support.triples // 4 if support.states <= DIRECT_STATES else support.triples)


def _not_a_problem(value: Any, wanted: str) -> str:
    inside = getattr(value, "problem", None)
    if isinstance(inside, SSP | LinearCSSP):
        return f"a {type(value).__name__} is not a problem itself; pass its .problem"
    return f"a {type(value).__name__} is not a problem; pass {wanted} (goalbound.load reads one from a file)"
