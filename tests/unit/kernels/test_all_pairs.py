"""All pairs at once are what they are one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from goalbound.estimation import paper, sharp
from goalbound.jit.compile import Kernel
from goalbound.kernels import algorithm, all_pairs, confidence, value_iteration
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.models import Step, Support
from tests.support.ridge_kernels import Arguments, arguments_of

SUPPORT = Support.from_pairs([{0: [0, 1, 2]}, {0: [0, 1], 1: [2]}])
CONTEXT = [0.25, 0.75]
RULES = [paper, sharp]
Form = Callable[[Kernel], Callable[..., Any]]
FORMS: list[Form] = [lambda kernel: kernel.python, lambda kernel: kernel.compiled]


def taught(widths: Callable[[], Any]) -> Arguments:
    learner = LRCSSP(SUPPORT, 2, loss_floor=0.5, widths=widths())
    rng = np.random.default_rng(4)
    for _ in range(40):
        pair = int(rng.integers(3))
        state, action = ((0, 0), (1, 0), (1, 1))[pair]
        following = int(rng.choice(SUPPORT.next_state[SUPPORT.row(pair)]))
        learner.learn(rng.dirichlet(np.ones(2)), Step(state, action, 0.5, following))
    return arguments_of(learner, CONTEXT)


@pytest.mark.parametrize("widths", RULES)
@pytest.mark.parametrize("form", FORMS)
def test_the_sets_of_all_pairs_are_those_of_each(form: Form, widths: Callable[[], Any]) -> None:
    one, other = taught(widths), taught(widths)
    for pair in range(3):
        confidence.pair_set.python(one.constants, one.learner, one.episode, pair)
    form(all_pairs.all_pair_sets)(other.constants, other.learner, other.episode)
    for mine, theirs in zip(one.episode.sets, other.episode.sets, strict=True):
        assert np.asarray(mine).tobytes() == np.asarray(theirs).tobytes()
    assert one.episode.known_width.tobytes() == other.episode.known_width.tobytes()


@pytest.mark.parametrize("form", FORMS)
def test_the_pairs_that_are_known_are_those_whose_test_says_so(form: Form) -> None:
    case = taught(sharp)
    all_pairs.all_pair_sets.python(case.constants, case.learner, case.episode)
    case.episode.progress["loss_bound"] = 1.0
    case.episode.known_width[1] = case.episode.norm[1] = 0.0
    expected = [bool(algorithm.is_known.python(case.constants, case.episode, pair)) for pair in range(3)]
    found = np.zeros(3, dtype=np.bool_)
    form(all_pairs.known_pairs)(case.constants, case.episode, found)
    assert found.tolist() == expected == [False, True, False]


@pytest.mark.parametrize("widths", RULES)
@pytest.mark.parametrize("form", FORMS)
def test_the_optimistic_rows_of_all_pairs_are_those_of_each(form: Form, widths: Callable[[], Any]) -> None:
    case = taught(widths)
    all_pairs.all_pair_sets.python(case.constants, case.learner, case.episode)
    sets, iteration = case.episode.sets, case.episode.iteration
    iteration.values[:] = [3.0, 1.5, 0.0]
    expected, found = np.zeros(SUPPORT.triples), np.zeros(SUPPORT.triples)
    for pair in range(3):
        row = expected[SUPPORT.row(pair)]
        value_iteration.optimistic_row.python(sets, pair, iteration.values, iteration.dual[pair], row)
    form(value_iteration.optimistic_rows)(sets, iteration, found)
    assert found.tobytes() == expected.tobytes()
    assert found.any()
