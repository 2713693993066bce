"""Names that a log holds once or twice: where the support is inferred, a misspelt one becomes an action of its own."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from goalbound.terminal import pluralize

if TYPE_CHECKING:
    from goalbound.logs.log import Log

FEW = 2
"""Steps; what was seen more often is no slip."""
LISTED = 3
"""Names that a warning lists."""
_LONGEST = 30


def rare_names(log: Log) -> tuple[str, ...]:
    """A sentence about states, actions and pairs of an inferred support that were seen once or twice, or none.

    An estimate of a pair with so few steps is near no loss and the goal, so that a misspelt action looks cheap. Names
    that are like one that was seen more often come first, with that one.
    """
    if not log.support_inferred:
        return ()
    support, pairs = log.support, log.steps.pairs
    states = np.bincount(support.pair_state[pairs], minlength=support.states)
    actions = np.bincount(support.pair_action[pairs], minlength=support.actions)
    visits = np.bincount(pairs, minlength=support.pairs)
    found = [*_rare("state", support.state_names or (), states), *_rare("action", support.action_names or (), actions)]
    of_known = (visits <= FEW) & (states[support.pair_state] > FEW) & (actions[support.pair_action] > FEW)
    found += [
        (1, f"{_quoted(log, int(support.pair_action[pair]))} in {_state(log, int(support.pair_state[pair]))}")
        for pair in np.flatnonzero(of_known)
    ]
    if not found:
        return ()
    listed = [text for _, text in sorted(found, key=lambda one: one[0])]
    more = f" and {len(listed) - LISTED} more" if len(listed) > LISTED else ""
    return (
        f"seen once or twice, perhaps misspelt: {', '.join(listed[:LISTED])}{more}. An inferred support has them all",
    )


def _rare(what: str, names: Sequence[str], counts: NDArray[np.int64]) -> list[tuple[int, str]]:
    """The names that were seen so seldom, those that resemble another one with rank 0."""
    common = {_plain(name): name for name, count in zip(names, counts.tolist(), strict=True) if count > FEW}
    found = []
    for name, count in zip(names, counts.tolist(), strict=True):
        if count > FEW:
            continue
        like = difflib.get_close_matches(_plain(name), common, n=1)
        hint = f'; did you mean "{_short(common[like[0]])}"?' if like else ""
        found.append((0 if like else 1, f'the {what} "{_short(name)}" ({pluralize(count, "step")}{hint})'))
    return found


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 3] + "..."


def _quoted(log: Log, action: int) -> str:
    names = log.support.action_names
    return f'"{_short(names[action])}"' if names else f"action {action}"


def _state(log: Log, state: int) -> str:
    names = log.support.state_names
    return f'"{_short(names[state])}"' if names else f"state {state}"
