"""Visits whose outcome is missing: whole numbers that come back to 0, and how far an estimate may have moved."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from goalbound.confidence import regression as kernels
from goalbound.confidence.regression import UNIT, Pending, new_pending
from tests.support.strategies import contexts, examples


def arrays(pending: Pending) -> list[list[int]]:
    return [pending.visits.tolist(), pending.contexts.ravel().tolist(), pending.norms.tolist()]


@given(st.floats(0.0, 10.0))
@examples(200)
def test_a_number_is_rounded_up_to_the_next_unit(number: float) -> None:
    units = kernels.in_units.python(number)
    assert (units - 1) * Fraction(UNIT) < Fraction(number) <= units * Fraction(UNIT)


def test_units_are_exact_at_their_own_multiples() -> None:
    assert kernels.in_units.python(3 * UNIT) == 3
    assert kernels.in_units.python(np.nextafter(3 * UNIT, 1.0)) == 4
    assert kernels.in_units.python(0.0) == 0
    assert kernels.in_units.python(1.0) == 2**32


@given(st.data())
@examples(60)
def test_sums_come_back_to_exactly_zero_in_whatever_order_visits_are_taken_back(data: st.DataObject) -> None:
    visit = st.tuples(st.integers(0, 1), contexts(3), st.floats(0.0, 2.0))
    visits = data.draw(st.lists(visit, max_size=12))
    pending = new_pending(2, 3)
    for pair, context, norm in visits:
        kernels.add_pending.python(pending, pair, context, kernels.in_units.python(norm), 1)
    for pair in range(2):
        mine = [(context, norm) for at, context, norm in visits if at == pair]
        assert pending.visits[pair] == len(mine)
        # never below the true sum, and above it by less than a unit for each visit
        excess = int(pending.norms[pair]) * Fraction(UNIT) - sum(Fraction(norm) for _, norm in mine)
        assert 0 <= excess <= len(mine) * Fraction(UNIT)
        for j in range(3):
            excess = int(pending.contexts[pair, j]) * Fraction(UNIT) - sum(Fraction(float(c[j])) for c, _ in mine)
            assert 0 <= excess <= len(mine) * Fraction(UNIT)
    for pair, context, norm in data.draw(st.permutations(visits)):
        kernels.add_pending.python(pending, pair, context, kernels.in_units.python(norm), -1)
    assert arrays(pending) == arrays(new_pending(2, 3))


def test_the_interval_by_hand() -> None:
    pending = new_pending(2, 2)
    direction = np.array([0.5, -2.0])
    assert kernels.missing_interval.python(SimpleNamespace(pending=pending), 0, direction) == (0.0, 0.0)
    for context in ([0.25, 0.75], [1.0, 0.0]):
        kernels.add_pending.python(pending, 0, np.array(context), 0, 1)
    # The contexts sum to (1.25, 0.75): between -2 * 0.75 and 0.5 * 1.25.
    assert kernels.missing_interval.python(SimpleNamespace(pending=pending), 0, direction) == (-1.5, 0.625)
    assert kernels.missing_interval.python(SimpleNamespace(pending=pending), 1, direction) == (0.0, 0.0)


@given(st.lists(contexts(2), min_size=1, max_size=4), st.lists(st.floats(-3.0, 3.0), min_size=2, max_size=2))
@examples(80)
def test_the_interval_holds_whatever_the_missing_outcomes_may_be(seen: list[np.ndarray], entries: list[float]) -> None:
    direction = np.array(entries)
    pending = new_pending(1, 2)
    for context in seen:
        kernels.add_pending.python(pending, 0, context, 0, 1)
    least, most = kernels.missing_interval.python(SimpleNamespace(pending=pending), 0, direction)
    moves = [float(direction @ context) for context in seen]
    for outcomes in product((0.0, 1.0), repeat=len(seen)):
        moved = sum(y * move for y, move in zip(outcomes, moves, strict=True))
        assert least - 1e-12 <= moved <= most + 1e-12
    # With one component of the context alone in use nothing is given away.
    alone = new_pending(1, 2)
    kernels.add_pending.python(alone, 0, np.array([1.0, 0.0]), 0, 1)
    assert kernels.missing_interval.python(SimpleNamespace(pending=alone), 0, direction) == (
        min(entries[0], 0.0),
        max(entries[0], 0.0),
    )


def test_both_forms_keep_the_same_sums() -> None:
    rng = np.random.default_rng(4)
    one, other = new_pending(3, 2), new_pending(3, 2)
    for _ in range(40):
        pair, context, norm = int(rng.integers(3)), rng.dirichlet(np.ones(2)), float(rng.random())
        kernels.add_pending.python(one, pair, context, kernels.in_units.python(norm), 1)
        kernels.add_pending.compiled(other, pair, context, kernels.in_units.compiled(norm), 1)
    assert arrays(one) == arrays(other)
