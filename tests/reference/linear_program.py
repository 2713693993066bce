"""The optimal values as a linear program, solved by HiGHS.

Maximise the sum of v subject to v(s) <= l(s, a) + sum p v for every pair, v(goal) = 0. Let v obey these and let a
proper policy be given: v <= l + P v along it, so v <= l + P l + ... + P^n v for every n, and P^n v -> 0 because the
goal is reached surely. So v lies below the values of every proper policy, hence below v*. And v* itself obeys the
constraints, for v* is what a small extra loss on every step tends to as that loss goes to zero. So the maximum is v*
over proper policies, with free loops too: a free loop only says v(s) <= v(s') <= v(s), which v* obeys. (The
largest solution is wanted, and the program takes the largest; v >= 0 is not needed.) Without a proper policy
nothing bounds v, so blocking states, and the pairs that may lead to one, are left out first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array

from goalbound.models import SSP
from tests.reference import graph


def optimal_values(ssp: SSP) -> NDArray[np.float64]:
    """[S + 1] the optimal values over proper policies to about 1e-7 of the largest; inf at blocking states.

    Two passes: HiGHS works to absolute tolerances, so the second counts in units of the largest value of the first.
    """
    unit = 1.0
    for _ in range(2):
        values = _solve_in_units(ssp, unit)
        finite = values[np.isfinite(values)]
        unit = max(float(finite.max()), 1e-3)
    return values


def _solve_in_units(ssp: SSP, unit: float) -> NDArray[np.float64]:
    support = ssp.support
    blocking = set(graph.blocking_states(ssp))
    rows: list[dict[int, float]] = []
    right: list[float] = []
    for state in set(range(support.states)) - blocking:
        for pair in range(support.pair_start[state], support.pair_start[state + 1]):
            to = {
                int(support.next_state[t]): float(ssp.probabilities[t])
                for t in range(support.next_start[pair], support.next_start[pair + 1])
                if ssp.probabilities[t] > 0.0
            }
            moved = sum(p for following, p in to.items() if following != state)
            if blocking & to.keys() or not moved:  # "v(s) <= l + v(s)" says nothing
                continue
            # staying only repeats the loss: v (1 - stay) <= l + rest, divided by 1 - stay, the mass that moves
            row = {t: -p / moved for t, p in to.items() if t not in (state, support.states)}
            rows.append({**row, state: 1.0})
            right.append(float(ssp.losses[pair]) / moved / unit)
    values = np.zeros(support.states + 1)
    values[list(blocking)] = np.inf
    if rows:
        heads = [i for i, row in enumerate(rows) for _ in row]
        columns = [j for row in rows for j in row]
        entries = [value for row in rows for value in row.values()]
        wanted = np.where(np.isin(np.arange(support.states), list(blocking)), 0.0, -1.0)
        answer = linprog(
            wanted,
            A_ub=csr_array((entries, (heads, columns)), shape=(len(rows), support.states)),
            b_ub=right,
            bounds=[(0.0, 0.0) if state in blocking else (None, None) for state in range(support.states)],
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        assert answer.status == 0, answer.message
        free = np.isfinite(values[:-1])
        values[:-1][free] = answer.x[free] * unit
    return values
