"""A store against a model in a few lines: whatever is asked in whatever order, with crashes between."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from faults.result import Result
from faults.world import NAME, learner, quick_folder
from goalbound.errors import CaseExists, CaseFinished, CaseNotFound, GoalboundError, StepConflict, StepGap
from goalbound.serve.store.bodies import abandon_body
from goalbound.serve.store.engine import Engine
from goalbound.serve.store.log import SqliteLog
from goalbound.serve.store.snapshots import digest_of

IDS = st.sampled_from("abc")
LOSSES = st.sampled_from([0.0, 0.25, 1.0])
STATES = st.sampled_from([0, 1, 2])
CONTEXT = [0.5, 0.5]
GOAL = 3


class StoreLaws(RuleBasedStateMachine):
    """``model[id]`` is the list of what was recorded: what was given, and what was answered."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=quick_folder()))
        self.engine = self.opened()
        self.engine.create(NAME, learner())
        self.engine.commit()
        self.model: dict[str, list[tuple[tuple[Any, ...], Any]]] = {}
        self.committed: dict[str, list[tuple[tuple[Any, ...], Any]]] = {}

    def opened(self) -> Engine:
        return Engine(SqliteLog(self.folder, create=True), most_cases=1000)

    def teardown(self) -> None:
        self.engine.log.close()
        shutil.rmtree(self.folder)

    def is_open(self, id: str) -> bool:
        """Whether a case was begun, and has not ended."""
        return id in self.model and not self.model[id][-1][1].done

    def ask(self, given: tuple[Any, ...], id: str, step: int) -> Any:
        if given[0] == "begin":
            return self.engine.begin(NAME, CONTEXT, given[1], id=id)
        if given[0] == "abandon":
            return self.engine.abandon(NAME, id, abandon_body(given[1]), step=step)
        if given[0] == "move":
            return self.engine.move(NAME, id, given[1], step=step)
        return self.engine.observe(NAME, id, given[1], given[2], taken=given[3], step=step)

    def refused(self, kind: type[GoalboundError], given: tuple[Any, ...], id: str, step: int) -> None:
        """Asking is this error, and records nothing."""
        seq = self.engine.seq
        try:
            self.ask(given, id, step)
        except kind:
            assert self.engine.seq == seq
            return
        raise AssertionError(f"{given} as step {step} of {id} was not refused with {kind.__name__}")

    def record(self, given: tuple[Any, ...], id: str) -> Any:
        """Something new in an open case."""
        step, seq = len(self.model[id]), self.engine.seq
        answer = self.ask(given, id, step)
        assert (answer.step, answer.repeated, answer.seq, self.engine.seq) == (step, False, seq + 1, seq + 1)
        self.model[id].append((given, answer))
        return answer

    @rule(id=IDS)
    def begin(self, id: str) -> None:
        answer = self.ask(("begin", 0), id, 0)
        if id in self.model:
            assert answer.repeated
            assert answer[:7] == self.model[id][0][1][:7]
        else:
            assert (answer.step, answer.repeated, answer.done) == (0, False, False)
            self.model[id] = [(("begin", 0), answer)]

    @rule(id=IDS, loss=LOSSES, taken=st.sampled_from([None, None, 0, 1]), state=STATES | st.just(GOAL))
    def step(self, id: str, loss: float, taken: int | None, state: int) -> None:
        given = ("step", loss, state, taken)
        if id not in self.model:
            self.refused(CaseNotFound, given, id, 1)
        elif not self.is_open(id):
            self.refused(CaseFinished, given, id, len(self.model[id]))
        else:
            assert self.record(given, id).done == (state == GOAL)

    @rule(id=IDS, state=STATES)
    def move(self, id: str, state: int) -> None:
        if self.is_open(id):
            assert not self.record(("move", state), id).done

    @rule(id=IDS)
    def abandon(self, id: str) -> None:
        if self.is_open(id):
            assert self.record(("abandon", "lost"), id).done

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def repeat(self, data: Any) -> None:
        """Any step that was recorded, again."""
        id = data.draw(st.sampled_from(sorted(self.model)))
        step = data.draw(st.integers(0, len(self.model[id]) - 1))
        given, answer = self.model[id][step]
        seq = self.engine.seq
        again = self.ask(given, id, step)
        assert again.repeated
        assert again[:7] == answer[:7]
        assert self.engine.seq == seq

    @precondition(lambda self: any(len(one) > 1 for one in self.model.values()))
    @rule(data=st.data())
    def contradict(self, data: Any) -> None:
        """Any step that was recorded, with another content."""
        id = data.draw(st.sampled_from(sorted(one for one, steps in self.model.items() if len(steps) > 1)))
        step = data.draw(st.integers(1, len(self.model[id]) - 1))
        self.refused(StepConflict, ("step", 0.625, GOAL, 0), id, step)
        self.refused(CaseExists, ("begin", 1), id, 0)

    @rule(id=IDS)
    def gap(self, id: str) -> None:
        if self.is_open(id):
            self.refused(StepGap, ("step", 0.25, GOAL, 0), id, len(self.model[id]) + 1)

    @rule()
    def commit(self) -> None:
        self.engine.commit()
        self.committed = {id: list(steps) for id, steps in self.model.items()}

    @rule()
    def snapshot(self) -> None:
        self.engine.snapshot()
        self.committed = {id: list(steps) for id, steps in self.model.items()}

    @rule()
    def crash(self) -> None:
        """What was not committed is gone, and all else is as it was."""
        self.engine.log.close()
        self.engine = self.opened()
        self.model = {id: list(steps) for id, steps in self.committed.items()}

    @precondition(lambda self: self.engine.uncommitted == 0)
    @rule()
    def rebuild(self) -> None:
        digest = digest_of(self.engine.machine)
        self.engine.rebuild()
        assert digest_of(self.engine.machine) == digest

    @invariant()
    def open_cases_are_those_of_the_model(self) -> None:
        assert {case.id for case in self.engine.machine.cases.values()} == set(filter(self.is_open, self.model))


def states(folder: Path, *, examples: int, steps: int) -> Result:
    """Requests in any order, drawn by Hypothesis, with crashes between: the store does what the model says."""
    result = Result("state machine")
    run = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    try:
        run_state_machine_as_test(StoreLaws, settings=run)
    except Exception as error:
        notes = "\n".join(getattr(error, "__notes__", ()))
        result.check(False, f"{type(error).__name__}: {error}\n{notes}"[:3000])
    result.counts |= {"sequences": examples, "requests in each, at most": steps}
    return result
