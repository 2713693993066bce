"""A learner of an open store."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goalbound.errors import FileConflictError
from goalbound.models.files.io import atomic_write
from goalbound.serve.store.engine import Answer, Engine
from goalbound.serve.store.reading import case_of, explanation, learner_status, policy_bounds, proposal_now
from goalbound.serve.store.relearning import file_of

if TYPE_CHECKING:
    from goalbound.serve.store.open_store import OpenStore


class StoredLearner:
    """A learner of a store: begin cases, report what came of actions, ask why."""

    def __init__(self, store: OpenStore, name: str) -> None:
        self.store = store
        self.name = name

    def begin(self, context: Any, state: int | str, *, id: str | None = None, allowed: Any = None) -> Answer:
        """Begin a case; what is proposed.

        Args:
            context: a point of the simplex, or covariates where the learner has a map.
            state: where the case is, by number or name.
            id: 1 to 64 letters, digits, and ``. _ ~ -``; made up if left out. The same case again is answered as
                before.
            allowed: the actions that are possible now, by number or name; all if left out.
        """
        return self._call(lambda engine: engine.begin(self.name, context, state, id=id, allowed=allowed))

    def act(self, id: str, *, allowed: Any = None) -> Answer:
        """What is proposed now. If it is not among the ``allowed`` actions, it is taken back, and another one is.

        Where a person begins another action, name it alone, as soon as it begins: ``act(id, allowed=[action])``. Then
        :meth:`observe` reports what came of it, and sets stay valid whatever the order of the reports.

        A follower says what its leader would propose, and nothing is recorded.
        """
        if self.store.follows:
            return self._call(lambda engine: proposal_now(engine, self.name, id, allowed), writes=False)
        return self._call(lambda engine: engine.act(self.name, id, allowed=allowed), writes=allowed is not None)

    def observe(
        self, id: str, loss: float, next_state: int | str, *, step: int | None = None, allowed: Any = None
    ) -> Answer:
        """The proposed action was played; what is proposed next.

        With ``step``, the number of this step in its case (1, 2, ...), the same step again is answered as before, with
        nothing recorded, and another content is a :class:`~goalbound.errors.StepConflict`: a report whose answer was
        lost can be repeated. Without it the step is the next one.
        """
        return self._call(lambda engine: engine.observe(self.name, id, loss, next_state, step=step, allowed=allowed))

    def override(
        self, id: str, action: int | str, loss: float, next_state: int | str, *, step: int | None = None,
        allowed: Any = None,
    ) -> Answer:  # fmt: skip
        """This action was played, whatever was proposed; what is proposed next.

        Nobody said when it began (:meth:`act` does), so a learner with confidence sets proves nothing from then on,
        unless this is its only open case and nothing was learned since the proposal
        (:meth:`LearnerEpisode.observe <goalbound.learners.episode.LearnerEpisode.observe>`).
        """
        return self._call(
            lambda engine: engine.observe(self.name, id, loss, next_state, taken=action, step=step, allowed=allowed)
        )

    def moved_to(self, id: str, state: int | str, *, step: int | None = None, allowed: Any = None) -> Answer:
        """The case came to another state by itself, and the proposed action was not played; nothing is learned."""
        return self._call(lambda engine: engine.move(self.name, id, state, step=step, allowed=allowed))

    def abandon(self, id: str, reason: str, *, step: int | None = None, missing_at_random: bool = False) -> Answer:
        """The case ends without the goal; see :meth:`LearnerEpisode.abandon
        <goalbound.learners.episode.LearnerEpisode.abandon>`."""
        return self._call(
            lambda engine: engine.abandon(self.name, id, reason, step=step, missing_at_random=missing_at_random)
        )

    def case(self, id: str) -> dict[str, Any]:
        """A case and its history, open or not."""
        found = self._told(id, None)
        while found["earlier"]:  # some at a time, so that nobody waits for all of a long one
            more = self._told(id, found["history"][0]["seq"])
            found["history"], found["earlier"] = more["history"] + found["history"], more["earlier"]
        return found

    def _told(self, id: str, before: int | None) -> dict[str, Any]:
        found: dict[str, Any] = self.store.writer.call(
            lambda engine: case_of(engine, self.name, id, before=before), writes=False
        )
        return found

    def cases(self, *, limit: int = 1000) -> list[Answer]:
        """The open cases and what is proposed in each, in the order in which they were begun."""

        def found(engine: Engine) -> list[Answer]:
            lead = engine.machine.named(self.name)
            mine = (one for one in engine.machine.cases.values() if one.learner == lead.number)
            return [engine.act(self.name, one.id) for one, _ in zip(mine, range(limit), strict=False)]

        cases: list[Answer] = self.store.writer.call(found, writes=False)
        return cases

    def explain(self, id: str) -> Any:
        """Why the learner proposes what it does in an open case: an :class:`~goalbound.Explanation`."""
        return self.store.writer.call(lambda engine: explanation(engine, self.name, id), writes=False)

    def policy_bounds(self, context: Any, policy: Any = None) -> Any:
        """What a policy loses at least and at most, as :func:`goalbound.policy_bounds` says it."""
        return self.store.writer.call(lambda engine: policy_bounds(engine, self.name, context, policy), writes=False)

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the learner, as it is now, to a file that :func:`goalbound.load_learner` reads; without its open cases,
        which are of the store."""
        data: bytes = self.store.writer.call(lambda engine: file_of(engine, self.name), writes=False)
        if Path(path).exists() and not overwrite:
            raise FileConflictError(f"{path} exists; write elsewhere, or replace it with overwrite=True")
        with atomic_write(path) as file:
            file.write(data)

    def acknowledge(self) -> None:
        """The alarms of a monitored learner were seen; it goes on."""
        self.store.writer.call(lambda engine: engine.acknowledge(self.name))

    def status(self) -> dict[str, Any]:
        """What the learner is and guarantees, how many steps it has seen, its open cases, its alarms."""
        found: dict[str, Any] = self.store.writer.call(lambda engine: learner_status(engine, self.name), writes=False)
        return found

    def _call(self, operation: Any, *, writes: bool = True) -> Answer:
        answer: Answer = self.store.writer.call(operation, writes=writes)
        return answer
