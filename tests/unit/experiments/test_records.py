"""The sums of a record are those of its episodes."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.experiments.records import SPACING, kept_episodes
from goalbound.experiments.registry import CONTEXTS
from goalbound.experiments.registry.learners import LEARNERS
from goalbound.experiments.registry.warm_start import ANY_LOG
from goalbound.problems.catalog import CATALOG
from goalbound.simulation import ModelEnvironment, bernoulli, play
from tests.support.small_runs import EPISODES, SMALL, run, spec_of

pytestmark = pytest.mark.usefixtures("small_chunks")


@pytest.mark.parametrize("losses", ["deterministic", "bernoulli"])
def test_the_sums_are_those_of_play(losses: str) -> None:
    spec = spec_of(losses=losses)
    problem = CATALOG["random"].make({key: value for key, value in SMALL.items() if key != "use"})
    learner = LEARNERS.entry("lr-cssp", "").make(
        problem, episodes=EPISODES, scale=0.05, log_law=ANY_LOG, rng=np.random.default_rng(0)
    )
    contexts = CONTEXTS.entry("dirichlet", "").make(2)
    environment = (
        None if losses == "deterministic" else (lambda rng: ModelEnvironment(problem, losses=bernoulli(), rng=rng))
    )
    history = play(problem, learner, contexts, episodes=EPISODES, seed=0, environment=environment)
    record = run(spec)
    for name in ("loss", "optimal_loss", "expected_regret", "steps", "intervals", "unknown_steps", "abandoned"):
        assert np.array_equal(record.table[name], np.cumsum(getattr(history, name))), name
    totals = record.metadata["totals"]
    assert totals["regret"] == record.table["loss"][-1] - record.table["optimal_loss"][-1]
    assert totals["episodes"] == EPISODES
    assert sum(record.metadata["diagnosis"]["decomposition"].values()) == pytest.approx(totals["regret"], abs=1e-9)


def test_long_runs_keep_rows_at_whole_numbers_that_grow_by_a_share() -> None:
    assert kept_episodes(2000).tolist() == list(range(1, 2001))
    for episodes in (2001, 100_000, 10**12):
        kept = kept_episodes(episodes)
        assert kept[:100].tolist() == list(range(1, 101))
        assert kept[-1] == episodes
        steps = np.diff(kept[99:-1])
        assert (steps == np.maximum(1, kept[99:-2] // SPACING)).all()
        assert len(kept) < 100 + 156 + SPACING * np.log(episodes / 256) + 100
    assert np.array_equal(kept_episodes(10**5)[:-1], kept_episodes(10**6)[: len(kept_episodes(10**5)) - 1])
