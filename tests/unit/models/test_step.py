"""Laws of losses: around their means, and never outside [0, 1]."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.models import simulated as kernels
from goalbound.models.step import LossLaw, bernoulli, bounded, deterministic
from tests.support.strategies import examples
from tests.support.uniform_numbers import LARGEST


@pytest.mark.parametrize(
    ("law", "mean", "u", "loss"),
    [
        (deterministic(), 0.3, 0.9, 0.3),
        (bernoulli(), 0.3, 0.2999, 1.0), (bernoulli(), 0.3, 0.3, 0.0), (bernoulli(), 0.0, 0.0, 0.0),
        (bernoulli(), 1.0, LARGEST, 1.0),
        (bounded(0.5), 0.25, 0.0, 0.125), (bounded(0.5), 0.25, 0.5, 0.25), (bounded(1.0), 0.75, 0.0, 0.5),
        (bounded(1.0), 0.0, 0.7, 0.0), (bounded(1.0), 1.0, 0.7, 1.0),
    ],
)  # fmt: skip
def test_losses_follow_their_law(law: LossLaw, mean: float, u: float, loss: float) -> None:
    assert kernels.loss_of.python(law.code, law.spread, mean, u) == loss


@given(st.floats(0.0, 1.0), st.floats(0.0, LARGEST), st.floats(1e-6, 1.0))
@examples(300)
def test_no_loss_leaves_the_unit_interval(mean: float, u: float, spread: float) -> None:
    for law in (deterministic(), bernoulli(), bounded(spread), bounded(1.0)):
        for drawn in (u, 0.0, LARGEST):
            assert 0.0 <= kernels.loss_of.python(law.code, law.spread, mean, drawn) <= 1.0


@pytest.mark.parametrize("law", [deterministic(), bernoulli(), bounded(0.7)])
@pytest.mark.parametrize("mean", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_the_mean_of_a_law_is_the_mean(law: LossLaw, mean: float) -> None:
    losses = [kernels.loss_of.python(law.code, law.spread, mean, (i + 0.5) / 1000) for i in range(1000)]
    assert np.mean(losses) == pytest.approx(mean, abs=1e-12)
