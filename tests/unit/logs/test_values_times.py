"""When steps were made: as the column has it, and where a window begins and ends."""

import datetime

import numpy as np
import pytest

from goalbound.logs.tables import as_column
from goalbound.logs.values import read_times

NOON = "2026-03-01T12:00:00"


@pytest.mark.parametrize(
    ("column", "zoned", "first"),
    [
        ([3, 4], False, 3),
        (["3", "4.5"], False, 3.0),
        (np.array([3.5, 4.0]), False, 3.5),
        ([NOON, NOON], False, np.datetime64(NOON)),
        ([f"{NOON}+02:00", f"{NOON}Z"], True, np.datetime64("2026-03-01T10:00:00")),
        (np.array([NOON], dtype="datetime64[ns]"), False, np.datetime64(NOON)),
        ([datetime.date(2026, 3, 1)], False, np.datetime64("2026-03-01")),
        (["", NOON], False, None),
    ],
)
def test_times_are_those_of_the_column(column, zoned, first):
    found = read_times(as_column(column)).of_log()
    assert found.zoned is zoned
    if first is None:
        assert found.values[1] == np.datetime64(NOON)
    else:
        assert found.values[0] == first


def test_a_time_of_the_users_is_of_the_kind_of_the_column():
    numbers, dates, zoned = (
        read_times(as_column(column)).of_log() for column in ([3, 4], [NOON], [f"{NOON}+01:00"])
    )  # fmt: skip
    assert numbers.place("3.5", "since") == numbers.place(3.5, "since") == 3.5
    assert dates.place("2026-03-01", "since") == np.datetime64("2026-03-01")
    assert dates.place(datetime.datetime(2026, 3, 1, 12), "since") == np.datetime64(NOON)
    assert zoned.place(f"{NOON}Z", "until") == np.datetime64(NOON)
    for times, time in ((numbers, "2026-03-01"), (dates, 7), (dates, f"{NOON}Z"), (zoned, NOON), (dates, "soon")):
        with pytest.raises(ValueError, match="since: "):
            times.place(time, "since")
