"""Data frames: the only importer of pandas. Without pandas, or where it is asked for, tables of Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from goalbound.errors import ArgumentError
from goalbound.extras import install_command


def data_frame(columns: Mapping[str, Any], *, arrow: bool = False) -> Any:
    """A data frame of columns of equal length: of pandas if it is installed, else a table of Arrow.

    Args:
        columns: by name; arrays or lists.
        arrow: whether it is to be a ``pyarrow.Table`` although pandas is there.

    Raises:
        ArgumentError: neither library is installed; the message has the command that installs one.

    >>> data_frame({"state": ["sick"], "value": [0.5]}, arrow=True).to_pylist()
    [{'state': 'sick', 'value': 0.5}]
    """
    if not arrow:
        try:
            import pandas
        except ImportError:
            pass
        else:
            return pandas.DataFrame(dict(columns))
    return arrow_table(columns)


def arrow_table(columns: Mapping[str, Any]) -> Any:
    """A ``pyarrow.Table`` of columns."""
    try:
        import pyarrow
    except ImportError:
        raise ArgumentError(
            f"a data frame needs pandas or pyarrow: {install_command('pandas')}, or {install_command('experiments')}"
        ) from None
    return pyarrow.table(dict(columns))


def from_arrow(table: Any, *, arrow: bool = False) -> Any:
    """A table of Arrow as a data frame of pandas if it is installed and not declined; else the table itself."""
    if arrow:
        return table
    try:
        import pandas  # noqa: F401
    except ImportError:
        return table
    return table.to_pandas()
