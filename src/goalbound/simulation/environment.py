"""The environment that a learner acts in, and a contextual problem as one."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ArgumentError
from goalbound.jit.compile import engine
from goalbound.learners.copying import copied_state, deep_copy, restore_state
from goalbound.models import LinearCSSP, Step, Support
from goalbound.models import simulated as kernels
from goalbound.models.simulated import Components
from goalbound.models.step import LossLaw, deterministic
from goalbound.models.validation import check_generator, check_int, check_type, readonly_copy


class Environment(Protocol):
    """Where episodes take place. The goal is next state S of the problem."""

    def begin(self, context: NDArray[np.float64]) -> int:
        """A new episode under a context [d]; its first state. An episode that is open is left."""
        ...

    def step(self, action: int) -> Step:
        """Plays an action (its number) in the present state."""
        ...


class ModelEnvironment:
    """A contextual problem as an environment.

    Takes from the stream: one uniform number at the start of an episode if the start is a distribution; then in each
    step one for the next state, and one for the loss if its law is random. Nothing else, so that a compiled loop can
    take the same.

    Attributes:
        problem, losses, rng: as given.
        components: the arrays of the problem, for kernels.
        start_law: the argument of :func:`goalbound.models.simulated.draw_start`; empty where the start is a state.

    >>> problem = LinearCSSP.dense([[[0.5]], [[0.3]]], [[[[0.0, 1.0]]], [[[0.0, 1.0]]]])
    >>> environment = ModelEnvironment(problem, rng=np.random.default_rng(0))
    >>> environment.begin([0.5, 0.5])
    0
    >>> environment.step(0)
    Step(state=0, action=0, loss=0.4, next_state=1)
    """

    def __init__(
        self, problem: LinearCSSP, *, losses: LossLaw | None = None, rng: np.random.Generator
    ) -> None:  # fmt: skip
        if not isinstance(problem, LinearCSSP):
            raise ArgumentError(
                f"problem is a {type(problem).__name__}: a ModelEnvironment plays a LinearCSSP; see LinearCSSP.mix"
            )
        check_generator(rng)
        if losses is not None:
            check_type(losses, LossLaw, "losses", "give deterministic(), bernoulli() or bounded(...)")
        self.problem = problem
        self.losses = deterministic() if losses is None else losses
        self.rng = rng
        self.components = components_of(problem)
        self.start_law = _start_law(problem)
        self._goal = problem.support.states
        self._state = self._goal
        self._context = np.empty(0)
        self._run = engine(problem.support.triples)

    __getstate__ = copied_state
    __setstate__ = restore_state
    __copy__ = deep_copy

    def begin(self, context: ArrayLike) -> int:
        """A new episode under a context; its first state."""
        self._context = readonly_copy(self.problem.check_context(context), np.float64)
        start = self.problem.start
        if not isinstance(start, int):
            start = int(self._run(kernels.draw_start)(self.start_law, self._context, self.rng.random()))
        self._state = start
        return start

    def step(self, action: int) -> Step:
        """Plays an action in the present state."""
        state = self._state
        if state == self._goal:
            raise ArgumentError("no episode is open: begin(context) one; an episode ends at the goal")
        pair = pair_of(self.problem.support, state, action)
        run, rows, context = self._run, self.components, self._context
        following = run(kernels.draw_next)(
            rows.next_start, rows.next_state, rows.probabilities, pair, context, self.rng.random()
        )
        loss = float(run(kernels.mixed)(rows.losses, pair, context))
        if self.losses.is_random:
            loss = float(run(kernels.loss_of)(self.losses.code, self.losses.spread, loss, self.rng.random()))
        self._state = int(following)
        return Step(state, int(action), loss, self._state)


def pair_of(support: Support, state: int, action: int) -> int:
    """The index of a pair by numbers, fast enough for every step: O(log of the state's actions)."""
    first, end = support.pair_start[state], support.pair_start[state + 1]
    found = int(first + support.pair_action[first:end].searchsorted(check_int(action, "action")))
    if found == end or support.pair_action[found] != action:
        return support.pair(state, action)  # which says what is wrong
    return found


def components_of(problem: LinearCSSP) -> Components:
    """The arrays of a problem as the kernels of the environment take them."""
    support = problem.support
    return Components(support.next_start, support.next_state, problem.losses, problem.probabilities)


def _start_law(problem: LinearCSSP) -> NDArray[np.float64]:
    """[S, d], or [S, 1] where the start is the same law under every context; [0, 1] where it is a state."""
    start = problem.start
    if isinstance(start, int):
        return readonly_copy(np.empty((0, 1)), np.float64)
    return start if start.ndim == 2 else readonly_copy(start[:, None], np.float64)
