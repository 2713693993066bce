"""Room for what was seen: in the order of first visits, alike as Python and compiled, and none for what was not."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from goalbound import LRCSSP, Step, Support
from goalbound.confidence.likelihood import new_likelihood_state, part_in_use
from goalbound.confidence.likelihood.sets import LikelihoodState, begin_pair, row_of
from goalbound.confidence.sharp import SharpState
from tests.support.kernel_forms import COMPILED, PYTHON, kernels

NO_VARIANCES = SharpState(np.zeros((0, 1)), np.zeros(0))


def test_pairs_numbers_and_rows_are_numbered_in_the_order_in_which_they_come() -> None:
    state = new_likelihood_state(3, 7, 2, 3, 4, sharp=NO_VARIANCES)
    for pair, next_states in ((2, 3), (0, 2), (2, 3)):
        begin_pair.python(state, pair, next_states)
    assert state.place.tolist() == [2, 0, 1]
    assert state.first.tolist() == [4, 0, 0]
    assert (state.used["pairs"], state.used["numbers"], state.used["rows"]) == (2, 7, 0)
    shown = part_in_use(state)
    assert (shown.estimate == 0.5).all()
    assert (shown.high == 1.0).all()
    assert shown.estimate.shape == (7, 2)
    assert [row_of.python(state, state.outcome_rows[5, 0], cell) for cell in (3, 1, 3)] == [1, 2, 1]
    assert row_of.python(state, state.cell_rows[1], 0) == 3
    assert part_in_use(state).rows.shape == (4, 3)
    assert not state.rows.any()


def test_the_same_room_is_taken_as_python_and_compiled() -> None:
    support, rng = Support.full(3, 2), np.random.default_rng(0)
    log = [
        (rng.dirichlet([1.0, 1.0]), Step(k % 3, k % 2, float(rng.random()), int(rng.integers(4)))) for k in range(40)
    ]
    found: list[LikelihoodState] = []
    for form in (PYTHON, COMPILED):
        with kernels(form):
            learner = LRCSSP(support, 2, loss_floor=0.1)
            learner.learn_log(log)
            found.append(part_in_use(learner._state.sets))
    python, compiled = found
    for name in ("place", "first", "cell_rows", "outcome_rows", "rows", "low", "high", "estimate", "log_loss"):
        np.testing.assert_array_equal(getattr(python, name), getattr(compiled, name), err_msg=name)
    assert python.used["pairs"] == support.pairs


@pytest.mark.skipif(sys.platform != "linux", reason="memory is asked for in /proc")
def test_pairs_that_were_never_played_take_no_memory() -> None:
    """30,000 pairs of 5 next states and d = 10; 100 were played, far from each other."""
    states = 30_000
    before = _resident_megabytes()
    state = new_likelihood_state(states, 5 * states, 10, 10, 10, sharp=NO_VARIANCES)
    for pair in range(0, states, 300):
        begin_pair.python(state, pair, 5)
        row_of.python(state, state.cell_rows[state.place[pair] - 1], pair % 10)
        for number in range(state.first[pair], state.first[pair] + 6):
            row_of.python(state, state.outcome_rows[number, 1], pair % 10)
    assert state.rows.nbytes > 300e6
    assert _resident_megabytes() - before < 20.0  # five arrays [N] of 8 bytes: 1.2 MB; the rest in 4 KiB pages


def _resident_megabytes() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6
