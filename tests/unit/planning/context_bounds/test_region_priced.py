"""Steps weighed against the loss: never below what an optimal policy takes, and close to it on small sub-simplices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.models import LinearCSSP
from goalbound.planning import context_bounds
from goalbound.planning.context_bounds import branch_and_bound
from goalbound.planning.context_bounds.region import (
    ContextPoint,
    affine_upper_bounds,
    most_priced_steps,
    prices_for,
)
from goalbound.problems import routing_grid
from tests.reference import context_grid
from tests.support.context_grids import simplices
from tests.support.strategies import contexts, examples, linear_cssps


@examples(200)
@given(linear_cssps(proper=True, most_states=3), st.data())
def test_no_policy_that_is_optimal_somewhere_takes_longer(problem: LinearCSSP, data: st.DataObject) -> None:
    corners = tuple(ContextPoint(problem, c) for c in data.draw(simplices(problem.context_size)))
    bound = most_priced_steps(corners, affine_upper_bounds(corners), prices_for(corners))
    weights = data.draw(contexts(len(corners)))
    context = weights @ np.stack([corner.context for corner in corners])
    assert context_grid.largest_at(problem.at(context / context.sum())).time <= bound * (1.0 + 1e-9)


def test_prices_and_pairs_give_intervals_that_share_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = routing_grid(4, 4)
    by_pairs = context_bounds(problem, tolerance=0.02).time_bound
    monkeypatch.setattr(branch_and_bound, "FEW_STATES", 0)
    by_prices = context_bounds(problem, tolerance=0.02).time_bound
    assert by_prices.status is by_pairs.status is branch_and_bound.BoundStatus.CONVERGED
    assert max(by_prices.lower, by_pairs.lower) <= min(by_prices.upper, by_pairs.upper)
    assert by_prices.upper != by_pairs.upper
