"""Optimal losses of Gymnasium's tables, as computed by independent programs from the installed package."""

import gymnasium
import numpy as np
import pytest

from goalbound.adapters.gymnasium import from_environments, penalty_exit
from goalbound.planning import evaluate, is_proper, solve


def taxi():
    return from_environments([gymnasium.make("Taxi-v4"), gymnasium.make("Taxi-v4", is_rainy=True)]).problem


def cliff():
    return from_environments([gymnasium.make("CliffWalking-v1", is_slippery=slips) for slips in (False, True)]).problem


def lake(**options):
    rates = (1.0, 0.8, 1 / 3)
    return from_environments([gymnasium.make("FrozenLake-v1", success_rate=q) for q in rates], **options).problem


@pytest.mark.parametrize(
    ("problem", "component", "largest_loss", "longest_time", "from_start"),
    [
        (taxi, 0, (1.80, 1e-9), (18.0, 1e-9), (1.307, 5e-4)),
        (taxi, 1, (2.39, 5e-3), (23.9, 5e-2), (1.705, 5e-4)),
        (cliff, 0, (0.14, 1e-9), (14.0, 1e-9), (0.13, 1e-9)),
        (cliff, 1, (0.65, 5e-3), (64.7, 5e-2), (0.647, 5e-4)),
        (lake, 0, (0.60, 1e-9), (6.0, 1e-9), (0.60, 1e-9)),
        (lake, 1, (1.31, 5e-3), (8.7, 5e-2), (1.19, 5e-3)),
        (lake, 2, (6.29, 5e-3), (57.6, 5e-2), (5.82, 5e-3)),
    ],
)
def test_optimal_losses_and_times_are_the_known_ones(problem, component, largest_loss, longest_time, from_start):
    ssp = problem().component(component)
    best = solve(ssp)
    played = evaluate(ssp, best.policy)
    assert best.values.max() == pytest.approx(largest_loss[0], abs=largest_loss[1])
    assert played.hitting_times.max() == pytest.approx(longest_time[0], abs=longest_time[1])
    assert best.values[:-1] @ ssp.start_distribution == pytest.approx(from_start[0], abs=from_start[1])


def test_the_best_return_of_taxi_is_7_93():
    ssp = taxi().component(0)
    loss = solve(ssp).values[:-1] @ ssp.start_distribution
    assert 21 - ssp.loss_scale * loss == pytest.approx(7.93, abs=5e-3)


def test_the_policy_that_is_best_when_slippery_never_arrives_when_dry():
    for problem, slippery in ((cliff(), 1), (lake(), 2)):
        policy = solve(problem.component(slippery)).policy
        assert is_proper(problem.component(slippery), policy)
        assert not is_proper(problem.component(0), policy)


def test_the_policy_of_the_averaged_cliff_never_arrives_when_dry():
    problem = cliff()
    policy = solve(problem.at([0.5, 0.5])).policy
    assert is_proper(problem.component(1), policy)
    assert not is_proper(problem.component(0), policy)


def test_with_a_penalty_exit_falling_is_a_cheap_way_to_finish():
    restarting, exiting = (
        solve(lake().component(2)).values[0],
        solve(lake(failures=penalty_exit()).component(2)).values[0],
    )
    assert exiting < 1.4 < 5.8 < restarting


def test_every_context_has_an_optimum_between_its_corners_on_taxi():
    # fewer slips are never worse on this map, so the optimal loss grows with the rain
    problem = taxi()
    losses = [solve(problem.at([1 - rain, rain])).values[:-1] @ problem.start for rain in np.linspace(0, 1, 5)]
    assert (np.diff(losses) > 0).all()
