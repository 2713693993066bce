"""The transition tables of environments as linear contextual problems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.adapters.gymnasium.raw import Entry, Table, bare, check_same_spaces, environment_name, read_table
from goalbound.adapters.gymnasium.readings import GoalRule, Holes, Losses, Place, Reading, Transition, known, restart
from goalbound.models import SSP, LinearCSSP, ModelError
from goalbound.models.triples import from_triples, pair_losses


@dataclass(frozen=True, eq=False)
class GymProblem:
    """A problem read from environments, and the way between its states and their observations.

    Actions have the environments' numbers; :func:`~goalbound.adapters.gymnasium.give_up` adds one after the last.

    Attributes:
        problem: one component per environment.
        observations: [S] the observation of each state; -1 for the state that stands for all holes (``give_up``).
        reading: how rewards and terminations were read.
    """

    problem: LinearCSSP
    observations: NDArray[np.int64]
    reading: Reading

    @cached_property
    def _states(self) -> dict[int, int]:
        return {observation: state for state, observation in enumerate(self.observations.tolist()) if observation >= 0}

    def state(self, observation: int) -> int:
        """The state of an observation that did not terminate the episode."""
        try:
            return self._states[int(observation)]
        except KeyError:
            raise ModelError(
                f"observation {observation} is no state of this problem: no start reaches it without terminating"
            ) from None

    @property
    def hole(self) -> int | None:
        """The state that stands for all holes, if there is one."""
        return len(self.observations) - 1 if self.observations[-1] < 0 else None

    @property
    def give_up_action(self) -> int | None:
        """The action that gives up, if there is one. The environments do not know it."""
        return None if self.reading.holes.give_up_loss is None else self.problem.support.actions - 1


def from_environments(
    environments: Any,
    *,
    losses: Losses | None = None,
    goals: GoalRule | None = None,
    holes: Holes | None = None,
    component_names: Sequence[str] | None = None,
) -> GymProblem:
    """The linear contextual problem whose components are the tables of these environments.

    Each environment has ``env.unwrapped.P[observation][action] = [(probability, next, reward, terminated), ...]`` and
    ``env.unwrapped.initial_state_distrib``, as Taxi, CliffWalking and FrozenLake do; all have the same observations
    and actions. One environment gives a problem with d = 1. The goal is not an observation: it is reached by every
    terminating transition that ``goals`` calls one. Observations that no start of any of the environments reaches are
    dropped; one at which some environments end and others go on has the rows that each table gives it. Time limits are
    not part of the problem: truncation is not the goal.

    A context that is all on one component is that environment. Any other context mixes them anew at every step; it
    does *not* mean "one of the environments, it is not known which".

    Args:
        environments: one per component; a single one may come without a list.
        losses: how rewards become losses in [0, 1]; not needed for the three environments above.
        goals: which terminations are the goal; not needed for the three environments above.
        holes: what becomes of the other terminations; by default :func:`restart`: back to the start with loss 1.
        component_names: one per environment.

    >>> import gymnasium
    >>> lakes = [gymnasium.make("FrozenLake-v1", success_rate=rate) for rate in (1.0, 0.8)]
    >>> read = from_environments(lakes, component_names=["dry", "wet"])
    >>> read.problem
    LinearCSSP(2 components, 11 states, 44 pairs, 122 next states)
    >>> read.observations
    array([ 0,  1,  2,  3,  4,  6,  8,  9, 10, 13, 14])
    """
    if hasattr(environments, "unwrapped"):
        environments = [environments]
    if not len(environments):
        raise ModelError("no environments; give at least one")
    tables = [read_table(env, place) for place, env in enumerate(environments)]
    check_same_spaces(tables)
    reading, action_names = _reading([bare(env) for env in environments], losses, goals, holes)
    numbering = _Numbering.of(tables, reading)
    names = (numbering.state_names(), action_names)
    parts = [_component(table, reading, numbering, names) for table in tables]
    observations = np.array(numbering.observations + [-1] * numbering.has_hole, dtype=np.int64)
    observations.flags.writeable = False
    return GymProblem(LinearCSSP.mix(parts, component_names=component_names), observations, reading)


def ssp_from_environment(
    environment: Any, *, losses: Losses | None = None, goals: GoalRule | None = None, holes: Holes | None = None
) -> SSP:
    """The table of one environment as a problem without context; see :func:`from_environments`.

    >>> import gymnasium
    >>> ssp_from_environment(gymnasium.make("CliffWalking-v1"))
    SSP(37 states, 148 pairs, 148 next states)
    """
    return from_environments([environment], losses=losses, goals=goals, holes=holes).problem.component(0)


def _reading(
    unwrapped: list[Any], losses: Losses | None, goals: GoalRule | None, holes: Holes | None
) -> tuple[Reading, tuple[str, ...] | None]:
    """The reading asked for, filled up with what is known of these environments; and their action names."""
    kinds = [known(env) for env in unwrapped]
    kind = kinds[0] if all(one is kinds[0] for one in kinds) else None
    if kind is not None:
        losses, goals = losses or kind.losses, goals or kind.goals
    missing = []
    if losses is None:
        missing.append("losses= how rewards become losses, such as negated_rewards(scale=...)")
    if goals is None:
        missing.append("goals= which terminations are the goal, such as every_termination")
    if losses is None or goals is None:
        names = " and ".join(dict.fromkeys(environment_name(env) for env in unwrapped))
        raise ModelError(f"there is no common default reading of {names}; pass {' and '.join(missing)}")
    reading = Reading(losses, goals, restart() if holes is None else holes)
    if kind is None:
        return reading, None
    return reading, kind.actions if reading.holes.give_up_loss is None else (*kind.actions, "give up")


class _Numbering(NamedTuple):
    """States by number: the observations that a start reaches, in order, and then the hole if there is one."""

    observations: list[int]
    state_of: dict[int, int]
    has_hole: bool
    give_up_action: int

    @classmethod
    def of(cls, tables: list[Table], reading: Reading) -> _Numbering:
        found = sorted(_reachable(tables))
        has_hole = reading.holes.to is Place.HOLE and any(_ends(table, reading, found)[1] for table in tables)
        last = max(action for observation in found for action in tables[0].rows[observation])
        return cls(found, {observation: state for state, observation in enumerate(found)}, has_hole, last + 1)

    @property
    def states(self) -> int:
        return len(self.observations) + self.has_hole

    def state_names(self) -> list[str]:
        return [f"observation {observation}" for observation in self.observations] + ["hole"] * self.has_hole


def _reachable(tables: list[Table]) -> set[int]:
    """What some start may reach under some context. Nothing follows a termination, whatever rows the table has there.

    Restarts lead to starts, so the reading of holes does not matter.
    """
    found = {observation for table in tables for observation in table.start}
    waiting = list(found)
    while waiting:
        observation = waiting.pop()
        for table in tables:
            for action, entries in table.rows[observation].items():
                for entry in entries:
                    following = entry.next_observation
                    if entry.terminated or following in found:
                        continue
                    if following not in table.rows:
                        raise ModelError(
                            f"{table.name}, P[{observation}][{action}] leads to observation {following}, "
                            "which has no rows in the table"
                        )
                    found.add(following)
                    waiting.append(following)
    return found


class _Triple(NamedTuple):
    state: int
    action: int
    next_state: int
    probability: float
    loss: float


def _component(
    table: Table, reading: Reading, numbering: _Numbering, names: tuple[Sequence[str], Sequence[str] | None]
) -> SSP:
    _check_ends(table, reading, numbering.observations)
    triples = list(_triples(table, reading, numbering))
    probability = np.array([triple.probability for triple in triples])
    built = from_triples(
        np.array([triple.state for triple in triples], dtype=np.int64),
        np.array([triple.action for triple in triples], dtype=np.int64),
        np.array([triple.next_state for triple in triples], dtype=np.int64), probability,
        states=numbering.states, names=names,
    )  # fmt: skip
    losses = pair_losses(built.pair_of, built.support.pairs, probability, np.array([triple.loss for triple in triples]))
    start = _start(table, numbering)
    return SSP(built.support, losses, built.probabilities, start, reading.losses.scale)


def _start(table: Table, numbering: _Numbering) -> int | NDArray[np.float64]:
    law = np.zeros(numbering.states)
    for observation, weight in table.start.items():
        law[numbering.state_of[observation]] = weight
    return int(law.argmax()) if len(table.start) == 1 and law.max() == 1.0 else law


def _triples(table: Table, reading: Reading, numbering: _Numbering) -> Iterator[_Triple]:
    """All triples of one component, repeats included."""
    goal, hole = numbering.states, numbering.states - 1
    for state, observation in enumerate(numbering.observations):
        for transition, entry in _transitions(table, observation):
            loss, place = reading.outcome(transition, entry.terminated)
            landing = {entry.next_observation: 1.0}
            if place is Place.START:
                landing = table.start
            for following, weight in landing.items():
                to = goal if place is Place.GOAL else hole if place is Place.HOLE else numbering.state_of[following]
                yield _Triple(state, transition.action, to, entry.probability * weight, loss)
    if reading.holes.give_up_loss is not None:
        for state in range(numbering.states):
            yield _Triple(state, numbering.give_up_action, goal, 1.0, reading.holes.give_up_loss)


def _transitions(table: Table, observation: int) -> Iterator[tuple[Transition, Entry]]:
    for action, entries in table.rows[observation].items():
        for entry in entries:
            yield Transition(observation, action, entry.next_observation, entry.reward), entry


def _ends(table: Table, reading: Reading, observations: list[int]) -> tuple[set[int], set[int]]:
    """The observations at which goals are reached, and those of the holes. (One may be both.)"""
    goals: set[int] = set()
    holes: set[int] = set()
    for observation in observations:
        for transition, entry in _transitions(table, observation):
            if entry.terminated:
                (goals if reading.goals(transition) else holes).add(transition.next_observation)
    return goals, holes


def _check_ends(table: Table, reading: Reading, observations: list[int]) -> None:
    """Some termination is a goal; and none is a hole if holes are refused."""
    goals, holes = _ends(table, reading, observations)
    if not goals:
        raise ModelError(f"{table.name} has no terminating transition that is a goal; pass goals= another rule")
    if holes and reading.holes.to is Place.REFUSED:
        raise ModelError(
            f"{table.name} ends without reaching the goal at observations {', '.join(map(str, sorted(holes)))}; "
            "pass holes=restart(), penalty_exit() or give_up(loss=...)"
        )
