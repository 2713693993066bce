"""What may come in to a learner: supports with a way to the goal, steps that follow each other, problems that fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ArgumentError, InputError, LearnerError
from goalbound.models import Step, Support
from goalbound.models.step import step_parts
from goalbound.models.support import SUPPORT_REMEDY
from goalbound.models.validation import ROW_TOLERANCE, check_array, check_list, check_type, short_repr

if TYPE_CHECKING:
    from goalbound.models import LinearCSSP


def checked_support(support: object, possible: NDArray[np.bool_] | None = None) -> Support:
    """A support in which every state may reach the goal; else an error that names those which cannot.

    ``possible`` [M] says which next states are left where rows are known. O(M).
    """
    support = check_type(support, Support, "support", SUPPORT_REMEDY)
    to_goal = support.next_state == support.states
    if possible is not None:
        to_goal &= possible
    direct = np.add.reduceat(to_goal, support.next_start[:-1])
    if np.add.reduceat(direct, support.pair_start[:-1]).all():
        return support
    stuck = np.flatnonzero(~_reaching(support, possible))
    if len(stuck):
        names = ", ".join(support.state_name(state) for state in stuck[:8].tolist())
        more = f" and {len(stuck) - 8} more" if len(stuck) > 8 else ""
        raise ArgumentError(
            f"no pair leads from {names}{more} towards the goal, by the support"
            + ("" if possible is None else " and the known rows")
            + "; declare the next states by which the goal is reached, or leave these states out"
        )
    return support


def _reaching(support: Support, possible: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """[S] the states from which possible next states lead to the goal."""
    from goalbound.jit.compile import engine
    from goalbound.models.arrays import Rows
    from goalbound.planning.kernels import graph
    from goalbound.planning.reduction import reverse_of

    chances = np.ones(support.triples) if possible is None else possible.astype(np.float64)
    rows = Rows(support.pair_start, support.next_start, support.next_state, np.zeros(support.pairs), chances)
    for array in (rows.losses, rows.probabilities):  # read-only like a problem's own: one compiled form serves both
        array.flags.writeable = False
    run, every = engine(support.triples), np.ones(support.pairs, dtype=np.bool_)
    choice = np.full(support.states, -1, dtype=np.int64)
    order = np.full(support.states + 1, support.states, dtype=np.int64)
    run(graph.backward_reach)(reverse_of(rows, every, run), support.pair_state, every, 1, choice, order)
    return choice >= 0


def check_prior(prior: Any, support: Support, size: int) -> None:
    """An error unless this is knowledge of these pairs, by which the goal can be reached."""
    from goalbound.learners.prior import PriorKnowledge

    if not isinstance(prior, PriorKnowledge):
        raise ArgumentError(
            f"prior is of the type {type(prior).__name__}; begin with PriorKnowledge.nothing(support, d)"
        )
    if prior.support != support or prior.context_size != size:
        raise ArgumentError("the prior is of another support or context size than the learner's")
    if prior.row_known.any():
        checked_support(support, prior.possible)


def check_learner(learner: object, name: str = "learner") -> None:
    """An error unless this can begin episodes."""
    if isinstance(learner, type) or not callable(getattr(learner, "begin", None)):
        raise ArgumentError(
            f"{name} is {short_repr(learner)}, which has no begin(context); give a learner, such as an LRCSSP"
        )


def check_context_free(context: ArrayLike) -> None:
    """An error unless the context is the single number 1."""
    array = check_array(context, "context", (None,), "the single number 1.0: this learner knows no contexts")
    if len(array) != 1:
        raise ArgumentError(
            f"the context has {len(array)} entries, and this learner knows no contexts; wrap it in ContextBlind to "
            "play as if there were none, or in Discretized to have one learner for each part of the simplex"
        )
    if not abs(float(array[0]) - 1.0) <= ROW_TOLERANCE:
        raise ArgumentError(f"the context is [{array[0]}]; without contexts it is the single number 1.0")


def check_leads(support: Support, problem: LinearCSSP) -> None:
    """An error unless the problem has the pairs of the support and leads only where it may."""
    if not support.same_pairs(problem.support):
        raise ArgumentError("the problem has other states or actions than the learner's support")
    if support is problem.support or support == problem.support:
        return
    width = support.states + 1
    theirs = np.repeat(np.arange(support.pairs), np.diff(problem.support.next_start))
    mine = np.repeat(np.arange(support.pairs), np.diff(support.next_start)) * width + support.next_state
    allowed = np.isin(theirs * width + problem.support.next_state, mine)
    outside = np.flatnonzero(~allowed & (problem.probabilities > 0.0).any(axis=1))
    if len(outside):
        name = support.pair_name(int(theirs[outside[0]]))
        following = support.state_name(int(problem.support.next_state[outside[0]]))
        raise ArgumentError(f"{name} may lead to {following} in the problem, but not in the learner's support")


def checked_state(support: Support, state: int | str, at: int | None) -> int:
    """The number of a state in which an episode may act; ``at`` is where it is, if that is known."""
    here = support.state(state)
    if here == support.states:
        raise LearnerError(f"state {here} is the goal, where nothing is to be done")
    if at is not None and here != at:
        raise LearnerError(f"the episode is in {support.state_name(at)}, not in {support.state_name(here)}")
    return here


def allowed_pairs(support: Support, state: int, allowed: Any) -> NDArray[np.int64]:
    """The pairs of a state whose actions, by number or name, are allowed; in increasing order, and at least one."""
    items = check_list(allowed, "allowed", "a list of actions, by number or name")
    try:
        actions = {support.action(action) for action in items}
    except (InputError, TypeError) as error:
        raise ArgumentError(f"allowed is {short_repr(allowed)}: {error}") from None
    if not actions:
        raise LearnerError("no action is allowed; if nothing can be done, abandon(reason) the episode, or wait")
    pairs = np.arange(support.pair_start[state], support.pair_start[state + 1], dtype=np.int64)
    found = pairs[np.isin(support.pair_action[pairs], list(actions))]
    if not len(found):
        has = ", ".join(support.action_name(int(action)) for action in support.pair_action[pairs])
        given = ", ".join(support.action_name(action) for action in sorted(actions)[:8])
        raise LearnerError(f"{support.state_name(state)} has none of the allowed actions ({given}); it has {has}")
    return found


def is_as_proposed(support: Support, step: Step, action: int | None) -> bool:
    """Whether a step played the action that was proposed; None: none was."""
    played = support.action(step_parts(step)[1])
    return action is not None and played == action


def one_component(learner: Any) -> Any:
    """A learner of contexts with a single entry; any other is an error."""
    check_learner(learner)
    size = getattr(learner, "context_size", 1)
    if size != 1:
        raise ArgumentError(f"the learner has {size} components; one that is not shown the context has 1")
    return learner


def check_log_support(support: Support, of_log: object) -> None:
    """An error if the numbers of states and actions in a log are those of another support; None: a log has none."""
    if not isinstance(of_log, Support):
        return
    for name, mine, theirs in (
        ("states", support.states, of_log.states),
        ("names of states", support.state_names, of_log.state_names),
        ("names of actions", support.action_names, of_log.action_names),
    ):
        if mine != theirs:
            raise ArgumentError(
                f"the log was read with other {name} than the learner's: {short_repr(theirs)}, not {short_repr(mine)}; "
                "read it with support=learner.support"
            )
