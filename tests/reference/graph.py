"""Who reaches the goal surely, by loops over sets."""

from __future__ import annotations

from goalbound.models import SSP
from tests.reference.rows import Row, played, rows_of


def blocking_states(ssp: SSP) -> list[int]:
    """The states from which no policy reaches the goal with probability 1.

    Keep a set of states believed fine. Those of them that can come to the goal by pairs that never leave the set
    are the next set; what falls out is blocking. At the end every state left has a path inside the set, and a
    policy that follows shortest such paths cannot stay away from the goal for ever.
    """
    rows = rows_of(ssp)
    goal = len(rows)
    believed = set(range(goal))
    while True:
        fine = {goal}
        grew = True
        while grew:
            grew = False
            for state in believed - fine:
                if any(row.to.keys() <= believed | {goal} and row.to.keys() & fine for row in rows[state]):
                    fine.add(state)
                    grew = True
        if fine - {goal} == believed:
            return sorted(set(range(goal)) - believed)
        believed = fine - {goal}


def sure_states(chain: list[Row]) -> set[int]:
    """The states of a chain from which the goal is reached with probability 1: whatever they can come to can still
    come to the goal."""
    goal = len(chain)
    return {s for s in range(goal) if all(goal in reachable(chain, t) for t in reachable(chain, s))}


def reachable(chain: list[Row], state: int) -> set[int]:
    """What a chain can come to from a state: the state itself, and the goal if it can."""
    found, fresh = {state}, [state]
    while fresh:
        one = fresh.pop()
        for following in chain[one].to if one < len(chain) else ():
            if following not in found:
                found.add(following)
                fresh.append(following)
    return found


def is_proper(ssp: SSP, policy: list[int]) -> bool:
    """Whether the policy reaches the goal with probability 1 from every state."""
    return len(sure_states(played(rows_of(ssp), policy))) == ssp.support.states


def paying_states(chain: list[Row]) -> set[int]:
    """The states of a chain that pay for ever with positive probability: they can come to a state that comes back
    to itself surely (no way out that does not return) and whose round holds a loss."""
    paying = set()
    for state in range(len(chain)):
        round_trip = reachable(chain, state)
        recurrent = all(state in reachable(chain, t) for t in round_trip)
        if recurrent and any(chain[t].loss > 0 for t in round_trip):
            paying.add(state)
    return {s for s in range(len(chain)) if reachable(chain, s) & paying}


def proper_policy(ssp: SSP) -> dict[int, int]:
    """A policy (state -> action number) that reaches the goal surely from every state that is not blocking."""
    rows = rows_of(ssp)
    goal = len(rows)
    allowed = set(range(goal + 1)) - set(blocking_states(ssp))
    done, policy = {goal}, {}
    while done != allowed:
        for state in sorted(allowed - done):
            for row in rows[state]:
                if row.to.keys() <= allowed and row.to.keys() & done:
                    policy[state] = row.action
                    break
        done |= policy.keys()
    return policy
