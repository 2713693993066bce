"""What a solution promises, asserted against exact values."""

from __future__ import annotations

import math

from goalbound.models import SSP
from goalbound.planning import Solution, Status
from tests.reference import exact, graph
from tests.reference.rows import played, rows_of


def assert_bounds(found: Solution, values: list[exact.Value]) -> None:
    """The bounds hold exactly: floats and fractions are compared without rounding, and NaN fails."""
    for state, (lower, value, upper) in enumerate(zip(found.lower.tolist(), values, found.upper.tolist(), strict=True)):
        assert lower <= value <= upper, f"state {state}: {lower!r} <= {float(value)!r} <= {upper!r}"


def assert_certified(ssp: SSP, found: Solution, values: list[exact.Value], tolerance: float = 1e-9) -> None:
    """Bounds that hold exactly, as narrow as promised, and a proper policy that is as good as the bounds say."""
    assert found.status == Status.CONVERGED
    assert_bounds(found, values)
    states = ssp.support.states
    for value, lower, upper in zip(values, found.lower.tolist(), found.upper.tolist(), strict=True):
        assert value == math.inf or upper - lower <= tolerance * upper
    assert (found.lower <= found.values).all()
    assert (found.values <= found.upper).all()
    assert found.values[states] == 0.0
    inside = [s for s in range(states) if values[s] != math.inf]
    chain = {s: int(found.policy[s]) for s in inside}
    full = [chain.get(s, int(ssp.support.pair_action[ssp.support.pair_start[s]])) for s in range(states)]
    assert set(inside) <= graph.sure_states(played(rows_of(ssp), full))
    for state, value in enumerate(exact.policy_losses(ssp, full)[:states]):
        if state in chain:
            assert values[state] <= value <= found.upper[state]
    assert [s for s in range(states) if found.policy[s] == -1] == [s for s in range(states) if s not in chain]
