"""The bounds of the paper as numbers: by hand, and against what can really happen."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

from goalbound import LRCSSP, Support
from goalbound.confidence import paper, scaled
from goalbound.errors import InputError
from goalbound.learners.settings import LearnerOptions
from goalbound.models import Step
from goalbound.simulation.regret_bounds import (
    a_posteriori_bound,
    corollary_rate,
    martingale_bound,
    steps_rate,
    theorem_rate,
    unknown_visits_bound,
)


def test_the_martingale_bound_is_that_of_the_paper() -> None:
    assert martingale_bound(100, delta=0.1, loss_bound=3.0) == pytest.approx(3.0 * sqrt(100 * log(4000)))
    assert martingale_bound(0, delta=0.1) == 0.0


def test_sums_of_range_one_stay_below_the_martingale_bound_at_all_times() -> None:
    # 4000 walks of 400 steps of +-1/2. The bound fails with probability at most 0.11 delta^2 for each: with
    # delta = 0.01, 0.04 of 4000 are expected, and more than 4 have probability below 1e-9.
    rng = np.random.default_rng(0)
    walks = np.cumsum(rng.integers(0, 2, (4000, 400)) - 0.5, axis=1)
    bound = np.array([martingale_bound(n, delta=0.01) for n in range(1, 401)])
    assert np.count_nonzero((walks > bound).any(axis=1)) <= 4


def test_the_a_posteriori_bound_is_the_corrected_lemma_for_full_supports() -> None:
    states, actions, size, bound, steps, unknown, episodes = 3, 2, 2, 4.0, 10_000, 500, 900
    learner = LRCSSP(Support.full(states, actions), size, delta=0.05, loss_floor=0.2, loss_bound=bound, widths=paper())
    rho = sqrt(size * log(8 * states**2 * actions * (1 + steps) / 0.05)) + 1.0
    loss_rho = sqrt(size * log(8 * states * actions * (1 + steps) / 0.05)) + 1.0
    widths = sqrt(size * states * actions * steps * log(1 + steps / size) / log(2.0))
    raised = 1.001 * bound  # value iteration stops at 1e-3
    expected = (
        raised * unknown
        + 2 * raised * states * rho * widths
        + 2 * loss_rho * widths
        + (raised + 1) * sqrt(steps * log(4 * steps / 0.05))
        + 1e-3 * (episodes * bound + 0.2 * steps)
    )
    given = {"steps": steps, "episodes": episodes, "unknown_visits": unknown, "loss_bound": bound}
    assert a_posteriori_bound(learner, **given) == pytest.approx(expected, rel=1e-12)


def test_what_the_zero_loss_variant_adds_needs_t_star() -> None:
    options = LearnerOptions(episodes=10**6)
    learner = LRCSSP(Support.full(2, 2), 2, loss_floor=0.0, loss_bound=5.0, widths=paper(), options=options)
    given = {"steps": 100, "episodes": 50, "unknown_visits": 10, "loss_bound": 5.0}
    assert a_posteriori_bound(learner, **given) == np.inf
    short, long = (a_posteriori_bound(learner, **given, time_bound=t) for t in (3.0, 4.0))
    assert long - short == pytest.approx(50 * learner.added_loss)  # K epsilon (4 - 3)


def test_one_component_can_be_unknown_as_often_as_the_test_says_and_not_more() -> None:
    # d = 1: w = 1 / sqrt(1 + n). With B = 1, l_min = 1 the pair is unknown until 10 max(beta, ...) w < 1.
    learner = LRCSSP(Support.full(1, 1), 1, loss_floor=1.0, loss_bound=1.0, widths=scaled(paper(), by=0.05))
    unknown = 0
    for _ in range(3000):
        episode = learner.begin([1.0])
        episode.act(0)
        episode.observe(Step(0, 0, 1.0, 1))
        unknown += episode.unknown_steps
    bound = unknown_visits_bound(learner, visits=learner.statistics.visits, intervals=learner.intervals)
    # The test is exact: unknown for as long as n < 100 max(beta, sqrt(log(4 m / delta)))^2 - 1, about 1060 here. The
    # bound pays log(1 + n) for not knowing when the visits come.
    threshold = 100.0 * log(4.0 * unknown / 0.1)
    assert 0.99 * threshold <= unknown <= 1.01 * threshold
    assert unknown <= bound[0]
    assert unknown_visits_bound(learner, visits=10, intervals=10)[0] == 10.0  # never more than all visits


def test_contexts_from_every_side_do_not_beat_the_bound() -> None:
    learner = LRCSSP(Support.full(1, 2), 3, loss_floor=1.0, loss_bound=1.0, widths=scaled(paper(), by=0.02))
    rng = np.random.default_rng(2)
    unknown = np.zeros(2)
    for k in range(3000):
        episode = learner.begin(np.eye(3)[k % 3] if k % 2 else rng.dirichlet(np.full(3, 0.3)))
        action = episode.act(0)
        episode.observe(Step(0, action, 1.0, 1))
        unknown[action] += episode.unknown_steps
    bound = unknown_visits_bound(learner, visits=learner.statistics.visits, intervals=learner.intervals)
    assert (unknown <= bound).all()
    assert unknown.sum() < 3000  # some became known


def test_rates_are_the_expressions_of_the_paper_for_full_supports() -> None:
    support, given = Support.full(3, 2), {"episodes": 1000, "delta": 0.05, "loss_bound": 4.0}
    logs, cubed = log(20.0), 3**3 * 2
    rate = 4 * 2 * 27 * 64 / 0.04 * logs + sqrt(1000 * 4 * 27 * 2 * 64 * logs / 0.2)
    assert theorem_rate(support, 2, **given, loss_floor=0.2) == pytest.approx(rate)
    rate = 1000 * 4.0 / 0.2 + cubed * 4 * 64 / 0.008 * logs**2
    assert steps_rate(support, 2, **given, loss_floor=0.2) == pytest.approx(rate)
    rate = 100.0 * 2 ** (2 / 3) * 3 * 2 ** (1 / 3) * 16 * 7.0 * logs
    assert corollary_rate(support, 2, **given, time_bound=7.0) == pytest.approx(rate)
    with pytest.raises(InputError, match="see corollary_rate"):
        theorem_rate(support, 2, **given, loss_floor=0.0)
