"""Small forms of ``make faults``: nothing that was acknowledged is lost, and no action is another one."""

import shutil
from functools import partial

import pytest

from faults import disk, leaders, messages, power, processes
from faults.__main__ import PARTS
from faults.postgres import missing
from tests.support.required import absent

SMALL = {
    "kill": partial(processes.kill, cycles=2, programs=4),
    "leaders": partial(leaders.leaders, cycles=1, kills=1, takeovers=1),
    "power": partial(power.power_loss, steps=25, images=48),
    "full": partial(disk.full, cycles=1),
    "failing": partial(disk.failing, calls=2),
    "flips": partial(disk.flips, cases=12),
    "clock": partial(messages.clock, steps=40),
    "duplicates": partial(messages.duplicates, requests=300),
    "hostile": partial(messages.hostile, examples=1),
}


@pytest.mark.parametrize("name", SMALL)
def test_nothing_is_lost_and_nothing_is_wrong(name, tmp_path):
    if name in ("power", "failing") and shutil.which("strace") is None:
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
