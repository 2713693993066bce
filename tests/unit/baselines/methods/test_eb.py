"""VISGO, the planner of EB-SSP: backups with a bonus, sweeps, precision and doubling, against a naive twin."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.baselines import Method
from goalbound.baselines.methods import eb as kernels
from goalbound.baselines.state import copied
from tests.reference.tabular import NaiveEBSSP
from tests.reference.tabular_sets import visgo, visgo_backup
from tests.support.tabular_kernels import PAIRS, Arguments, arguments, filled

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


def test_where_the_bonus_is_more_than_can_be_lost_nothing_else_is_computed() -> None:
    case = filled(Method("eb-ssp", loss_bound=4.0), 0).case
    unread = np.full(4, np.nan)  # values that would show
    assert kernels.eb_backup.python(case.constants, case.learner, 0, unread, 4.0, 4.0) == 0.0


def test_of_equal_backups_the_pair_with_the_fewest_visits_is_taken_then_the_lowest() -> None:
    case = arguments(Method("eb-ssp", loss_bound=4.0))
    case.learner.counts.visits[:] = [3, 1, 2, 2, 0, 5]  # visited since the last look; all are worth 0
    change = kernels.eb_sweep.python(case.constants, case.learner, np.empty(4), 0.0)
    assert case.learner.main.iteration.policy.tolist() == [1, 2, 4]
    assert change == 0.1  # from the floor, where values are before the first plan, to 0


@pytest.mark.parametrize("seed", range(3))
def test_iteration_from_zero_is_that_of_the_naive_twin_sweep_by_sweep(seed: int) -> None:
    case, given, data = filled(Method("eb-ssp", loss_bound=8.0, scale=1e-3), seed)
    held = {pair: data.of_pair(pair) for pair in range(PAIRS)}
    for precision in (0.1, 1e-3, 1e-9):  # where it stops is part of the method
        assert kernels.iterate_eb.python(case.constants, case.learner, precision, SWEEPS)
        wanted = visgo(given, held, 8.0, precision)
        assert wanted.values.max() > 0.2
        assert case.learner.main.iteration.values == pytest.approx(wanted.values, rel=1e-11)


def test_iteration_that_is_cut_short_says_so_and_counts_its_sweeps() -> None:
    case = filled(Method("eb-ssp", loss_bound=8.0, scale=1e-3), 0).case
    assert not kernels.iterate_eb.python(case.constants, case.learner, 1e-9, 3)
    assert case.learner.totals["sweeps"] == 3
    assert not kernels.plan_eb_ssp.python(case.constants, case.learner, 1)


def naive_plan(case: Arguments, seed: int, method: Method) -> NaiveEBSSP:
    """The twin with the same data and triggers, its plan made."""
    _, given, data = filled(method, seed)
    twin = NaiveEBSSP(given, loss_bound=method.loss_bound)
    twin.held = {pair: data.of_pair(pair) for pair in range(PAIRS)}
    twin.triggers = int(case.learner.totals["triggers"])
    twin.plan = twin.planned()
    return twin


@pytest.mark.parametrize("triggers", [0, 4, 60])
def test_a_plan_is_as_precise_as_the_triggers_say(triggers: int) -> None:
    method = Method("eb-ssp", loss_bound=8.0, scale=1e-3)
    case = filled(method, 1).case
    case.learner.totals["triggers"] = triggers
    assert kernels.plan_eb_ssp.python(case.constants, case.learner, SWEEPS)
    twin = naive_plan(case, 1, method)
    # 2^-triggers / N, but not below 1e-9 B
    assert twin.precision == max(0.5**triggers / 6, 8e-9)
    assert case.learner.main.iteration.values == pytest.approx(twin.plan.values, rel=1e-11)


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


def test_a_bound_that_is_given_stays_whatever_the_plan_is_worth() -> None:
    case = filled(Method("eb-ssp", loss_bound=1.0, scale=1e-5), 0).case
    case.learner.totals["triggers"] = 20
    assert kernels.plan_eb_ssp.python(case.constants, case.learner, SWEEPS)
    assert case.learner.main.iteration.values.max() > 1.0
    assert case.learner.totals["loss_bound"] == 1.0


def test_both_forms_plan_to_the_same_bits() -> None:
    case = filled(Method("eb-ssp", scale=1e-3), 2).case
    other = copied(case.learner)
    assert kernels.plan_eb_ssp.python(case.constants, case.learner, SWEEPS)
    assert kernels.plan_eb_ssp.compiled(case.constants, other, SWEEPS)
    assert case.learner.main.iteration.values.tobytes() == other.main.iteration.values.tobytes()
    assert case.learner.main.iteration.policy.tobytes() == other.main.iteration.policy.tobytes()
    assert case.learner.totals == other.totals
