"""VISGO, the planner of EB-SSP: backups with a bonus, sweeps, precision and doubling, against a naive twin."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.baselines import Method
from goalbound.baselines.methods import eb as kernels
from tests.reference.tabular import NaiveEBSSP
from tests.reference.tabular_sets import visgo, visgo_backup
from tests.support.tabular_kernels import PAIRS, Arguments, filled

SWEEPS = 10**6


@pytest.mark.parametrize("scale", [1e-4, 3e-3, 1e-2, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_backup_is_the_mean_less_its_bonus_and_not_below_zero(scale: float, seed: int) -> None:
    case, given, data = filled(Method("eb-ssp", loss_bound=4.0, scale=scale), seed)
    values = np.append(np.random.default_rng(seed).uniform(0.0, 4.0, 3), 0.0)
    for pair in range(PAIRS):
        wanted = max(0.0, visgo_backup(given, data, pair, values, 4.0))
        found = kernels.eb_backup.python(case.constants, case.learner, pair, values, float(values.max()), 4.0)
        assert found == pytest.approx(wanted, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_iteration_from_zero_is_that_of_the_naive_twin_sweep_by_sweep(seed: int) -> None:
    case, given, data = filled(Method("eb-ssp", loss_bound=8.0, scale=1e-3), seed)
    held = {pair: data.of_pair(pair) for pair in range(PAIRS)}
    for precision in (0.1, 1e-3, 1e-9):  # where it stops is part of the method
        assert kernels.iterate_eb.python(case.constants, case.learner, precision, SWEEPS)
        wanted = visgo(given, held, 8.0, precision)
        assert wanted.values.max() > 0.2
        assert case.learner.main.iteration.values == pytest.approx(wanted.values, rel=1e-11)


def naive_plan(case: Arguments, seed: int, method: Method) -> NaiveEBSSP:
    """The twin with the same data and triggers, its plan made."""
    _, given, data = filled(method, seed)
    twin = NaiveEBSSP(given, loss_bound=method.loss_bound)
    twin.held = {pair: data.of_pair(pair) for pair in range(PAIRS)}
    twin.triggers = int(case.learner.totals["triggers"])
    twin.plan = twin.planned()
    return twin


@pytest.mark.parametrize("seed", range(3))
def test_a_bound_that_the_plan_exceeds_is_doubled_and_the_plan_made_again(seed: int) -> None:
    method = Method("eb-ssp", scale=1e-3)
    case = filled(method, seed).case
    case.learner.totals["triggers"] = 20
    assert kernels.plan_eb_ssp.python(case.constants, case.learner, SWEEPS)
    twin = naive_plan(case, seed, method)
    assert case.learner.totals["loss_bound"] == twin.loss_bound >= 2.0
    assert case.learner.main.iteration.values == pytest.approx(twin.plan.values, rel=1e-11)
    assert case.learner.main.iteration.values.max() <= twin.loss_bound
