"""The planner of ULCVI: lower and upper values stage by stage, against a naive twin and by hand."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

from goalbound.baselines import Method
from goalbound.baselines.methods import ulcvi as kernels
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
