"""The planners that are timed against each other: goalbound, Storm and QuantEcon.

Each is a contender: ``prepare`` turns a problem into the tool's own model (not timed), ``solve`` is timed, and
``values`` reads the answer as an array [S] (not timed). Every tool is imported when it is first used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from goalbound import SSP

TOLERANCE = 1e-6
"""The relative precision that every contender is asked for."""


class Contender(Protocol):
    """A planner under test.

    ``tuned`` says that its settings were chosen by hand for these problems, ``certified`` that it claims a bound on
    its error; ``largest`` is the largest size that it is given; ``warm_up`` names the instances of which it solves one
    first, to compile and load what it needs.
    """

    @property
    def name(self) -> str: ...

    @property
    def tuned(self) -> bool: ...

    @property
    def certified(self) -> bool: ...

    @property
    def largest(self) -> float: ...

    @property
    def warm_up(self) -> tuple[str, ...]: ...

    def prepare(self, ssp: SSP) -> Any: ...

    def solve(self, model: Any) -> Any: ...

    def values(self, answer: Any) -> NDArray[np.float64]: ...


@dataclass(frozen=True)
class Goalbound:
    """This package."""

    name: str = "goalbound"
    tuned: bool = False
    certified: bool = True
    largest: float = np.inf
    warm_up: tuple[str, ...] = ("random", "grid", "free_loops")
    tolerance: float = TOLERANCE

    def prepare(self, ssp: SSP) -> SSP:
        return ssp

    def solve(self, model: SSP) -> Any:
        from goalbound.planning import solve

        return solve(model, tolerance=self.tolerance)

    def values(self, answer: Any) -> NDArray[np.float64]:
        if answer.status.name != "CONVERGED":
            raise RuntimeError(answer.status.value)
        return answer.values[:-1]


@dataclass(frozen=True)
class Storm:
    """Storm through stormpy, asked for sound answers of relative precision 1e-6.

    Without a method it is Storm's own choice: strongly connected components, each by optimistic value iteration.
    """

    name: str
    method: str | None = None
    tuned: bool = False
    certified: bool = True
    largest: float = np.inf
    warm_up: tuple[str, ...] = ("random",)

    def prepare(self, ssp: SSP) -> tuple[Any, Any]:
        import stormpy
        from stormpy import datastructures, models

        support = ssp.support
        goal, rows = support.states, support.pairs + 1  # the goal is a state of Storm's, with a loop
        builder = datastructures.SparseMatrixBuilder[float](
            rows=rows, columns=goal + 1, entries=support.triples + 1, has_custom_row_grouping=True, row_groups=goal + 1
        )
        row = np.repeat(np.arange(rows), np.append(np.diff(support.next_start), 1))
        column, probability = np.append(support.next_state, goal), np.append(ssp.probabilities, 1.0)
        builder.add_next_values(row, column, probability, support.pair_start)
        labels = models.StateLabeling(goal + 1)
        for label, state in (("init", 0), ("goal", goal)):
            labels.add_label(label)
            labels.add_label_to_state(label, state)
        losses = models.SparseRewardModel[float](optional_state_action_reward_vector=np.append(ssp.losses, 0.0))
        components = models.SparseModelComponents[float](
            transition_matrix=builder.build(), state_labeling=labels, reward_models={"loss": losses}
        )
        return models.SparseMdp[float](components), stormpy.parse_property('R{"loss"}min=? [F "goal"]')

    def solve(self, model: tuple[Any, Any]) -> Any:
        import stormpy

        environment = stormpy.environments.sound()
        solver = environment.solver().min_max()
        solver.precision = stormpy.Rational(TOLERANCE)
        solver.relative_termination_criterion = True
        if self.method is not None:
            solver.method = getattr(stormpy.environments.MinMaxMethod, self.method)
        return stormpy.model_checking(*model, environment=environment)

    def values(self, answer: Any) -> NDArray[np.float64]:
        return np.array(answer.get_value_vector())[:-1]


@dataclass(frozen=True)
class QuantEcon:
    """QuantEcon's modified policy iteration on the discounted problem, the discount as near to 1 as it can bear.

    ``evaluations`` and ``epsilon`` are its own defaults. It stops when the residual spans less than
    epsilon (1 - discount), 1e-11 for the default. A residual r bounds the relative error by r / (smallest loss), so
    epsilon 100 (a residual of 1e-7) is the loosest that is sure of 1e-6 where losses are at least 0.1.
    It starts from zero: its own start, -1e9 in every state, loses the digits that are asked for.
    """

    name: str
    evaluations: int = 20
    epsilon: float = 1e-2
    tuned: bool = False
    certified: bool = False
    largest: float = np.inf
    warm_up: tuple[str, ...] = ("random",)
    discount: float = 1.0 - 1e-9

    def prepare(self, ssp: SSP) -> Any:
        from quantecon.markov import DiscreteDP
        from scipy.sparse import csr_matrix

        support = ssp.support
        goal = support.states
        rows = csr_matrix(
            (
                np.append(ssp.probabilities, 1.0),
                np.append(support.next_state, goal),
                np.append(support.next_start, support.triples + 1),
            ),
            shape=(support.pairs + 1, goal + 1),
        )
        state, action = np.append(support.pair_state, goal), np.append(support.pair_action, 0)
        return DiscreteDP(np.append(-ssp.losses, 0.0), rows, self.discount, state, action)

    def solve(self, model: Any) -> Any:
        return model.solve(
            method="modified_policy_iteration",
            v_init=np.zeros(model.num_states),
            epsilon=self.epsilon,
            max_iter=10**9,
            k=self.evaluations,
        )

    def values(self, answer: Any) -> NDArray[np.float64]:
        return answer.v[-1] - answer.v[:-1]  # the last step shifts all values alike; the goal's is 0


CONTENDERS: tuple[Contender, ...] = (
    Goalbound(),
    Storm("storm"),
    QuantEcon("quantecon", largest=2e5),
    Storm("storm ovi", "OPTIMISTIC_VALUE_ITERATION", tuned=True),
    Storm("storm svi", "SOUND_VALUE_ITERATION", tuned=True, largest=2e4),
    Storm("storm ii", "INTERVAL_ITERATION", tuned=True, largest=2e4),
    Storm("storm pi", "POLICY_ITERATION", tuned=True, largest=2e4),
    QuantEcon("quantecon k20", epsilon=100.0, tuned=True, largest=2e5),
    QuantEcon("quantecon k100", evaluations=100, epsilon=100.0, tuned=True),
)


def contender(name: str) -> Contender:
    """The contender of that name."""
    return next(one for one in CONTENDERS if one.name == name)
