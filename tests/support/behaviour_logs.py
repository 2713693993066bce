"""Logs of small problems, made by a behaviour whose probabilities are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from goalbound import SSP, LinearCSSP
from goalbound.logs import Log, LogColumns, read_log

CORNERS = {"state_names": ["new", "old"], "action_names": ["quick", "slow"]}


def two_states() -> LinearCSSP:
    """Two states, two actions, two components: quick is good under the first component only."""
    calm = SSP.dense(
        [[0.2, 0.5], [0.3, 0.4]], [[[0.1, 0.2, 0.7], [0.0, 0.2, 0.8]], [[0.1, 0.2, 0.7], [0.0, 0.1, 0.9]]], **CORNERS
    )
    busy = SSP.dense(
        [[0.6, 0.5], [0.5, 0.4]], [[[0.3, 0.3, 0.4], [0.0, 0.3, 0.7]], [[0.2, 0.4, 0.4], [0.0, 0.2, 0.8]]], **CORNERS
    )
    return LinearCSSP.mix([calm, busy])


def behaviour_rows(
    problem: LinearCSSP, cases: int, rng: np.random.Generator, *, usual: Any = (0, 0), deviation: float = 0.5,
    longest: int | None = None, contexts: Any = None,
) -> dict[str, list[Any]]:  # fmt: skip
    """The rows of a log: ``usual`` is played, and in a share ``deviation`` of the steps any action, with equal chances.

    Contexts are uniform on the simplex, or on the rows of ``contexts``; first states are uniform. Losses are 0
    or 1. ``longest`` cuts cases off after so many steps.
    """
    support = problem.support
    columns = ["case", "state", "action", "loss", "next_state", "probability"]
    columns += [f"c{d}" for d in range(problem.context_size)]
    rows: dict[str, list[Any]] = {name: [] for name in columns}
    names = [*(support.state_names or ()), "goal"]
    for case in range(cases):
        context = rng.dirichlet(np.ones(problem.context_size)) if contexts is None else rng.choice(contexts)
        state, step = int(rng.integers(support.states)), 0
        while state < support.states and (longest is None or step < longest):
            pairs = np.arange(support.pair_start[state], support.pair_start[state + 1])
            pair = int(rng.choice(pairs)) if rng.random() < deviation else support.pair(state, int(usual[state]))
            chance = deviation / len(pairs) + (1 - deviation) * (support.pair_action[pair] == usual[state])
            row = support.row(pair)
            chances = problem.probabilities[row] @ context
            following = int(rng.choice(support.next_state[row], p=chances / chances.sum()))
            loss = float(rng.random() < problem.losses[pair] @ context)
            action = (support.action_names or ())[support.pair_action[pair]]
            made = (f"case {case}", names[state], action, loss, names[following], float(chance), *context.tolist())
            for name, value in zip(columns, made, strict=True):
                rows[name].append(value)
            state, step = following, step + 1
    return rows


def read_behaviour(rows: dict[str, list[Any]], problem: LinearCSSP | None, **others: Any) -> Log:
    """The log of such rows; without a problem its support is inferred."""
    names = tuple(name for name in rows if name[0] == "c" and name[1:].isdigit())
    probability = "probability" if "probability" in rows else None
    columns = LogColumns(time=None, context=names, probability=probability)
    return read_log(rows, columns=columns, support=None if problem is None else problem.support, **others)


def true_mean(problem: LinearCSSP, log: Log, policy: Any) -> float:
    """The mean of the policy's values over the contexts and first states of the cases of a log, by dense systems."""
    support, states = problem.support, problem.support.states
    _, first = np.unique(log.case_of, return_index=True)
    values = []
    for step in first.tolist():
        context = log.steps.contexts[step]
        actions = policy(context) if callable(policy) else policy
        matrix, losses = np.eye(states), np.empty(states)
        for state in range(states):
            pair = support.pair(state, int(actions[state]))
            row, losses[state] = support.row(pair), problem.losses[pair] @ context
            to_state = support.next_state[row] < states
            matrix[state, support.next_state[row][to_state]] -= (problem.probabilities[row] @ context)[to_state]
        values.append(np.linalg.solve(matrix, losses)[support.pair_state[log.steps.pairs[step]]])
    return float(np.mean(values))
