"""Sources of contexts: on the simplex, the same however they are cut into chunks, and honest about mistakes."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.around.contexts import MappedContexts
from goalbound.errors import InputError
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.models import Support
from goalbound.simulation.contexts import Adversary, ContextSource, Cyclic, Dirichlet, Drifting, FromArray, OneHot
from tests.support.strategies import contexts, examples

LENGTH = 12
alphas = st.floats(1e-3, 1e3)


@st.composite
def sources(draw: st.DrawFn) -> ContextSource:
    """Every kind of source, with at least LENGTH contexts."""
    size = draw(st.integers(1, 5))
    points = contexts(size)
    many = st.lists(points, min_size=LENGTH, max_size=LENGTH).map(np.array)
    few = st.lists(points, min_size=1, max_size=4).map(np.array)
    noise = st.sampled_from([0.0, 0.3, 1.0])
    return draw(
        st.one_of(
            st.lists(alphas, min_size=size, max_size=size).map(Dirichlet),  # type: ignore[arg-type]
            alphas.map(lambda alpha: Dirichlet.symmetric(size, alpha=alpha)),
            st.just(OneHot(size)),
            many.map(FromArray),
            few.map(Cyclic),
            st.builds(Drifting, points, points, st.integers(2, 2 * LENGTH), noise),
        )
    )


@given(sources(), st.integers(0, 2**32))
@examples(150)
def test_every_source_stays_on_the_simplex(source: ContextSource, seed: int) -> None:
    drawn = source.draw(np.random.default_rng(seed), 0, LENGTH)
    assert drawn.shape == (LENGTH, source.context_size)
    assert (drawn >= 0.0).all()
    np.testing.assert_allclose(drawn.sum(axis=1), 1.0, rtol=0.0, atol=1e-14)


@given(sources(), st.integers(0, 2**32), st.integers(0, LENGTH), st.integers(0, LENGTH))
@examples(150)
def test_cutting_into_chunks_changes_nothing(source: ContextSource, seed: int, one: int, other: int) -> None:
    whole = source.draw(np.random.default_rng(seed), 0, LENGTH)
    rng = np.random.default_rng(seed)
    cuts = [0, *sorted((one, other)), LENGTH]
    pieces = [source.draw(rng, a, b - a) for a, b in pairwise(cuts)]
    np.testing.assert_array_equal(np.concatenate(pieces), whole)


def test_a_list_that_runs_out_names_the_episode() -> None:
    source = FromArray(np.eye(2))
    with pytest.raises(InputError, match=r"no context for episode 2: 2 are listed.*Cyclic"):
        source.draw(np.random.default_rng(0), 1, 2)
    with pytest.raises(InputError, match="no context for episode 7"):
        source.draw(np.random.default_rng(0), 7, 1)


def test_a_drift_is_a_straight_line_that_stays_at_its_end() -> None:
    line = Drifting(np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.5, 0.5]), episodes=5)
    drawn = line.draw(np.random.default_rng(0), 0, 7)
    np.testing.assert_allclose(drawn[:, 0], [1.0, 0.75, 0.5, 0.25, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(drawn[:, 1], drawn[:, 2])


def test_a_noise_is_a_share_of_the_context() -> None:
    drawn = Drifting(np.array([1.0, 0.0]), np.array([1.0, 0.0]), 10, noise=0.2).draw(np.random.default_rng(0), 0, 50)
    assert (drawn[:, 0] >= 0.8).all()
    assert drawn[:, 0].std() > 0.0


def test_contexts_given_cannot_be_changed_afterwards() -> None:
    given_contexts = np.eye(2)
    source = FromArray(given_contexts)
    given_contexts[0] = [0.5, 0.5]
    np.testing.assert_array_equal(source.draw(np.random.default_rng(0), 0, 1), [[1.0, 0.0]])
    with pytest.raises(ValueError, match="read-only"):
        source.contexts[0, 0] = 0.0


def knowing(grams: list[list[list[float]]], visits: list[int]) -> SimpleNamespace:
    """A learner with these Gram matrices [N, d, d] and visits [N]."""
    return SimpleNamespace(statistics=SimpleNamespace(inverse_gram=np.linalg.inv(grams), visits=np.array(visits)))


def test_the_adversary_chooses_what_the_learner_knows_least() -> None:
    adversary = Adversary.anywhere(2)
    rng = np.random.default_rng(0)
    one_sided = knowing([[[10.0, 0.0], [0.0, 2.0]]], [10])
    np.testing.assert_array_equal(adversary.choose(rng, 0, one_sided), [0.0, 1.0])
    # widths: 10 * 1/10 and 10 * 1/2
    np.testing.assert_allclose(adversary.widths(one_sided), [1.0, 5.0])

    # unweighted it would be decided by the pair that was tried once: 1/62 + 1 against 1/42 + 1/2


@given(st.integers(0, 2**32), st.integers(1, 5))
@examples(50)
def test_no_context_of_the_simplex_is_worse_than_the_corner_chosen(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    samples = rng.dirichlet(np.ones(size), (3, 20))
    learner = knowing((np.eye(size) + np.einsum("nkj,nki->nji", samples, samples)).tolist(), [20, 5, 1])
    chosen = Adversary.anywhere(size).choose(rng, 0, learner)
    both = Adversary(np.vstack((chosen, rng.dirichlet(np.full(size, 0.5), 50)))).widths(learner)
    assert both.max() <= both[0] * (1.0 + 1e-12)


def test_a_learner_that_tells_nothing_is_an_error() -> None:
    adversary = Adversary.anywhere(2)
    with pytest.raises(InputError, match="a SimpleNamespace has none; take other contexts"):
        adversary.choose(np.random.default_rng(0), 0, SimpleNamespace())
    with pytest.raises(InputError, match="have 3 entries, the adversary's have 2"):
        adversary.choose(np.random.default_rng(0), 0, knowing([np.eye(3).tolist()], [0]))


def test_an_adversary_does_not_take_what_is_seen_for_the_contexts_themselves() -> None:
    # the learner inside has statistics of two entries too, but of contexts that are swapped
    learner = MappedContexts(LRCSSP(Support.full(1, 1), 2, loss_floor=0.1), [[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(InputError, match="a MappedContexts is shown something else"):
        Adversary.anywhere(2).choose(np.random.default_rng(0), 0, learner)
