"""The treatment ladder: what its docstring claims, checked with the planner."""

import numpy as np
import pytest

from goalbound.planning import evaluate
from goalbound.problems import (
    treatment_ladder,
)
from tests.support.policies import averaged_policy, proper_corners, some_contexts


@pytest.mark.parametrize(("levels", "markers"), [(1, 1), (6, 2), (12, 4), (20, 6)])
def test_drug_a_is_best_on_average_and_heals_only_those_with_marker_a(levels, markers):
    ladder = treatment_ladder(levels, markers=markers)
    policy = averaged_policy(ladder)
    assert set(policy) == {ladder.support.action("drug A")}
    assert proper_corners(ladder, policy) == [True] + [False] * markers


@pytest.mark.parametrize("relapse", [0.0, 0.05, 0.2])
def test_the_broad_drug_heals_everyone_within_the_bound(relapse):
    levels = 9
    ladder = treatment_ladder(levels, relapse=relapse)
    policy = np.full(levels, ladder.support.action("broad drug"))
    for context in some_contexts(3):
        doses = evaluate(ladder.at(context), policy).hitting_times
        assert doses[levels - 1] <= levels / (0.25 - 0.75 * relapse) + 1e-9
