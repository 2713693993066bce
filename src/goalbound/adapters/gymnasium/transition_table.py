"""Transition tables of environments, and what makes them wrong: wrappers, hidden state."""

from __future__ import annotations

from typing import Any, NamedTuple

from goalbound.errors import ModelError

_HARMLESS = frozenset(
    {
        "Autoreset",
        "HumanRendering",
        "OrderEnforcing",
        "PassiveEnvChecker",
        "RecordEpisodeStatistics",
        "RecordVideo",
        "RenderCollection",
        "TimeLimit",
    }
)
"""Wrappers of Gymnasium that leave observations, actions, rewards and terminations as they are."""


def environment_name(env: Any) -> str:
    """The id of an environment, or its class."""
    spec = getattr(env, "spec", None)
    return str(spec.id) if spec is not None else type(getattr(env, "unwrapped", env)).__name__


def unwrap(env: Any) -> Any:
    """The environment without its wrappers; an error if the table in it does not tell what the environment does."""
    name, unwrapped = environment_name(env), getattr(env, "unwrapped", env)
    layer = env
    while layer is not unwrapped:
        kind = type(layer)
        if kind.__name__ not in _HARMLESS or not kind.__module__.startswith("gymnasium.wrappers"):
            raise ModelError(
                f"{name} is wrapped in {kind.__name__}, which the transition table does not contain; "
                "if it changes no observation, action or reward, pass env.unwrapped"
            )
        layer = layer.env
    if getattr(unwrapped, "fickle_passenger", False):
        raise ModelError(
            f"{name} has fickle_passenger=True, which its transition table does not contain (the passenger's change "
            "of mind is not part of the observation either); make it with fickle_passenger=False"
        )
    return unwrapped


class Entry(NamedTuple):
    """One entry of a row, as the environment gives it."""

    probability: float
    next_observation: int
    reward: float
    terminated: bool


class TransitionTable(NamedTuple):
    """The rows and the start law of one environment."""

    name: str
    rows: dict[int, dict[int, list[Entry]]]
    """by observation and action; entries of probability zero left out"""
    start: dict[int, float]
    """the probability of each observation that an episode may start with"""


def read_table(env: Any, place: int) -> TransitionTable:
    """The table of an environment; ``place`` is its number among those given, for messages."""
    name = f"environment {place} ({environment_name(env)})"
    unwrapped = unwrap(env)
    table = getattr(unwrapped, "P", None)
    if table is None:
        raise ModelError(
            f"{name} has no transition table (env.unwrapped.P), so its problem cannot be read from it; "
            "of Gymnasium's own environments Taxi, CliffWalking and FrozenLake have one"
        )
    law = getattr(unwrapped, "initial_state_distrib", None)
    if law is None:
        raise ModelError(f"{name} has no start law; set env.unwrapped.initial_state_distrib to a distribution")
    rows = {
        int(observation): {
            int(action): _entries(listed, f"{name}, P[{observation}][{action}]") for action, listed in _items(of_state)
        }
        for observation, of_state in _items(table)
    }
    start = {observation: float(weight) for observation, weight in enumerate(law) if weight != 0.0}
    if not start:
        raise ModelError(f"{name} starts nowhere: env.unwrapped.initial_state_distrib is all zero")
    unknown = [observation for observation in start if observation not in rows]
    if unknown:
        raise ModelError(f"{name} may start at observation {unknown[0]}, which has no rows in env.unwrapped.P")
    return TransitionTable(name, rows, start)


def _items(table: Any) -> list[tuple[Any, Any]]:
    return list(table.items()) if hasattr(table, "items") else list(enumerate(table))


def _entries(listed: Any, where: str) -> list[Entry]:
    try:
        entries = [Entry(float(p), int(to), float(reward), bool(end)) for p, to, reward, end in listed]
    except (TypeError, ValueError):
        raise ModelError(
            f"{where} is {listed!r}; it needs a list of (probability, next observation, reward, terminated)"
        ) from None
    if not any(entry.probability for entry in entries):
        raise ModelError(f"{where} leads nowhere: no entry has a positive probability")
    return [entry for entry in entries if entry.probability != 0.0]


def check_same_spaces(tables: list[TransitionTable]) -> None:
    """All have the same observations, and the same actions at each."""
    first = tables[0]
    for table in tables[1:]:
        if table.rows.keys() != first.rows.keys():
            raise ModelError(
                f"{table.name} has {len(table.rows)} observations, {first.name} has {len(first.rows)}; "
                "only environments with the same observations and actions can be mixed"
            )
        for observation, of_state in table.rows.items():
            if of_state.keys() != first.rows[observation].keys():
                raise ModelError(
                    f"{table.name} has actions {sorted(of_state)} at observation {observation}, {first.name} has "
                    f"{sorted(first.rows[observation])}; "
                    "only environments with the same observations and actions can be mixed"
                )
