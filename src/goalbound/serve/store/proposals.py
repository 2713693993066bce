"""What is proposed in a case: by its learner, maybe mixed with actions drawn at random, and what challengers would."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from goalbound.serve.store.events import canonical

if TYPE_CHECKING:
    from goalbound.serve.store.cases import Case, Managed

_DRAWN = struct.Struct("<QQ")
_NUMBERS = struct.Struct("<qqqq")


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
    """Ask the learners of a case for an action in its present state."""
    lead, decider = learners[case.learner], learners[case.decider]
    action = int(_act(case.episodes[decider.number], case.state, allowed))
    propensity = None if decider.draws else 1.0
    if lead.mixing:
        action, propensity = _mixed(lead, case, action, allowed, draws=decider.draws)
    if len(case.episodes) == 1:
        return Proposal(action, propensity, None)
    others = {
        str(number): int(_act(one, case.state, allowed))
        for number, one in case.episodes.items()
        if number != decider.number
    }
    return Proposal(action, propensity, canonical(others))


def _act(episode: Any, state: int, allowed: list[int] | None) -> int:
    found: int = episode.act(state) if allowed is None else episode.act(state, allowed=allowed)
    return found


def _mixed(
    lead: Managed, case: Case, action: int, allowed: list[int] | None, *, draws: bool
) -> tuple[int, float | None]:
    """With probability ``mixing`` a uniform one of the possible actions instead, and how likely the result was.

    The numbers drawn depend on the seed, the case, the step and the last event of the case alone, so that a replay
    draws the same.
    """
    support, state = lead.support, case.state
    possible = support.pair_action[support.pair_start[state] : support.pair_start[state + 1]].tolist()
    if allowed is not None:
        possible = [one for one in possible if one in allowed]
    coin, which = uniform_numbers(lead.seed, case.number, case.step, case.seq)
    own = 1.0 - lead.mixing
    chosen = possible[int(which * len(possible))] if coin < lead.mixing else action
    if chosen != action:
        episode = case.episodes[case.decider]
        episode.take_back()
        episode.act(state, allowed=[chosen])
    if draws:
        return chosen, None
    return chosen, lead.mixing / len(possible) + (own if chosen == action else 0.0)


def uniform_numbers(*key: int) -> tuple[float, float]:
    """Two numbers in [0, 1) that depend on four whole numbers alone.

    >>> uniform_numbers(1, 2, 3, 4) == uniform_numbers(1, 2, 3, 4), uniform_numbers(1, 2, 3, 5)[0] < 1.0
    (True, True)
    """
    first, second = _DRAWN.unpack(blake2b(_NUMBERS.pack(*key), digest_size=16, person=b"goalbound mixing").digest())
    return (first >> 11) * 2.0**-53, (second >> 11) * 2.0**-53
