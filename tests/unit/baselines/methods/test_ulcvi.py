"""The planner of ULCVI: lower and upper values stage by stage, against a naive twin and by hand."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

from goalbound.baselines import Method
from goalbound.baselines.methods import ulcvi as kernels
from goalbound.baselines.state import copied
from tests.reference.tabular_sets import ulcvi_tables
from tests.support.tabular_kernels import DELTA, arguments, filled

HORIZON = 17
"""ceil(8 * 1 * ln(8 * 1)) = ceil(16.64)"""


def ulcvi(scale: float = 1e-7, loss_bound: float = 1.0) -> Method:
    return Method("ulcvi", loss_bound=loss_bound, time_bound=1.0, episodes=1, scale=scale)


@pytest.mark.parametrize("scale", [1e-9, 1e-7, 1e-6])
@pytest.mark.parametrize("seed", range(3))
def test_the_table_is_that_of_the_naive_twin_at_every_stage(seed: int, scale: float) -> None:
    case, given, data = filled(ulcvi(scale), seed)
    kernels.plan_stages.python(case.constants, case.learner)
    stages = ulcvi_tables(given, data, 1.0, HORIZON)
    assert case.learner.workspace.table.tolist() == [stage.policy for stage in stages]
    iteration = case.learner.main.iteration
    np.testing.assert_allclose(iteration.values, stages[0].low.values, rtol=1e-11, atol=1e-13)
    assert iteration.policy.tolist() == stages[0].policy
    assert case.learner.totals["sweeps"] == HORIZON


@pytest.mark.parametrize("seed", range(3))
def test_one_stage_has_the_lower_and_upper_values_of_the_naive_twin(seed: int) -> None:
    case, given, data = filled(ulcvi(), seed)
    stages = ulcvi_tables(given, data, 1.0, HORIZON)
    workspace = case.learner.workspace
    for stage in (HORIZON - 2, 5, 0):
        after = stages[stage + 1]
        workspace.values[1], workspace.upper[1] = after.low.values, after.up
        kernels.plan_stage.python(case.constants, case.learner, stage, 1)
        np.testing.assert_allclose(workspace.values[0], stages[stage].low.values, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(workspace.upper[0], stages[stage].up, rtol=1e-12)
        assert workspace.table[stage].tolist() == stages[stage].policy


def test_a_backup_by_hand() -> None:
    # Pair 0 led once to state 1 and once to the goal, for 0.5 and 0.7. m = 3 next states, so 4 with the goal.
    scale = 1e-8
    case = arguments(ulcvi(scale))
    case.record(0, 1, 0.5)
    case.record(0, 3, 0.7)
    case.update(0)
    lower, upper = np.array([9.0, 2.0, 9.0, 0.0]), np.array([9.0, 3.0, 9.0, 0.0])
    low, high = kernels.stage_backups.python(case.constants, case.learner, 0, lower, upper, 24.0)
    rate = log(12 * 6 * HORIZON * 4 * 2**2 / DELTA) / 2
    of_loss = scale * (sqrt(2 * 0.01 * rate) + 5 * rate)  # the losses are 0.1 from their mean 0.6
    of_next = scale * (sqrt(2 * 1.0 * rate) + 62 * HORIZON**3 * 3 * rate)  # lower values 2 and 0: variance 1
    of_next += (1.5 - 1.0) / (16 * HORIZON)  # means of the upper and of the lower values
    assert low == pytest.approx(0.6 - of_loss + 1.0 - of_next, rel=1e-13)
    assert high == pytest.approx(0.6 + of_loss + 1.5 + of_next, rel=1e-13)


def test_a_pair_without_visits_or_with_a_bonus_above_the_cap_may_be_worth_anything() -> None:
    lower = upper = np.array([1.0, 1.0, 1.0, 0.0])
    fresh = arguments(ulcvi())
    assert kernels.stage_backups.python(fresh.constants, fresh.learner, 0, lower, upper, 24.0) == (0.0, 24.0)
    wide = filled(ulcvi(scale=1.0), 0).case  # 62 H^3 and more
    unread = np.full(4, np.nan)
    assert kernels.stage_backups.python(wide.constants, wide.learner, 0, unread, unread, 24.0) == (0.0, 24.0)


def test_upper_values_grow_by_one_a_stage_from_eight_times_the_bound() -> None:
    case = arguments(ulcvi(loss_bound=2.0))
    kernels.plan_stages.python(case.constants, case.learner)
    # Nothing was seen. 17 stages: the last half written has the first stage, 8 * 2 + 17; below it is 0.
    half = HORIZON % 2
    assert case.learner.workspace.upper[half, :3].tolist() == [8.0 * 2.0 + HORIZON] * 3
    assert case.learner.workspace.values[half, :3].tolist() == [0.0] * 3
    assert case.learner.main.iteration.values.tolist() == [0.0] * 4


def test_of_equal_pairs_that_with_the_fewest_visits_is_played_then_the_lowest() -> None:
    case = arguments(ulcvi())
    case.learner.counts.visits[:] = [3, 1, 2, 2, 0, 5]
    kernels.plan_stages.python(case.constants, case.learner)
    assert (case.learner.workspace.table == [1, 2, 4]).all()


def test_both_forms_fill_the_same_table() -> None:
    case = filled(ulcvi(), 1).case
    other = copied(case.learner)
    kernels.plan_stages.python(case.constants, case.learner)
    kernels.plan_stages.compiled(case.constants, other)
    assert case.learner.workspace.table.tobytes() == other.workspace.table.tobytes()
    assert case.learner.workspace.upper.tobytes() == other.workspace.upper.tobytes()
    assert case.learner.main.iteration.values.tobytes() == other.main.iteration.values.tobytes()
