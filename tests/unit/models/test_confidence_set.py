"""Sets of plausible problems: what they hold, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.errors import InputError
from goalbound.models import SSP, BallSet, Support
from tests.reference.optimism import contains, next_states
from tests.support.strategies import examples, ssps

TWO = Support.from_pairs([{0: [0, 1, 2], 1: [2]}, {0: [0, 2]}])
"""Two states; the pairs lead to (0, 1, goal), to the goal alone, and to (0, goal)."""

GOOD: dict[str, list[float]] = {
    "loss_low": [0.1, 0.2, 0.3],
    "loss_high": [0.4, 0.2, 1.0],
    "rows": [0.5, 0.3, 0.2, 1.0, 0.25, 0.75],
    "radii": [0.1, 0.0, 0.2],
}


def made(**changed: Any) -> BallSet:
    return BallSet(TWO, **{**GOOD, **changed})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"loss_low": [0.1, 0.2]}, r"loss_low has shape \(2,\); it needs shape \(3,\), one per pair"),
        ({"rows": [0.5] * 5}, r"rows has shape \(5,\); it needs shape \(6,\), one per triple"),
        ({"loss_low": [0.1, -0.2, 0.3]}, "state 0, action 1: loss_low is -0.2"),
        ({"loss_low": [0.1, np.nan, 0.3]}, "state 0, action 1: loss_low is nan"),
        ({"loss_high": [0.05, 0.2, 1.0]}, "state 0, action 0: loss_high 0.05 is not at least loss_low"),
        ({"loss_high": [0.4, 0.2, np.nan]}, "state 1, action 0: loss_high nan"),
        ({"radii": [0.1, 0.0, -1.0]}, "state 1, action 0: the radius is -1"),
        ({"radii": [np.nan, 0.0, 1.0]}, "state 0, action 0: the radius is nan"),
        ({"rows": [0.5, -0.1, 0.6, 1.0, 0.25, 0.75]}, "state 0, action 0: rows holds -0.1"),
        ({"rows": [0.5, 0.3, 0.2, 1.0, np.nan, 0.75]}, "state 1, action 0: rows holds nan"),
        ({"rows": [0.9, 0.3, 0.2, 1.0, 0.25, 0.75]}, "state 0, action 0: the row sums to 1.2 without the goal"),
    ],
)
def test_what_cannot_be_is_an_error_that_names_the_pair(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        made(**changed)


def test_the_arrays_are_the_sets_own_and_cannot_be_written() -> None:
    radii = np.array([0.1, 0.0, 0.2])
    plausible = made(radii=radii)
    radii[0] = 9.0
    assert plausible.radii[0] == 0.1
    for name in GOOD:
        assert not getattr(plausible, name).flags.writeable


def test_a_problem_that_leads_where_the_support_does_not_is_not_plausible() -> None:
    # The radii are large enough for anything; state 1 cannot lead to the goal, nor state 0 to itself.
    narrow = Support.from_pairs([{0: [1, 2]}, {0: [0, 1]}])
    plausible = BallSet(narrow, [0.0, 0.0], [1.0, 1.0], [0.5, 0.5, 0.5, 0.5], [9.0, 9.0])
    for rows, inside in (([0, 0.5, 0.5, 0.5, 0.5, 0], True), ([0, 0.5, 0.5, 0.5, 0.4, 0.1], False),
                         ([0.1, 0.4, 0.5, 0.5, 0.5, 0], False)):  # fmt: skip
        assert plausible.contains(SSP(Support.full(2, 1), [0.5, 0.5], rows)) == inside


def test_a_problem_on_other_pairs_is_an_error() -> None:
    other = SSP.dense([[0.1, 0.1]], [[[0.5, 0.5], [0.0, 1.0]]])
    for ask in (made().contains, made().distances):
        with pytest.raises(InputError, match="other states or actions"):
            ask(other)


@examples(60)
@given(ssps(proper=False, most_states=3), st.data())
def test_containing_is_what_a_naive_check_says(ssp: SSP, data: st.DataObject) -> None:
    support = ssp.support
    eighths = st.lists(st.integers(0, 8), min_size=support.pairs, max_size=support.pairs)
    shares = np.repeat(np.array(data.draw(eighths)) / 8.0, np.diff(support.next_start))
    radii = np.array(data.draw(eighths)) / 8.0
    low = ssp.losses * np.array(data.draw(eighths)) / 8.0
    high = np.minimum(low + np.array(data.draw(eighths)) / 8.0, 1.0)
    uniform = np.repeat(1.0 / np.diff(support.next_start), np.diff(support.next_start))
    lost = np.repeat(support.leads_to_goal, np.diff(support.next_start))  # what is left goes to the goal, if it can
    centres = ssp.probabilities * shares + np.where(lost, 0.0, (1.0 - shares) * uniform)
    plausible = BallSet(support, low, high, centres, radii)

    def rows_of(entries: Any) -> list[Any]:
        return [entries[support.row(i)][: len(next_states(support, i))] for i in range(support.pairs)]

    inside = contains(
        low, rows_of(plausible.rows), radii, (ssp.losses, rows_of(ssp.probabilities)), slack=1e-12
    ) and bool((ssp.losses <= high + 1e-12).all())  # fmt: skip
    assert plausible.contains(ssp) == inside
