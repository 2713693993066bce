"""What spare components cost: expected minutes of an incident, by the map of its covariates.

    python -m benchmarks.components --seeds 3

The world is ``incident_recovery(48)``, whose curves are nearly those of :func:`incident_curves`; learners see the hour
and the traffic through maps of 11, 12 and 36 components. A log has 5,000 cases by the runbook with 30% deviations;
4,000 new ones follow. Minutes are expected ones: what is optimal, plus what each step that was played loses beyond it.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound import GreedyRidge, LinearCSSP, LocalOptimism, ModelEnvironment
from goalbound.adapters.covariates import Additive, CovariateMap, Hats, Periodic, Tensor
from goalbound.planning import optimal_values
from goalbound.problems import incident_contexts, incident_recovery
from guarantees.incident_cases import NOISE, new_cases, recorded_log

CASES, LOG_CASES, FIRST = 4_000, 5_000, 500
FLOOR = 5.0 / 60.0
COLUMNS = ("hour", "traffic")
TRAFFIC = Hats([0.0, 0.5, 1.0], clamp=True)
MAPS: dict[str, CovariateMap] = {
    "11": Additive([Periodic.even(24, count=8, start=3), TRAFFIC], COLUMNS),
    "12": Tensor([Periodic.even(24, count=4, start=3), TRAFFIC], COLUMNS),
    "36": Tensor([Periodic.even(24, count=12, start=3), TRAFFIC], COLUMNS),
}
LEARNERS: dict[str, Any] = {"local optimism": LocalOptimism, "greedy": GreedyRidge}


def minutes(
    problem: LinearCSSP, learner: Any, seen: NDArray[np.float64], true: NDArray[np.float64], seed: int
) -> NDArray[np.float64]:
    """[K] the expected minutes of each case, of contexts that the learner has ``seen`` and that are ``true``."""
    environment = ModelEnvironment(problem, losses=NOISE, rng=np.random.default_rng(seed))
    best = optimal_values(problem, true)
    found = best[:, problem.start].copy()
    for case, (context, values) in enumerate(zip(seen, best, strict=True)):
        state, episode = environment.begin(true[case]), learner.begin(context)
        while not episode.ended:
            step = environment.step(episode.act(state))
            pair = problem.support.pair(state, step.action)
            row = problem.support.row(pair)
            worth = problem.losses[pair] + values[problem.support.next_state[row]] @ problem.probabilities[row]
            found[case] += worth @ true[case] - values[state]
            episode.observe(step)
            state = step.next_state
    return problem.loss_scale * found


def main() -> None:
    """Print a table, means over the seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(parser.parse_args().seeds)
    problem = incident_recovery(48)
    print("| learner | components | after the log | first 500 | from nothing | first 500 |\n|---|---|---|---|---|---|")
    for name, make in LEARNERS.items():
        for size, covariate_map in MAPS.items():
            cells = np.zeros(4)
            for seed in seeds:
                log = recorded_log(problem, LOG_CASES, seed=seed, covariate_map=covariate_map)
                cases = new_cases(problem, CASES, seed=1000 + seed)
                numbers = np.array([[one[column] for column in COLUMNS] for one in cases.covariates])
                true = incident_contexts(problem, numbers[:, 0], numbers[:, 1])
                seen = covariate_map.apply(cases.covariates).contexts
                for place, warm in enumerate((True, False)):
                    learner = make(problem.support, seen.shape[1], loss_floor=FLOOR)
                    if warm:
                        learner.learn_log(log)
                    each = minutes(problem, learner, seen, true, seed)
                    cells[2 * place : 2 * place + 2] += each.mean() / len(seeds), each[:FIRST].mean() / len(seeds)
            print(f"| {name} | {size} | {' | '.join(f'{cell:.2f}' for cell in cells)} |", flush=True)


if __name__ == "__main__":
    main()
