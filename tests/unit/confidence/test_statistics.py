"""What was seen: sums in the order of the support, and steps that cannot be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound import LRCSSP, Support
from goalbound.confidence import Statistics
from goalbound.confidence.regression import new_pending
from goalbound.errors import InputError
from goalbound.models import Step
from tests.support.seen_steps import RAGGED, steps_of
from tests.support.strategies import contexts, examples


@examples(60)
@given(st.lists(st.tuples(contexts(2), steps_of(RAGGED)), max_size=30))
def test_sums_are_the_naive_ones_in_the_order_of_the_support(seen: list[tuple[Any, Step]]) -> None:
    statistics = Statistics(RAGGED, 2, regularization=0.5)
    gram = np.repeat(0.5 * np.eye(2)[None], RAGGED.pairs, axis=0)
    loss_sums, next_sums = np.zeros((RAGGED.pairs, 2)), np.zeros((RAGGED.triples, 2))
    visits = np.zeros(RAGGED.pairs)
    for context, step in seen:
        statistics.record(context, step)
        pair = RAGGED.pair(step.state, step.action)
        row = RAGGED.row(pair)
        place = row.start + RAGGED.next_state[row].tolist().index(step.next_state)
        visits[pair] += 1
        gram[pair] += np.outer(context, context)
        loss_sums[pair] += step.loss * context
        next_sums[place] += context
    np.testing.assert_array_equal(statistics.visits, visits)
    np.testing.assert_allclose(statistics.gram, gram, rtol=1e-14)
    np.testing.assert_allclose(statistics.loss_sums, loss_sums, rtol=1e-14)
    np.testing.assert_allclose(statistics.next_sums, next_sums, rtol=1e-14)
    np.testing.assert_allclose(statistics.inverse_gram, np.linalg.inv(gram), rtol=1e-11, atol=1e-13)


def test_names_are_as_good_as_numbers() -> None:
    by_name, by_number = Statistics(RAGGED, 1), Statistics(RAGGED, 1)
    by_name.record([1.0], Step("a", "z", 0.5, "goal"))  # type: ignore[arg-type]
    by_number.record([1.0], Step(0, 2, 0.5, 3))
    np.testing.assert_array_equal(by_name.next_sums, by_number.next_sums)


MISUSE = [
    ([0.5, 0.5], Step(0, 0, 0.5, 2), 'state 0 ("a"), action 0 ("x") led to state 2 ("c"), which its support does not'),
    ([0.5, 0.5], Step(2, 0, 0.5, 3), 'state 2 ("c"), action 0 ("x") led to goal, which its support does not allow'),
    ([0.5, 0.5], Step(0, 0, 0.5, 4), "no state 4; they are 0 to 3"),
    ([0.5, 0.5], Step(0, 0, 0.5, -1), "no state -1"),
    ([0.5, 0.5], Step(3, 0, 0.5, 3), "the goal (3) has no actions"),
    ([0.5, 0.5], Step(1, 0, 0.5, 3), 'state 1 ("b") has no action 0 ("x"); it has action 1 ("y")'),
    ([0.5, 0.5], Step(0, 0, float("nan"), 1), "the loss is nan; losses lie in [0, 1]"),
    ([0.5, 0.5], Step(0, 0, 1.5, 1), "the loss is 1.5; losses lie in [0, 1], divide them by a scale"),
    ([0.5, 0.5], Step(0, 0, -0.1, 1), "the loss is -0.1"),
    ([0.5, 0.6], Step(0, 0, 0.5, 1), "context sums to 1.1, not 1"),
    ([1.5, -0.5], Step(0, 0, 0.5, 1), "context[0]: weight 1.5 is not in [0, 1]"),
    ([np.nan, 1.0], Step(0, 0, 0.5, 1), "context[0]: weight nan"),
    ([1.0], Step(0, 0, 0.5, 1), "context has shape (1,)"),
]


@pytest.mark.parametrize(("context", "step", "message"), MISUSE, ids=[message[:30] for _, _, message in MISUSE])
def test_a_step_that_cannot_be_is_an_error_and_changes_nothing(context: list[float], step: Step, message: str) -> None:
    statistics = Statistics(RAGGED, 2)
    statistics.record([0.25, 0.75], Step(0, 0, 0.5, 1))
    before = [array.tobytes() for array in statistics.regression]
    with pytest.raises(InputError) as error:
        statistics.record(context, step)
    assert message in str(error.value)
    assert [array.tobytes() for array in statistics.regression] == before


def test_what_is_shown_cannot_be_written() -> None:
    statistics = Statistics(RAGGED, 2)
    for name in ("visits", "gram", "inverse_gram", "loss_sums"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(statistics, name)[0] = 1.0


@pytest.mark.parametrize("regularization", [0.0, -1.0, float("nan"), float("inf")])
def test_a_regularization_is_a_positive_number(regularization: float) -> None:
    with pytest.raises(InputError, match="is not a positive number; the paper uses 1"):
        Statistics(RAGGED, 2, regularization=regularization)


@pytest.mark.parametrize("size", [0, -3, 1.5, True])
def test_a_context_has_a_whole_number_of_entries(size: Any) -> None:
    with pytest.raises(InputError, match="context_size"):
        Statistics(RAGGED, size)


def test_a_view_of_the_statistics_of_a_learner_shows_them_as_they_grow() -> None:
    statistics = Statistics(RAGGED, 2)
    look = Statistics.over(RAGGED, statistics.regression, 1.0, new_pending(RAGGED.pairs, 2))
    statistics.record([0.25, 0.75], Step(0, 0, 0.5, 1))
    np.testing.assert_array_equal(look.visits, [1, 0, 0, 0])
    np.testing.assert_array_equal(look.loss_sums[0], [0.125, 0.375])


def test_it_says_how_much_it_has_seen() -> None:
    statistics = Statistics(RAGGED, 2)
    statistics.record([0.25, 0.75], Step(0, 0, 0.5, 1))
    assert repr(statistics) == "Statistics(3 states, 4 pairs, 9 next states, 2 components, 1 steps)"


def test_a_next_state_outside_the_support_has_the_larger_support_as_its_remedy() -> None:
    learner = LRCSSP(Support.from_pairs([{0: [1, 2]}, {0: [2]}]), 1, loss_floor=0.1)
    step = Step(0, 0, 0.5, 0)
    with pytest.raises(InputError, match=r"which its support does not allow; .*learner\.extended\(support\)"):
        learner.learn([1.0], step)
    larger = learner.extended(Support.from_pairs([{0: [0, 1, 2]}, {0: [2]}]))  # what the error says helps
    larger.learn([1.0], step)
    assert larger.statistics.visits.tolist() == [1, 0]
