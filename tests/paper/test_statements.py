"""The paper's statements, recomputed: each check can fail, and a run keeps to the observation on intervals."""

from __future__ import annotations

from fractions import Fraction
from math import inf, sqrt
from pathlib import Path

import pytest

from goalbound import LRCSSP, Dirichlet, play, widths
from guarantees.concentration import crossing_probability, solve
from guarantees.listing import intervals
from guarantees.result import Result
from guarantees.settings import easy
from guarantees.statements import QUICK, statements


def test_every_statement_is_as_the_page_says(tmp_path: Path) -> None:
    result = statements(QUICK)
    result.save(tmp_path)
    assert Result.load(tmp_path / "l.json") == result
    assert len(result.checks) == 23
    for check in result.checks:
        assert check.held, str(check)


def test_crossing_probabilities_are_exact() -> None:
    # |S_1| = 1 always; |S_3| = 3 in 2 of 8 walks; the walks that reach +-2 within 4 steps: all but 4 of 16
    assert crossing_probability(lambda n: 0.5, 1) == 1.0
    assert crossing_probability(lambda n: 2.5 if n == 3 else inf, 3) == 0.25
    assert crossing_probability(lambda n: 1.5, 4) == 1 - 4 / 16
    assert crossing_probability(lambda n: 1.5, 4, step=0.5) == 2 / 16
    assert crossing_probability(lambda n: sqrt(n) * 100, 50) == 0.0


def test_systems_are_solved_exactly() -> None:
    zero, one, two = Fraction(0), Fraction(1), Fraction(2)
    assert solve([[zero, two], [one, one]], [one, one]) == [Fraction(1, 2), Fraction(1, 2)]


def test_the_listing_makes_plans_for_known_pairs_only_as_printed() -> None:
    # 1,989 visits of one pair and one action make it known; here A = 2, so a few more
    assert intervals(3000, known_ends=False) == pytest.approx(2085, abs=2)
    assert intervals(3000, known_ends=True) == 0


def test_intervals_are_at_most_episodes_and_unknown_steps() -> None:
    problem = easy()
    learner = LRCSSP(problem.support, 2, loss_floor=0.9, loss_bound=1.2, widths=widths.scaled(widths.paper(), by=1e-4))
    history = play(problem, learner, Dirichlet.symmetric(2), episodes=10_000, seed=0)
    unknown = int(history.unknown_steps.sum())
    assert 0 < unknown < history.steps.sum()  # some steps of some pairs were known
    assert history.episodes < learner.intervals - 1 <= history.episodes + unknown
