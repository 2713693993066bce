"""Small forms of ``make faults``: nothing that was acknowledged is lost, and no action is another one."""

import shutil
from functools import partial

import pytest

from faults import bombs, disk, leaders, messages, moments, power, processes, resume, short_writes, states
from faults.__main__ import PARTS
from faults.postgres import missing
from faults.result import Result
from faults.soak import Seen, growth
from faults.world import CONTEXT, NAME, Acknowledged, check_against_log, check_told, new_store
from goalbound.serve.store.engine import Engine
from tests.support.required import absent

SMALL = {
    "kill": partial(processes.kill, cycles=2, programs=4),
    "leaders": partial(leaders.leaders, cycles=1, kills=1, takeovers=1),
    "moments": partial(moments.kill_at, times=1),
    "power": partial(power.power_loss, steps=25, images=48),
    "full": partial(disk.full, cycles=1),
    "failing": partial(disk.failing, calls=2),
    "short": partial(short_writes.short_writes, runs=2),
    "flips": partial(disk.flips, cases=12),
    "clock": partial(messages.clock, steps=40),
    "duplicates": partial(messages.duplicates, requests=300),
    "resume": partial(resume.resume, seeds=2, steps=60),
    "hostile": partial(messages.hostile, examples=1),
    "bombs": partial(bombs.bombs, times=1),
}


@pytest.mark.parametrize("name", SMALL)
def test_nothing_is_lost_and_nothing_is_wrong(name, tmp_path):
    if name in ("power", "failing", "moments") and shutil.which("strace") is None:
        pytest.skip("there is no strace")
    if name == "leaders" and missing() is not None:
        absent(missing())
    result = SMALL[name](tmp_path)
    assert result.held, str(result)
    assert not result.skipped
    assert result.counts  # it did something
    assert result.counts.get("lost", 0) == 0


def test_every_part_has_a_small_and_a_full_size():
    assert set(SMALL) <= set(PARTS)
    for part, small, full in PARTS.values():
        assert callable(part)
        assert set(small) <= set(full)


def test_a_step_that_was_told_and_is_not_in_the_log_is_found(tmp_path):
    store, told = tmp_path / "store", Acknowledged()
    with new_store(store) as opened:
        answer = opened.learner(NAME).begin(CONTEXT, 0, id="a")._asdict()
    for changed in ({}, {"step": 1}, {"action": 1 - answer["action"]}):
        told.note(answer | changed)
    result = Result("found")
    check_against_log(result, store, told)
    assert (result.counts["lost"], result.counts["wrong actions"], result.held) == (1, 1, False)
    other = Result("found")
    check_told(other, store, [answer["seq"], 99])
    assert (other.counts["lost"], other.held) == (1, False)


def test_a_store_that_does_other_things_than_the_model_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(Engine, "commit", Engine._forget_uncommitted)  # nothing is written
    assert not states.states(tmp_path, examples=40, steps=20).held


def test_memory_that_grows_is_told_from_memory_that_is_used_for_a_moment():
    leaking = [Seen(60.0 * at, 100.0 + at / 10, 9) for at in range(60)]
    busy = [Seen(60.0 * at, 100.0 + 30.0 * (at % 4 == 0), 9) for at in range(60)]
    assert growth(leaking)[0] == pytest.approx(6.0)
    assert growth(busy) == pytest.approx((0.0, 0.0), abs=1e-9)
