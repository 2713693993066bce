"""When the steps of a log were made, and where in time a window of it begins and ends."""

from __future__ import annotations

import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError
from goalbound.logs.tables import Values
from goalbound.logs.values import Times, read_times


class LogTimes(NamedTuple):
    """When K steps were made.

    Attributes:
        values: [K] numbers as the column has them, or dates as ``datetime64[us]``, in UTC where they have a zone.
        zoned: whether they are dates with a zone.
    """

    values: NDArray[Any]
    zoned: bool

    def place(self, time: Any, name: str) -> Any:
        """A time of the user's, such as ``"2026-03-01"``, to be compared with those of the log."""
        dates = self.values.dtype.kind == "M"
        first = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC if self.zoned else None) if dates else 0
        found = read_times([first, time])
        if not found.known[1]:
            raise ArgumentError(f"{name}: {found.reason(1)}")
        return np.datetime64(int(found.values[1]), "us") if dates else found.values[1]


def times_of(column: Values, times: Times) -> LogTimes:
    """Of a column that was read; rows whose time is not known have any.

    >>> column = ["2026-03-01T12:00+01:00"]
    >>> times_of(column, read_times(column))
    LogTimes(values=array(['2026-03-01T11:00:00.000000'], dtype='datetime64[us]'), zoned=True)
    """
    values = times.values
    if values.dtype.kind == "M":
        return LogTimes(values.astype("datetime64[us]"), zoned=False)
    place = int(np.argmax(times.known))
    if not len(times.known) or not times.known[place] or isinstance(column, np.ndarray):
        return LogTimes(values, zoned=False)
    for zone in (None, datetime.UTC):
        if read_times([datetime.datetime(1970, 1, 1, tzinfo=zone), column[place]]).known[1]:
            return LogTimes(values.astype("datetime64[us]"), zoned=zone is not None)
    return LogTimes(values, zoned=False)
