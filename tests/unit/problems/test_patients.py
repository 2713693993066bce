"""The two-group patient table of other people, if it lies beside the project: numbers known from elsewhere."""

from pathlib import Path

import numpy as np
import pytest

from goalbound import SSP, LinearCSSP, evaluate, is_proper, solve
from goalbound.models.assembly import assemble, pair_losses

TABLE = Path(__file__).parents[4] / "shared" / "data" / "sepsis_diab_tables.npz"
STEP, DEATH = 0.05, 1.0
pytestmark = pytest.mark.skipif(not TABLE.exists(), reason="the patient table is not here (../shared/data)")


def patients() -> LinearCSSP:
    """Components: not diabetic, diabetic. Discharge is the goal; a death costs 1 and a new patient is admitted."""
    with np.load(TABLE, allow_pickle=False) as data:
        tables, rewards, starts = (
            data[name].astype(float) for name in ("tx_mat", "reward_of_next_state", "p_initial_state")
        )
    live = np.flatnonzero(rewards == 0.0)
    number = np.full(len(rewards), len(live))
    number[live] = np.arange(len(live))
    parts = []
    for table, start in zip(tables, starts, strict=True):
        law = start[live] / start[live].sum()
        action, state, after = np.nonzero(table[:, live, :])
        p = table[action, live[state], after]
        p /= np.bincount(action * len(live) + state, p)[action * len(live) + state]
        dead = rewards[after] < 0.0
        begins = np.flatnonzero(law)
        s, a, share = (np.repeat(column[dead], len(begins)) for column in (state, action, p))
        triples = [
            np.concatenate(columns)
            for columns in (
                (state[~dead], s), (action[~dead], a), (number[after[~dead]], np.tile(begins, dead.sum())),
                (p[~dead], share * np.tile(law[begins], dead.sum())),
            )
        ]  # fmt: skip
        losses = np.concatenate((np.full((~dead).sum(), STEP), np.full(len(s), DEATH)))
        built = assemble(*triples, states=len(live))  # type: ignore[misc]
        expected = pair_losses(built.pair_of, built.support.pairs, triples[3], losses)
        parts.append(SSP(built.support, expected, built.probabilities, law))
    return LinearCSSP.mix(parts, component_names=["not diabetic", "diabetic"])


def test_ignoring_the_diagnosis_breaks_termination() -> None:
    problem = patients()
    assert problem.support.states == 303
    one, other = solve(problem.component(0)), solve(problem.component(1))
    assert round(float(one.values.max()), 2) == 3.10
    assert round(float(other.values.max()), 2) == 1.94
    assert np.count_nonzero(one.policy != other.policy) > 303 / 2  # most states are treated differently
    averaged = solve(problem.at([0.5, 0.5])).policy
    assert not is_proper(problem.component(0), averaged)
    assert np.isinf(evaluate(problem.component(0), averaged).hitting_times).any()
