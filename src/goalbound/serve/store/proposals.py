"""What is proposed in a case by its learner, and what its challengers would propose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from goalbound.serve.store.events import canonical

if TYPE_CHECKING:
    from goalbound.serve.store.cases import Case, Managed


class Proposal(NamedTuple):
    """What is proposed.

    Attributes:
        action: its number; None: the case has ended.
        propensity: the probability with which it was chosen; None: not known.
        others: what challengers would have proposed, ``{number of the learner: action}`` as canonical JSON.
    """

    action: int | None
    propensity: float | None
    others: bytes | None


def propose(learners: Mapping[int, Managed], case: Case, allowed: list[int] | None) -> Proposal:
    """Ask the learners of a case for an action in its present state.

    A challenger whose visits count in the order in which they begin awaits the outcome of the action that is proposed.
    """
    decider = learners[case.decider]
    action = _act(case.episodes[decider.number], case.state, allowed)
    propensity = None if decider.draws else 1.0
    if len(case.episodes) == 1:
        return Proposal(action, propensity, None)
    others = {}
    for number, one in case.episodes.items():
        if number != decider.number:
            others[str(number)] = _act(one, case.state, allowed)
            if learners[number].counts_early:
                one.begins(action)
    return Proposal(action, propensity, canonical(others))


def _act(episode: Any, state: int, allowed: list[int] | None) -> int:
    return int(episode.act(state) if allowed is None else episode.act(state, allowed=allowed))
