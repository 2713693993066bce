"""Messages that come twice, in another order, or that mean harm; and clocks that jump."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any
from unittest import mock

from faults.result import Result
from faults.world import CONTEXT, NAME, new_store, outcome
from goalbound.errors import CaseError
from goalbound.serve.service.app import Service
from goalbound.serve.store import Store
from goalbound.serve.store.events import Event


def clock(folder: Path, *, steps: int) -> Result:
    """Clocks that jump by days, backwards too: the same actions and the same state as with a clock that goes on."""
    result = Result("clock jumps")
    real, rng = time.time_ns, random.Random(0)

    def jumping() -> int:
        return real() + rng.randint(-30, 30) * 86_400 * 10**9

    jumps = mock.patch("goalbound.serve.store.engine.time.time_ns", jumping)
    found = []
    for name, patch in (("straight", None), ("jumping", jumps)):
        with new_store(folder / name) as store:
            if patch is not None:
                patch.start()
            _some_steps(store, steps)
            if patch is not None:
                patch.stop()
            found.append((store.digest()["state"], [_content(event) for event in store.events(limit=10**6)]))
    result.counts["steps"] = steps
    result.check(found[0] == found[1], "the clock made a difference")
    return result


def _some_steps(store: Store, steps: int) -> None:
    cases = store.learner(NAME)
    for number in range(steps):
        id = f"c{number % 5}"
        if number < 5:
            cases.begin(CONTEXT, 0, id=id)
        else:
            loss, _ = outcome(id, number)
            cases.observe(id, loss, number % 3)


def _content(event: Event) -> tuple[Any, ...]:
    """All of an event but when it was."""
    return event._replace(time=0, chain=b"")


def duplicates(folder: Path, *, requests: int) -> Result:
    """Every request is sent one to five times, late and out of order: the log is that of sending each once."""
    result, rng = Result("duplicates"), random.Random(0)
    cases, length = max(4, requests // 60), 20
    plan = [(f"c{case}", step) for step in range(length) for case in range(cases)][: requests // 3]
    logs = []
    for name, times in (("once", False), ("often", True)):
        with new_store(folder / name) as store:
            sent = _storm(store, plan, rng if times else None)
            logs.append([_content(event) for event in store.events(limit=10**7)])
        result.add("requests", sent)
    result.check(logs[0] == logs[1], "the log is another one")
    result.counts["events"] = len(logs[0])
    return result


def _storm(store: Store, plan: list[tuple[str, int]], rng: random.Random | None) -> int:
    """Send the plan; with a generator, each request up to five times, the copies whenever. How many were sent."""
    sent, late = 0, []
    engine_calls = []

    def send(case: str, step: int) -> None:
        nonlocal sent
        sent += 1
        if step == 0:
            engine_calls.append(lambda engine: engine.begin(NAME, CONTEXT, 0, id=case))
        else:
            loss, _ = outcome(case, step)
            engine_calls.append(lambda engine: engine.observe(NAME, case, loss, step % 3, step=step))

    for case, step in plan:
        send(case, step)
        if rng is not None:
            late += [(case, step)] * rng.randrange(5)
            rng.shuffle(late)
            while len(late) > 50:
                send(*late.pop())
    for one in late:
        send(*one)
    for first in range(0, len(engine_calls), 200):
        part = engine_calls[first : first + 200]
        store.writer.call(lambda engine, part=part: [_result(call, engine) for call in part])
    return sent


def _result(call: Any, engine: Any) -> Any:
    try:
        return call(engine)
    except CaseError as error:
        return error


def hostile(folder: Path, *, examples: int) -> Result:
    """Requests that schemathesis makes up from the OpenAPI description: no answer is a 5xx or an undocumented one."""
    result = Result("made-up requests")
    try:
        import schemathesis
        from hypothesis import HealthCheck, Phase, settings
    except ImportError:
        result.skipped = "schemathesis is not installed"
        return result
    with new_store(folder / "store") as store:
        app = Service(store)
        schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers={"Host": "localhost"})
        known = schemathesis.checks
        checks = (known.not_a_server_error, known.status_code_conformance, known.content_type_conformance,
                  known.response_schema_conformance)  # fmt: skip
        for operation in schema.get_all_operations():
            one = operation.ok()

            @settings(max_examples=examples, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
                      suppress_health_check=list(HealthCheck))  # fmt: skip
            @_given(one)
            def ask(case: Any) -> None:
                answer = case.call(headers={"Host": "localhost"})
                result.add("requests")
                result.add(f"answers {answer.status_code // 100}xx")
                case.validate_response(answer, checks=list(checks))

            try:
                ask()
            except Exception as error:
                result.check(False, f"{one.method.upper()} {one.path}: {str(error)[:400]}")
        result.check(store.writer.alive, "the writer has stopped")
    return result


def _given(operation: Any) -> Any:
    from hypothesis import given

    return given(case=operation.as_strategy())
