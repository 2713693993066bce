"""The context sources that an experiment may name."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.errors import ArgumentError
from goalbound.experiments.plugins import NO_PLUGINS
from goalbound.experiments.registry import CONTEXTS, Component, instantiate
from goalbound.simulation import Adversary

LISTED = [[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]


def source(name: str, **settings: object) -> object:
    return instantiate("contexts", Component(name, dict(settings)), NO_PLUGINS, 3, episodes=2)


@pytest.mark.parametrize("name", [name for name in CONTEXTS.entries if name != "adversary"])
def test_every_source_draws_contexts_of_the_size_of_the_problem(name: str) -> None:
    made = source(name, **({"contexts": LISTED} if name == "listed" else {}))
    drawn = made.draw(np.random.default_rng(0), 0, 2)  # type: ignore[attr-defined]
    assert drawn.shape == (2, 3)
    assert (drawn >= 0.0).all()
    np.testing.assert_allclose(drawn.sum(axis=1), 1.0, rtol=1e-12)


def test_an_adversary_may_choose_any_corner() -> None:
    made = source("adversary")
    assert isinstance(made, Adversary)
    assert made.context_size == 3


def test_lists_are_given_once_or_in_a_cycle_and_corners_are_the_default_cycle() -> None:
    listed = source("listed", contexts=LISTED).draw(np.random.default_rng(0), 0, 2)  # type: ignore[attr-defined]
    np.testing.assert_array_equal(listed, LISTED)
    cycle = source("cyclic").draw(np.random.default_rng(0), 0, 4)  # type: ignore[attr-defined]
    np.testing.assert_array_equal(cycle, np.eye(3)[[0, 1, 2, 0]])
    with pytest.raises(ArgumentError, match="listed needs contexts"):
        source("listed")


def test_the_settings_are_the_parameters_with_a_default() -> None:
    settings = {name: entry.settings for name, entry in CONTEXTS.entries.items()}
    assert settings == {
        "dirichlet": {"alpha": 1.0}, "corners": {}, "cyclic": {"contexts": None}, "listed": {"contexts": None},
        "drifting": {"start": None, "end": None, "noise": 0.0}, "uniform-number": {}, "adversary": {},
    }  # fmt: skip
