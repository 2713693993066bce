"""Data frames, with pandas and without it."""

import sys

import numpy as np
import pandas as pd
import pyarrow
import pytest

from goalbound.errors import InputError
from goalbound.frames import arrow_table, data_frame, from_arrow

COLUMNS = {"state": ["sick", "well"], "value": np.array([0.5, 0.0])}


def test_a_frame_is_of_pandas_where_it_is_installed_and_of_arrow_where_that_is_asked_for():
    frame, table = data_frame(COLUMNS), data_frame(COLUMNS, arrow=True)
    assert isinstance(frame, pd.DataFrame)
    assert isinstance(table, pyarrow.Table)
    assert frame.to_dict("list") == table.to_pydict() == {"state": ["sick", "well"], "value": [0.5, 0.0]}
    assert isinstance(from_arrow(table), pd.DataFrame)
    assert from_arrow(table, arrow=True) is table


def test_without_pandas_a_frame_is_a_table_of_arrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = arrow_table(COLUMNS)
    assert data_frame(COLUMNS).equals(table)
    assert from_arrow(table) is table


def test_without_both_the_error_says_how_to_install_one(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"needs pandas or pyarrow: .*pip install .*\[pandas\].*\[experiments\]"):
        data_frame(COLUMNS)
