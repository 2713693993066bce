"""A kernel compiled and a kernel as Python give the same bits, so what is shown of one is shown of the other."""

from __future__ import annotations

from unittest import mock

import numpy as np
from hypothesis import given

from goalbound.kernels import compile as compilation
from goalbound.models import SSP
from goalbound.planning import Solution, blocking_states, evaluate, is_proper, solve
from tests.support.strategies import ssps

PYTHON = {"_ready": compilation.python}
COMPILED = {"TOY_WORK": -1}


def solved(ssp: SSP, way: dict[str, object]) -> Solution:
    with mock.patch.multiple(compilation, **way):
        return solve(ssp, unreachable="exclude")


@given(ssps(proper=False, most_states=8))
def test_solutions_are_the_same_to_the_bit(ssp: SSP) -> None:
    one, other = solved(ssp, PYTHON), solved(ssp, COMPILED)
    assert (one.status, one.iterations) == (other.status, other.iterations)
    for name in ("values", "policy", "lower", "upper"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()


@given(ssps(proper=True, tiny=True, most_states=5))
def test_tiny_exits_are_the_same_to_the_bit(ssp: SSP) -> None:
    one, other = solved(ssp, PYTHON), solved(ssp, COMPILED)
    for name in ("values", "policy", "lower", "upper"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()


@given(ssps(proper=False, most_states=6))
def test_evaluations_and_properness_are_the_same(ssp: SSP) -> None:
    policy = ssp.support.pair_action[ssp.support.pair_start[:-1]]
    answers = []
    for way in (PYTHON, COMPILED):
        with mock.patch.multiple(compilation, **way):
            worth = evaluate(ssp, policy)
            answers.append((worth.values, worth.hitting_times, blocking_states(ssp), is_proper(ssp, policy)))
    for one, other in zip(*answers, strict=True):
        np.testing.assert_array_equal(one, other)
