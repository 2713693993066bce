"""What is declared of a pair, in the place of its set: known rows and losses, each by itself, and floors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from goalbound.confidence import declared, likelihood, paper, sharp
from goalbound.confidence.balls import Balls
from goalbound.confidence.declared import known_row
from goalbound.confidence.protocol import is_known, loss_set
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.ridge import GreedyRidge
from goalbound.models import Support
from tests.support.ridge_kernels import Arguments, arguments_of

SUPPORT = Support.from_pairs([{0: [0, 1, 2]}, {0: [0, 1], 1: [2]}])
"""Pair 0 may lead anywhere, pair 1 to the states but not to the goal (state 2), pair 2 only to the goal."""
CONTEXT = [0.25, 0.75]


def with_prior(prior: PriorKnowledge, **settings: Any) -> Arguments:
    return arguments_of(
        LRCSSP(SUPPORT, 2, loss_floor=0.1, loss_bound=5.0, prior=prior, **{"widths": paper(), **settings}), CONTEXT
    )


def known_way(**settings: Any) -> Arguments:
    """The row of pair 0 is known, and the losses of pairs 0 and 2."""
    columns = [[0.2, 0.4], [0.3, 0.0], [0.5, 0.6]]
    nothing = PriorKnowledge.nothing(SUPPORT, 2)
    return with_prior(
        nothing.with_rows({(0, 0): columns}).with_losses({(0, 0): [0.2, 0.6], (1, 1): [1.0, 1.0]}), **settings
    )


def test_a_known_row_is_a_point_in_the_order_of_the_support_without_the_goal() -> None:
    case = known_way()
    known_row.python(case.constants, case.episode, 0)
    # 0.2 / 4 + 0.4 * 3 / 4 = 0.35 and 0.3 / 4 = 0.075
    assert case.row(0) == pytest.approx({0: 0.35, 1: 0.075}, rel=1e-15)
    assert case.episode.sets.ball[0] == 0.0
    assert case.episode.sets.mass[0] == pytest.approx(0.35**2 + 0.075**2, rel=1e-15)


def test_in_intervals_a_known_row_has_no_length_and_has_the_goal() -> None:
    case = known_way(widths=sharp())
    known_row.python(case.constants, case.episode, 0)
    sets = case.episode.sets
    assert sets.used[0] == 3
    assert sets.state[:3].tolist() == [0, 1, 2]
    assert sets.low[:3] == pytest.approx([0.35, 0.075, 0.575], rel=1e-15)
    assert sets.low[:3].tobytes() == sets.high[:3].tobytes()


def test_a_known_loss_is_mixed_and_at_most_one() -> None:
    case = known_way()
    found = case.python(loss_set)(case.constants, case.learner, case.episode, 0)
    assert found == pytest.approx((0.05 + 0.45, 0.05 + 0.45))
    case.begin([0.1, 0.9000000000000001])  # mixtures may round to just above 1
    assert 1.0 * 0.1 + 1.0 * 0.9000000000000001 > 1.0
    assert case.python(loss_set)(case.constants, case.learner, case.episode, 2) == (1.0, 1.0)


def test_a_pair_whose_row_is_known_is_as_wide_as_its_loss() -> None:
    row_only = PriorKnowledge.nothing(SUPPORT, 2).with_rows({(0, 0): [0.5, 0.25, 0.25]})
    for case, width in ((with_prior(row_only), 0.3 * 0.5), (known_way(), 0.0)):
        case.learner.sets.loss_radius[0] = 0.3
        case.learner.regression.gram[0] = 2.5 * np.eye(2)  # the square of the norm is (1/16 + 9/16) / 2.5 = 1/4
        case.learner.regression.inverse[0] = np.eye(2) / 2.5
        case.look_at(0)
        assert case.episode.norm[0] == pytest.approx(0.5, rel=1e-15)
        assert case.episode.known_width[0] == pytest.approx(width, rel=1e-15)


@pytest.mark.parametrize("widths", [sharp(), likelihood()], ids=str)
def test_intervals_of_known_pairs_have_no_width(widths: Any) -> None:
    case = known_way(widths=widths)
    case.look_at(0)
    assert case.episode.known_width[0] == 0.0
    assert case.episode.sets.losses[0] == case.episode.loss_high[0] == pytest.approx(0.5)


def test_only_where_the_loss_and_the_row_are_declared_a_pair_is_known_whatever_its_width() -> None:
    known = PriorKnowledge.nothing(SUPPORT, 2).with_losses({(0, 0): 0.5, (1, 0): 0.5}).with_rows({(0, 0): [0, 0, 1.0]})
    for case in (with_prior(known), arguments_of(GreedyRidge(SUPPORT, 2, loss_floor=0.1, prior=known), CONTEXT)):
        case.episode.progress["loss_bound"] = 1.0
        case.episode.known_width[:] = 99.0
        found = [bool(case.python(is_known)(case.constants, case.learner, case.episode, pair)) for pair in range(3)]
        assert found == [True, False, False]


def test_a_floor_raises_both_ends_of_a_loss() -> None:
    case = with_prior(PriorKnowledge.nothing(SUPPORT, 2).with_floors({(0, 0): 0.75}))
    case.estimate(0, {}, [0.2, 0.2])
    case.learner.sets.loss_radius[0] = 0.0
    case.look_at(0)
    assert (case.episode.sets.losses[0], case.episode.loss_high[0]) == (0.75, 0.75)


def test_what_is_declared_needs_none_of_the_failure_probability() -> None:
    plain = with_prior(PriorKnowledge.nothing(SUPPORT, 2), widths=sharp()).constants.sets.sharp
    sure = known_way(widths=sharp()).constants.sets.sharp
    # 3 pairs, of which one is left; 6 triples, of which the 3 of pair 0 are known
    assert np.exp(plain.loss_log - sure.loss_log) == pytest.approx(3.0)
    assert np.exp(plain.row_log - sure.row_log) == pytest.approx(2.0)


def test_the_decorator_leaves_the_kernels_alone_that_ask_nothing_of_a_declaration() -> None:
    inner, outer = Balls.slots, declared.around(Balls.slots)
    assert outer is declared.around(Balls.slots)
    changed = {name for name in inner._fields if getattr(inner, name) is not getattr(outer, name)}
    assert changed == {"loss_set", "row_set", "known_width", "is_known"}
