"""A store against a model in a few lines: whatever is asked in whatever order, with crashes between."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from goalbound.errors import CaseExists, CaseFinished, CaseNotFound, StepConflict, StepGap
from goalbound.store.engine import Engine
from goalbound.store.files import DATABASE, SNAPSHOTS
from goalbound.store.snapshots import digest_of
from goalbound.store.sqlite_log import SqliteLog
from tests.support.stores import drawing, new_engine
from tests.support.strategies import EXAMPLES_FACTOR

IDS = st.sampled_from("abc")
LOSSES = st.sampled_from([0.0, 0.25, 1.0])
CONTEXT = [0.5, 0.5]
DOWN, DEGRADED, GOAL = 0, 1, 2


class StoreLaws(RuleBasedStateMachine):
    """``model[id]`` is the list of what was recorded: what was given, and what was answered."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.engine = new_engine(self.folder / "store", drawing())
        self.model, self.committed = {}, {}

    def teardown(self):
        self.engine.log.close()
        shutil.rmtree(self.folder)

    def state_of(self, id):
        """Where a case is; None: it has ended."""
        state = DOWN
        for given, _ in self.model[id][1:]:
            state = None if given[0] == "abandon" else given[2]
        return None if state in (GOAL, None) else state

    def ask(self, given, id, step):
        if given[0] == "begin":
            return self.engine.begin("incidents", CONTEXT, given[1], id=id)
        if given[0] == "abandon":
            return self.engine.abandon("incidents", id, given[1], step=step)
        return self.engine.observe("incidents", id, given[1], given[2], taken=given[3], step=step)

    @rule(id=IDS)
    def begin(self, id):
        answer = self.ask(("begin", DOWN), id, 0)
        if id in self.model:
            assert answer.repeated
            assert answer[:7] == self.model[id][0][1][:7]
        else:
            assert (answer.step, answer.repeated) == (0, False)
            self.model[id] = [(("begin", DOWN), answer)]

    @rule(id=IDS, loss=LOSSES, taken=st.sampled_from([0, 1]), goal=st.booleans())
    def step(self, id, loss, taken, goal):
        if id not in self.model:
            with pytest.raises(CaseNotFound):
                self.ask(("step", loss, GOAL, taken), id, 1)
            return
        recorded, state = self.model[id], self.state_of(id)
        # Paging leads to "degraded" or the goal, a restart may stay where it is.
        given = ("step", loss, GOAL if goal else DEGRADED if taken == 1 else state, taken)
        if state is None:
            with pytest.raises(CaseFinished):
                self.ask(("step", loss, GOAL, taken), id, len(recorded))
            return
        answer = self.ask(given, id, len(recorded))
        assert (answer.step, answer.done, answer.repeated) == (len(recorded), goal, False)
        recorded.append((given, answer))

    @rule(id=IDS)
    def abandon(self, id):
        if id in self.model and self.state_of(id) is not None:
            given = ("abandon", "lost")
            answer = self.ask(given, id, len(self.model[id]))
            assert answer.done
            self.model[id].append((given, answer))

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def repeat(self, data):
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
    def contradict(self, data):
        """Any step that was recorded, with another content."""
        id = data.draw(st.sampled_from(sorted(one for one, steps in self.model.items() if len(steps) > 1)))
        step = data.draw(st.integers(1, len(self.model[id]) - 1))
        with pytest.raises(StepConflict):
            self.ask(("step", 0.625, GOAL, 0), id, step)
        with pytest.raises(CaseExists):
            self.ask(("begin", DEGRADED), id, 0)

    @rule(id=IDS)
    def gap(self, id):
        if id in self.model and self.state_of(id) is not None:
            with pytest.raises(StepGap):
                self.ask(("step", 0.25, GOAL, 0), id, len(self.model[id]) + 1)

    @rule()
    def commit(self):
        self.engine.commit()
        self.committed = {id: list(steps) for id, steps in self.model.items()}

    @rule()
    def snapshot(self):
        self.engine.snapshot()
        self.committed = {id: list(steps) for id, steps in self.model.items()}

    @rule()
    def crash(self):
        """What was not committed is gone, and all else is as it was."""
        self.engine.log.close()
        folder = self.folder / "store"
        self.engine = Engine(SqliteLog(folder / DATABASE), folder / SNAPSHOTS, most_cases=1000)
        self.model = {id: list(steps) for id, steps in self.committed.items()}

    @precondition(lambda self: self.engine.uncommitted == 0)
    @rule()
    def rebuild(self):
        digest = digest_of(self.engine.machine)
        self.engine.rebuild()
        assert digest_of(self.engine.machine) == digest

    @invariant()
    def open_cases_are_those_of_the_model(self):
        mine = {id for id in self.model if self.state_of(id) is not None}
        assert {case.id for case in self.engine.machine.cases.values()} == mine


StoreLaws.TestCase.settings = settings(max_examples=8 * EXAMPLES_FACTOR, stateful_step_count=25)
TestStoreLaws = StoreLaws.TestCase
