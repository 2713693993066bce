"""A learner that is shown something else than the context."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.around.wrapper import Wrapper, begin_inner, inner_method, save_inner, takes, with_contexts, with_limit
from goalbound.errors import ArgumentError
from goalbound.kernels.environment import EpisodeResults
from goalbound.learners.anew import made_anew
from goalbound.learners.card import MAPPED, NOTHING, Card, wrapped_card
from goalbound.learners.checks import check_learner, one_component
from goalbound.learners.protocol import Episode, SimulatedEnvironment
from goalbound.models import Step, Support
from goalbound.models.files.io import LIMIT
from goalbound.models.validation import check_array, check_distribution, check_type, set_readonly

Floats = NDArray[np.float64]


class MappedContexts(Wrapper):
    """Plays contextual problems with a learner that sees the contexts through a function.

    The environment mixes by the true context [d]; the learner is shown ``see(context)`` [d'], a point of a simplex.
    So the price of a poorer description of the same contexts can be measured in exact regret.

    Args:
        learner: any learner, for contexts of d' entries.
        see: a function from a context [d] to [d'], or a matrix [d, d'] whose rows are points of the simplex
            (``see(context) = context @ matrix``).

    Where the learner has a compiled loop that takes ``shown=``, so has this one.

    >>> from goalbound import LRCSSP, Support
    >>> merged = MappedContexts(LRCSSP(Support.full(2, 2), 2, loss_floor=0.1), [[1, 0], [0, 1], [0, 1]])
    >>> merged.begin([0.5, 0.25, 0.25]).context
    array([0.5, 0.5])
    """

    card = Card(lambda wrapper: wrapped_card(wrapper.inner, MAPPED))

    def __init__(self, learner: Any, see: Callable[[Floats], ArrayLike] | ArrayLike) -> None:
        check_learner(learner)
        self.inner = learner
        self.see: Callable[[Floats], ArrayLike] = see if callable(see) else _ByMatrix(see)
        loop = getattr(learner, "play_episodes", None)
        if loop is not None and takes(loop, "shown"):
            self.play_episodes = self._play_episodes

    def begin(self, context: ArrayLike, *, id: str | int | None = None) -> Episode:
        """An episode of the learner under what it sees of the context; ``id`` is for learners that know one."""
        return begin_inner(self.inner, self._seen(context), id)

    def learn(self, context: ArrayLike, step: Step) -> None:
        """Let the learner learn from a step that anyone made, by what it sees of the context."""
        self.inner.learn(self._seen(context), step)

    def learn_log(self, log: Iterable[tuple[ArrayLike, Step]]) -> int:
        """:meth:`learn` from ``(context, step)`` by ``(context, step)``, as the learner inside does; how many."""
        learned: int = self.inner.learn_log(with_contexts(log, self._seen))
        return learned

    def plan(self, context: ArrayLike) -> Any:
        """What the learner would do now, by what it sees of the context."""
        return inner_method(self.inner, "plan")(self._seen(context))

    def confidence_set(self, context: ArrayLike) -> Any:
        """What is plausible, by what the learner sees of the context."""
        return inner_method(self.inner, "confidence_set")(self._seen(context))

    def explain(self, context: ArrayLike, state: int | str) -> Any:
        """Why the learner would play what it plays in a state, by what it sees of the context."""
        return inner_method(self.inner, "explain")(self._seen(context), state)

    def merge(self, other: MappedContexts) -> None:
        """Add what another learner that sees contexts alike has seen; the learners inside say what can be merged."""
        check_type(other, type(self), "other", "give a learner that sees contexts as this one does")
        if other.see != self.see:
            raise ArgumentError(
                "other sees contexts through another function or matrix, or nothing tells that it is the same; make "
                "both with one function, or, where both are sure to see alike, inner.merge(other.inner)"
            )
        inner_method(self.inner, "merge")(other.inner)

    def anew(self) -> Self:
        """The learner, seeing as this one does, as if nothing had been seen."""
        return self._around(made_anew(self.inner))

    def relearned(self, **options: Any) -> Self:
        """The learner that has forgotten what changed, seeing as this one does; for learners with a
        :class:`~goalbound.Monitored` inside, whose ``relearned`` takes the options."""
        return self._around(inner_method(self.inner, "relearned")(**options))

    def extended(self, support: Support, **others: Any) -> Self:
        """The learner on a larger support, seeing as this one does; for learners that have ``extended``. ``others`` are
        what theirs takes besides, as the ``runbook`` of a guard."""
        return self._around(inner_method(self.inner, "extended")(support, **others))

    def with_settings(self, **settings: Any) -> Self:
        """The learner under other settings, seeing as this one does; for learners that have ``with_settings``."""
        return self._around(inner_method(self.inner, "with_settings")(**settings))

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """The learner inside, as it saves itself; what it sees through is not in the file."""
        save_inner(self.inner, path, overwrite=overwrite)

    def restored(self, path: str | PathLike[str], *, limit: int = LIMIT) -> Self:
        """One that sees as this one does, and goes on from the file of :meth:`save`, of at most ``limit`` bytes."""
        return self._around(with_limit(self.inner.restored, path, limit))

    def _around(self, inner: Any) -> Self:
        """Another learner, seeing as this one does."""
        return type(self)(inner, self.see)

    def _seen(self, context: ArrayLike) -> Floats:
        return np.asarray(self.see(_context(context)), dtype=np.float64)

    def _all_seen(self, contexts: Floats) -> Floats:
        """[K, d'] one at a time: what a function makes of a whole table may differ in the last bit."""
        return np.array([_checked(self._seen(context), row) for row, context in enumerate(contexts)])

    def _play_episodes(
        self,
        environment: SimulatedEnvironment,
        contexts: Floats,
        values: Floats,
        *,
        step_limit: int,
        results: EpisodeResults,
    ) -> None:
        """The compiled loop of the learner; the environment has the true contexts."""
        shown = set_readonly(self._all_seen(contexts))
        self.inner.play_episodes(environment, contexts, values, step_limit=step_limit, results=results, shown=shown)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r})"


class ContextBlind(MappedContexts):
    """Plays contextual problems with a learner of one component: a constant map of the contexts.

    What it learns is the average over the contexts that came, and the policy that is best on average may do badly, or
    even never arrive, under each of them: this is the price of not seeing them.

    >>> from goalbound import LRCSSP, Support
    >>> blind = ContextBlind(LRCSSP(Support.full(2, 2), 1, loss_floor=0.1))
    >>> blind.begin([0.3, 0.7]).context
    array([1.])
    """

    card = Card(lambda wrapper: wrapped_card(wrapper.inner, NOTHING))

    def __init__(self, learner: Any) -> None:
        super().__init__(one_component(learner), _constant)

    def _around(self, inner: Any) -> Self:
        return type(self)(inner)

    def _seen(self, context: ArrayLike) -> Floats:
        return np.ones(1)

    def _all_seen(self, contexts: Floats) -> Floats:
        return np.ones((len(contexts), 1))


def _constant(context: Floats) -> Floats:
    return np.ones(1)


def _context(context: ArrayLike) -> Floats:
    return check_array(context, "context", (None,), "[d], the weights of the components")


def _checked(seen: Floats, row: int) -> Floats:
    """The compiled loop looks at nothing again, so what it is shown is checked here as ``begin`` does."""
    if seen.ndim != 1:
        raise ArgumentError(f"see(contexts[{row}]) has shape {seen.shape}; it needs [d'], one point of the simplex")
    return check_distribution(seen, f"see(contexts[{row}])", len(seen), "component")


class _ByMatrix:
    """``context @ matrix``; a class, as functions inside functions cannot be pickled."""

    def __init__(self, matrix: ArrayLike) -> None:
        rows = check_array(matrix, "see", (None, None), "a function of a context, or a matrix [d, d']")
        self._rows = np.array(
            [check_distribution(row, f"see[{i}]", rows.shape[1], "component") for i, row in enumerate(rows)]
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByMatrix) and np.array_equal(self._rows, other._rows)

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, context: Floats) -> Floats:
        if context.shape != (len(self._rows),):
            raise ArgumentError(f"the context has shape {context.shape}; see is a matrix for {len(self._rows)} entries")
        return np.asarray(check_distribution(context, "context", len(self._rows), "component") @ self._rows)
