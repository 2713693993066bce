"""Values that others published, and another tool's answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from goalbound.models import SSP
from tests.reference.protocols import root_contention, shared_coin
from tests.support.strategies import examples, ssps


def test_the_shared_coin_takes_48_steps() -> None:
    from goalbound.planning import Status, solve

    found = solve(shared_coin(2, 2))
    assert found.status == Status.CONVERGED
    assert found.lower[0] <= 48.0 <= found.upper[0]
    assert found.values[0] == pytest.approx(48.0, rel=1e-9)


def test_root_contention_takes_541_quarters() -> None:
    from goalbound.planning import Status, solve

    found = solve(root_contention(3))
    assert found.status == Status.CONVERGED
    assert found.lower[0] <= 541 / 4 <= found.upper[0]
    assert found.values[0] == pytest.approx(541 / 4, rel=1e-9)


@examples(40)
@given(ssps(proper=False, most_states=12))
def test_storm_agrees(ssp: SSP) -> None:
    pytest.importorskip("stormpy", reason="stormpy is an optional witness")
    from goalbound.planning import solve
    from tests.reference import storm

    np.testing.assert_allclose(
        solve(ssp, unreachable="exclude").values, storm.optimal_values(ssp), rtol=1e-5, atol=1e-6
    )
