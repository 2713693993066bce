"""The transition tables of environments as linear contextual problems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.adapters.gymnasium.rewards import (
    FailurePolicy,
    GoalRule,
    Interpretation,
    Losses,
    Target,
    Transition,
    environment_defaults,
    restart,
)
from goalbound.adapters.gymnasium.transition_table import (
    Entry,
    TransitionTable,
    check_same_spaces,
    environment_name,
    read_table,
    unwrap,
)
from goalbound.errors import ModelError
from goalbound.models import SSP, LinearCSSP
from goalbound.models.triples import from_triples, pair_losses


@dataclass(frozen=True, eq=False)
class GymProblem:
    """A problem read from environments, and the way between its states and their observations.

    Actions have the environments' numbers; :func:`~goalbound.adapters.gymnasium.give_up` adds one after the last.

    Attributes:
        problem: one component per environment.
        observations: [S] the observation of each state; -1 for the state that stands for all failures (``give_up``).
        interpretation: how rewards and terminations were interpreted.
    """

    problem: LinearCSSP
    observations: NDArray[np.int64]
    interpretation: Interpretation

    @cached_property
    def _states(self) -> dict[int, int]:
        return {observation: state for state, observation in enumerate(self.observations.tolist()) if observation >= 0}

    def state(self, observation: int) -> int:
        """The state of an observation that did not terminate the episode."""
        try:
            return self._states[int(observation)]
        except KeyError:
            raise ModelError(
                f"observation {observation} is not a state of this problem: no start reaches it without terminating"
            ) from None

    @property
    def failure_state(self) -> int | None:
        """The state that stands for all failures, if there is one."""
        return len(self.observations) - 1 if self.observations[-1] < 0 else None

    @property
    def give_up_action(self) -> int | None:
        """The action that gives up, if there is one. The environments do not know it."""
        return None if self.interpretation.failures.give_up_loss is None else self.problem.support.actions - 1


def from_environments(
    environments: Any,
    *,
    losses: Losses | None = None,
    goals: GoalRule | None = None,
    failures: FailurePolicy | None = None,
    component_names: Sequence[str] | None = None,
) -> GymProblem:
    """The linear contextual problem whose components are the tables of these environments.

    Each environment has ``env.unwrapped.P[observation][action] = [(probability, next, reward, terminated), ...]`` and
    ``env.unwrapped.initial_state_distrib``, as Taxi, CliffWalking and FrozenLake do; all have the same observations
    and actions. One environment gives a problem with d = 1. The goal is not an observation: it is reached by every
    terminating transition that ``goals`` calls one. Observations that no start of any of the environments reaches are
    dropped; one at which some environments end and others continue has the rows that each table gives it. Time
    limits are not part of the problem: truncation is not the goal.

    A context that is all on one component is that environment. Any other context mixes them anew at every step; it
    does *not* mean "one of the environments, it is not known which".

    Args:
        environments: one per component; a single one may come without a list.
        losses: how rewards become losses in [0, 1]; not needed for the three environments above.
        goals: which terminations are the goal; not needed for the three environments above.
        failures: what becomes of the other terminations; by default :func:`restart`: back to the start with loss 1.
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
    interpretation, action_names = _interpretation([unwrap(env) for env in environments], losses, goals, failures)
    numbering = _Numbering.of(tables, interpretation)
    names = (numbering.state_names(), action_names)
    parts = [_component(table, interpretation, numbering, names) for table in tables]
    observations = np.array(numbering.observations + [-1] * numbering.has_failure_state, dtype=np.int64)
    observations.flags.writeable = False
    return GymProblem(LinearCSSP.mix(parts, component_names=component_names), observations, interpretation)


def ssp_from_environment(
    environment: Any,
    *,
    losses: Losses | None = None,
    goals: GoalRule | None = None,
    failures: FailurePolicy | None = None,
) -> SSP:
    """The table of one environment as a problem without context; see :func:`from_environments`.

    >>> import gymnasium
    >>> ssp_from_environment(gymnasium.make("CliffWalking-v1"))
    SSP(37 states, 148 pairs, 148 next states)
    """
    return from_environments([environment], losses=losses, goals=goals, failures=failures).problem.component(0)


def _interpretation(
    unwrapped: list[Any], losses: Losses | None, goals: GoalRule | None, failures: FailurePolicy | None
) -> tuple[Interpretation, tuple[str, ...] | None]:
    """The interpretation asked for, completed by the defaults of these environments; and their action names."""
    kinds = [environment_defaults(env) for env in unwrapped]
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
        raise ModelError(f"there is no common default for {names}; pass {' and '.join(missing)}")
    interpretation = Interpretation(losses, goals, restart() if failures is None else failures)
    if kind is None:
        return interpretation, None
    return interpretation, kind.actions if interpretation.failures.give_up_loss is None else (*kind.actions, "give up")


class _Numbering(NamedTuple):
    """States by number: the observations that a start reaches, in order, then the failure state if there is one."""

    observations: list[int]
    state_of: dict[int, int]
    has_failure_state: bool
    give_up_action: int

    @classmethod
    def of(cls, tables: list[TransitionTable], interpretation: Interpretation) -> _Numbering:
        found = sorted(_reachable(tables))
        has_failure_state = interpretation.failures.to is Target.FAILURE_STATE and any(
            _ends(table, interpretation, found)[1] for table in tables
        )
        last = max(action for observation in found for action in tables[0].rows[observation])
        return cls(found, {observation: state for state, observation in enumerate(found)}, has_failure_state, last + 1)

    @property
    def states(self) -> int:
        return len(self.observations) + self.has_failure_state

    def state_names(self) -> list[str]:
        return [f"observation {observation}" for observation in self.observations] + [
            "failure"
        ] * self.has_failure_state


def _reachable(tables: list[TransitionTable]) -> set[int]:
    """What some start may reach under some context. Nothing follows a termination, whatever rows the table has there.

    Restarts lead to starts, so the failure policy does not matter.
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


def _component(
    table: TransitionTable,
    interpretation: Interpretation,
    numbering: _Numbering,
    names: tuple[Sequence[str], Sequence[str] | None],
) -> SSP:
    _check_ends(table, interpretation, numbering.observations)
    triples = list(_triples(table, interpretation, numbering))
    state, action, following = np.array([triple[:3] for triple in triples], dtype=np.int64).T.copy()
    probability, loss = np.array([triple[3:] for triple in triples]).T.copy()
    built = from_triples(state, action, following, probability, states=numbering.states, names=names)
    losses = pair_losses(built.pair_of, built.support.pairs, probability, loss)
    law = np.zeros(numbering.states)
    for observation, weight in table.start.items():
        law[numbering.state_of[observation]] = weight
    start = int(law.argmax()) if len(table.start) == 1 and law.max() == 1.0 else law
    return SSP(built.support, losses, built.probabilities, start, interpretation.losses.scale)


def _triples(
    table: TransitionTable, interpretation: Interpretation, numbering: _Numbering
) -> Iterator[tuple[int, int, int, float, float]]:
    """State, action, next state, probability and loss of all triples of one component, repeats included."""
    ends = {Target.GOAL: numbering.states, Target.FAILURE_STATE: numbering.states - 1}
    for state, observation in enumerate(numbering.observations):
        for transition, entry in _transitions(table, observation):
            loss, target = interpretation.outcome(transition, entry.terminated)
            arrivals = table.start if target is Target.START else {entry.next_observation: 1.0}
            for following, weight in arrivals.items():
                to = ends[target] if target in ends else numbering.state_of[following]
                yield state, transition.action, to, entry.probability * weight, loss
    if interpretation.failures.give_up_loss is not None:
        for state in range(numbering.states):
            yield state, numbering.give_up_action, numbering.states, 1.0, interpretation.failures.give_up_loss


def _transitions(table: TransitionTable, observation: int) -> Iterator[tuple[Transition, Entry]]:
    for action, entries in table.rows[observation].items():
        for entry in entries:
            yield Transition(observation, action, entry.next_observation, entry.reward), entry


def _ends(table: TransitionTable, interpretation: Interpretation, observations: list[int]) -> tuple[set[int], set[int]]:
    """The observations at which goals are reached, and those of failures. (One may be both.)"""
    goals: set[int] = set()
    failures: set[int] = set()
    for observation in observations:
        for transition, entry in _transitions(table, observation):
            if entry.terminated:
                (goals if interpretation.goals(transition) else failures).add(transition.next_observation)
    return goals, failures


def _check_ends(table: TransitionTable, interpretation: Interpretation, observations: list[int]) -> None:
    """Some termination is a goal; and none is a failure if failures are refused."""
    goals, failures = _ends(table, interpretation, observations)
    if not goals:
        raise ModelError(f"{table.name} has no terminating transition that is a goal; pass goals= another rule")
    if failures and interpretation.failures.to is Target.REFUSED:
        raise ModelError(
            f"{table.name} ends without reaching the goal at observations {', '.join(map(str, sorted(failures)))}; "
            "pass failures=restart(), penalty_exit() or give_up(loss=...)"
        )
