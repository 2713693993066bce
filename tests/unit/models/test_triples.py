"""Transitions in any order as a support: sorted, repeats summed, losses averaged."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from goalbound.errors import InputError
from goalbound.models import SSP, Support
from tests.support.strategies import loose_transitions


def test_repeated_transitions_are_summed_and_their_loss_is_the_mean_by_probability() -> None:
    ssp = SSP.from_transitions(
        [(1, 0, 2, 1.0, 0.2), (0, 3, 2, 0.25, 1.0), (0, 3, 1, 0.5, 0.5), (0, 3, 2, 0.25, 0.0), (0, 3, 0, 0.0, 0.9)]
    )
    assert ssp.support == Support.from_pairs([{3: [1, 2]}, {0: [2]}])  # the transition of probability 0 is dropped
    assert ssp.probabilities.tolist() == [0.5, 0.5, 1.0]
    assert ssp.losses.tolist() == [0.5, 0.2]  # 1/4 x 1 + 1/2 x 1/2 + 1/4 x 0 = 1/2


@given(loose_transitions())
def test_loose_transitions_mean_their_sums(loose: list[tuple[int, int, int, float, float]]) -> None:
    ssp = SSP.from_transitions(loose)
    chance: dict[tuple[int, int], dict[int, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    weighted: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for state, action, following, probability, loss in loose:
        chance[state, action][following] += Fraction(probability)
        weighted[state, action] += Fraction(probability) * Fraction(loss)
    assert ssp.support.pairs == len(chance)
    for (state, action), row in chance.items():
        pair = ssp.support.pair(state, action)
        assert ssp.support.next_state[ssp.support.row(pair)].tolist() == sorted(row)
        wanted = [float(row[following]) for following in sorted(row)]
        np.testing.assert_allclose(ssp.probabilities[ssp.support.row(pair)], wanted, rtol=1e-14)
        mean = float(weighted[state, action] / sum(row.values()))
        assert ssp.losses[pair] == pytest.approx(mean, rel=1e-14, abs=1e-300)


def test_names_are_numbered_as_they_first_appear_and_the_goal_may_be_a_number() -> None:
    ssp = SSP.from_transitions([("b", "go", "a", 1.0, 0.5), ("a", "stop", "goal", 1.0, 0.5)], start="a")
    assert ssp.support.state_names == ("b", "a")
    assert ssp.support.action_names == ("go", "stop")
    assert ssp.start == 1
    assert SSP.from_transitions([(0, 0, 1, 1.0, 0.5)]) == SSP.from_transitions([(0, 0, "goal", 1.0, 0.5)])


def test_a_row_of_zeros_is_called_that() -> None:
    with pytest.raises(InputError, match="probabilities sum to 0, not 1"):
        SSP.from_transitions([(0, 0, 1, 0.0, 0.5), (0, 0, 0, 0.0, 0.25)])
