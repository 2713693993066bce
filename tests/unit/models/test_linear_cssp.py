"""A contextual problem: mixing, contexts, and the checks of its arguments."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.errors import InputError
from goalbound.models import SSP, LinearCSSP, Support
from tests.reference.naive import dense_tables
from tests.support.strategies import contexts, linear_cssps

SUPPORT = Support.from_pairs([{0: [0, 1], 1: [1]}])
LOSSES = np.array([[0.5, 0.25], [1.0, 0.0]])
CHANCES = np.array([[0.5, 0.25], [0.5, 0.75], [1.0, 1.0]])


def drugs() -> LinearCSSP:
    return LinearCSSP(SUPPORT, LOSSES, CHANCES)


def test_a_context_mixes_losses_and_probabilities() -> None:
    ssp = drugs().at([0.25, 0.75])
    # 1/4 x 0.5 + 3/4 x 0.25 = 0.3125; 1/4 x 1; rows 1/4 x 0.5 + 3/4 x 0.25 = 0.3125 and the rest
    assert ssp.losses.tolist() == [0.3125, 0.25]
    assert ssp.probabilities.tolist() == [0.3125, 0.6875, 1.0]
    assert ssp.support is drugs().support or ssp.support == SUPPORT


@given(st.data())
def test_the_problem_at_a_context_is_the_mixture_of_its_components(data: st.DataObject) -> None:
    problem = data.draw(linear_cssps(proper=False))
    context = data.draw(contexts(problem.context_size))
    ssp = problem.at(context)
    np.testing.assert_allclose(ssp.losses, problem.losses @ context, atol=1e-15)
    np.testing.assert_allclose(ssp.probabilities, problem.probabilities @ context, atol=1e-15)
    laws = [problem.component(k).start_distribution for k in range(problem.context_size)]
    np.testing.assert_allclose(ssp.start_distribution, np.column_stack(laws) @ context, atol=1e-15)


@given(st.data())
def test_at_is_linear_in_the_context(data: st.DataObject) -> None:
    problem = data.draw(linear_cssps(proper=False))
    one, other = (data.draw(contexts(problem.context_size)) for _ in range(2))
    share = data.draw(st.floats(0.0, 1.0))
    mixed = problem.at(share * one + (1.0 - share) * other)
    for name in ("losses", "probabilities"):
        parts = share * getattr(problem.at(one), name) + (1.0 - share) * getattr(problem.at(other), name)
        np.testing.assert_allclose(getattr(mixed, name), parts, atol=1e-14)


def test_mix_joins_different_supports_and_different_starts() -> None:
    dry = SSP.dense([[0.5], [0.5]], [[[0, 1, 0.0]], [[0, 0, 1.0]]], start=0)
    wet = SSP.dense([[1.0], [0.5]], [[[0.5, 0, 0.5]], [[0, 0.5, 0.5]]], start=[0.5, 0.5])
    problem = LinearCSSP.mix([dry, wet], component_names=["dry", "wet"])
    assert problem.support == Support.from_pairs([{0: [0, 1, 2]}, {0: [1, 2]}])
    assert problem.probabilities.tolist() == [[0, 0.5], [1, 0], [0, 0.5], [0, 0.5], [1, 0.5]]
    assert problem.losses.tolist() == [[0.5, 1.0], [0.5, 0.5]]
    assert np.asarray(problem.start).tolist() == [[1.0, 0.5], [0.0, 0.5]]
    assert problem.at([0.5, 0.5]).start_distribution.tolist() == [0.75, 0.25]
    assert problem.component_name(1) == 'component 1 ("wet")'


@given(linear_cssps(proper=False))
def test_the_components_of_a_mix_are_the_problems_that_were_mixed(problem: LinearCSSP) -> None:
    parts = [problem.component(k) for k in range(problem.context_size)]
    mixed = LinearCSSP.mix(parts)
    for k, part in enumerate(parts):
        for ours, theirs in zip(dense_tables(mixed.component(k)), dense_tables(part), strict=True):
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(mixed.component(k).start_distribution, part.start_distribution)


def test_problems_that_are_unlike_cannot_be_mixed() -> None:
    one = SSP.dense([[0.5]], [[[0, 1.0]]])
    two_actions = SSP.dense([[0.5, 0.5]], [[[0, 1.0], [0, 1.0]]])
    with pytest.raises(InputError, match="mix needs at least one problem"):
        LinearCSSP.mix([])
    with pytest.raises(InputError, match="problem 1 has other states or actions than problem 0"):
        LinearCSSP.mix([one, two_actions])
    with pytest.raises(InputError, match="problem 1 has loss_scale 2, problem 0 has 1; bring the losses to one unit"):
        LinearCSSP.mix([one, SSP(one.support, one.losses, one.probabilities, loss_scale=2.0)])
    with pytest.raises(InputError, match="problem 1 has other state names"):
        LinearCSSP.mix([SSP.dense([[0.5]], [[[0, 1.0]]], state_names=[name]) for name in "ab"])
    with pytest.raises(InputError, match="problem 1 has other action names"):
        LinearCSSP.mix([SSP.dense([[0.5]], [[[0, 1.0]]], action_names=[name]) for name in "ab"])
    with pytest.raises(InputError, match="component_names has 1 names for 2"):
        LinearCSSP.mix([one, one], component_names=["a"])


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ([0.5, 0.6], r"context sums to 1.1, not 1; it is a distribution over the 2 components"),
        ([0.5], r"context has shape \(1,\); it needs 2 numbers, one per component"),
        ([0.5, 0.25, 0.25], r"context has shape \(3,\)"),
        ([1.5, -0.5], r"context\[0\]: weight 1.5 is not in \[0, 1\]"),
        ([np.nan, 1.0], r"context\[0\]: weight nan"),
        ([0.0, 0.0], "context sums to 0, not 1"),
        ("young", 'no component is called "young"'),
    ],
)
def test_a_context_off_the_simplex_is_refused(context: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        drugs().at(context)  # type: ignore[arg-type]


def test_errors_name_component_and_pair() -> None:
    named = ("young", "old")
    bad_loss, bad_chance, bad_row = LOSSES.copy(), CHANCES.copy(), CHANCES.copy()
    bad_loss[1, 1], bad_chance[1, 0], bad_row[0, 1] = 1.5, -0.5, 0.2
    with pytest.raises(InputError, match=r'component 1 \("old"\), state 0, action 1: loss 1.5 is not in \[0, 1\]'):
        LinearCSSP(SUPPORT, bad_loss, CHANCES, 0, named)
    with pytest.raises(InputError, match=r"component 0, state 0, action 0 -> goal: probability -0.5 is not in"):
        LinearCSSP(SUPPORT, LOSSES, bad_chance)
    with pytest.raises(InputError, match=r"component 1, state 0, action 0: probabilities sum to 0.95, not 1"):
        LinearCSSP(SUPPORT, LOSSES, bad_row)


def test_dense_tables_put_the_component_first() -> None:
    losses = [[[0.5, 1.0]], [[0.25, 0.0]]]
    transitions = [[[[0.5, 0.5], [0, 1.0]]], [[[0.25, 0.75], [0, 1.0]]]]
    assert LinearCSSP.dense(losses, transitions) == drugs()
    starts = LinearCSSP.dense(
        np.full((2, 2, 1), 0.5), [[[[0, 0, 1.0]], [[0, 0, 1.0]]]] * 2, start=[[1.0, 0.0], [0.25, 0.75]]
    )
    assert starts.at([0.0, 1.0]).start_distribution.tolist() == [0.25, 0.75]
    with pytest.raises(InputError, match=r"transitions has shape \(1, 1, 2, 2\); .* \(2, 1, 2, 2\), the goal last"):
        LinearCSSP.dense(losses, transitions[:1])


def test_the_arrays_are_read_only_and_not_the_callers() -> None:
    losses, chances = LOSSES.copy(), CHANCES.copy()
    problem = LinearCSSP(SUPPORT, losses, chances)
    losses[0, 0] = chances[0, 0] = 0.9
    assert problem == drugs()
    at = problem.at([0.5, 0.5])
    for array in (problem.losses, problem.probabilities, at.losses, at.probabilities):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


def test_problems_are_equal_by_content_and_names() -> None:
    assert drugs() == drugs()
    assert drugs() != LinearCSSP(SUPPORT, LOSSES, CHANCES, 0, ("a", "b"))
    assert drugs() != LinearCSSP(SUPPORT, LOSSES / 2, CHANCES)
    assert drugs() != drugs().component(0)
    assert repr(drugs()) == "LinearCSSP(2 components, 1 states, 2 pairs, 3 next states)"


def named():
    part = SSP.dense([[0.5]], [[[0.0, 1.0]]])
    return LinearCSSP.mix([part] * 3, component_names=["young", "old", "very old"])


def test_a_context_is_a_mapping_from_names_to_weights():
    problem = named()
    assert problem.check_context({"old": 0.1, "young": 0.9}).tolist() == [0.9, 0.1, 0.0]
    assert problem.at({"old": 1.0}) == problem.at("old") == problem.at([0.0, 1.0, 0.0])


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({"yuong": 1.0}, 'context: no component is called "yuong"; there are "young", "old", "very old"'),
        ({"young": 0.9}, r"context sums to 0\.9, not 1"),
        ({"young": 1.5, "old": -0.5}, r"context\[0\] is 1\.5|weight"),
        ({"young": "much"}, "context"),
        ({0: 1.0}, "context: 0 is not the name of a component"),
        ({}, "context sums to 0, not 1"),
    ],
)
def test_a_mapping_that_is_no_context_is_an_error(context, message):
    with pytest.raises(InputError, match=message):
        named().at(context)
