"""Values that others published, and another tool's answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from goalbound.models import SSP
from tests.reference import linear_program
from tests.reference.protocols import root_contention, shared_coin
from tests.support.strategies import examples, ssps


def test_the_shared_coin_has_the_size_and_the_value_of_the_benchmark_by_the_linear_program() -> None:
    # Quantitative Verification Benchmark Set, consensus.2, K = 2: steps_min = 48; 272 states, 400 choices, 492
    # transitions, of which 8 each are finished states and their loops: one goal here
    problem = shared_coin(2, 2)
    assert (problem.support.states, problem.support.pairs, problem.support.triples) == (272 - 8, 400 - 8, 492 - 8)
    assert linear_program.optimal_values(problem)[0] == pytest.approx(48.0, rel=1e-7)


def test_root_contention_has_the_value_of_the_benchmark_by_the_linear_program() -> None:
    # firewire_abst, delay = 3: time_min = 541/4, which is also its arithmetic: both fast (1/4) ends after 76 - 3,
    # all else after 159 - 3, and nothing is gained by waiting: 73/4 + 3 x 156/4 = 541/4
    problem = root_contention(3)
    # 611 states, 694 choices, 718 transitions, one of each the end and its loop
    assert (problem.support.states, problem.support.pairs, problem.support.triples) == (610, 693, 717)
    assert linear_program.optimal_values(problem)[0] == pytest.approx(541 / 4, rel=1e-7)


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
