"""Tables of all kinds give the same columns; files that are none are one clear error."""

from __future__ import annotations

import gzip
import sys

import numpy as np
import pytest

from goalbound.errors import FileFormatError, InputError
from goalbound.logs.tables import read_table
from goalbound.logs.values import cells_of

NAMES = ("case", "loss")
COLUMNS = {"case": ["a", "b", "c"], "loss": [0.5, 0.25, 1.0], "other": [1, 2, 3]}


def plain(table) -> dict[str, list]:
    return {name: cells_of(values) for name, values in table.columns.items()}


EXPECTED = {"case": ["a", "b", "c"], "loss": [0.5, 0.25, 1.0]}


def test_dicts_records_and_structured_arrays_are_tables():
    records = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
    structured = np.array([("a", 0.5), ("b", 0.25), ("c", 1.0)], dtype=[("case", "U1"), ("loss", "f8")])
    arrays = {"case": np.array(COLUMNS["case"]), "loss": np.ma.array(COLUMNS["loss"])}
    for source in (COLUMNS, records, tuple(records), structured, arrays):
        assert plain(read_table(source, NAMES)) == EXPECTED
    masked = {"case": ["a", "b"], "loss": np.ma.array([0.5, 1.0], mask=[False, True])}
    assert read_table(masked, NAMES).columns["loss"] == [0.5, None]


class OnlyStream:
    """A table of a library that we do not know, by Arrow's protocol."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_arrow_tables_and_whatever_has_a_protocol_are_tables():
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(COLUMNS)
    words = table.set_column(0, "case", table["case"].dictionary_encode())
    for source in (
        table, table.to_batches()[0], OnlyStream(table), words,
        pyarrow.RecordBatchReader.from_batches(table.schema, table.to_batches()),
    ):  # fmt: skip
        assert plain(read_table(source, NAMES)) == EXPECTED


def test_nulls_of_arrow_are_missing():
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"case": ["a", None], "loss": [0.5, None]})
    found = plain(read_table(table, NAMES))
    assert found["case"] == ["a", None]
    assert found["loss"] == [0.5, None]


def test_pandas_frames_are_tables():
    pandas = pytest.importorskip("pandas", reason="pandas is no dependency; its frames are read where it is installed")
    assert plain(read_table(pandas.DataFrame(COLUMNS), NAMES)) == EXPECTED


def test_polars_frames_are_tables():
    polars = pytest.importorskip("polars", reason="polars is no dependency; its frames are read where it is installed")
    assert plain(read_table(polars.DataFrame(COLUMNS), NAMES)) == EXPECTED


def test_without_pyarrow_the_error_says_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "log.parquet"
    path.write_bytes(b"PAR1...")
    for source in (path, COLUMNS):
        with pytest.raises(InputError, match=r"this needs pyarrow: .*pip install .*\[experiments\]"):
            read_table(source, NAMES)


def test_parquet_files_are_tables_and_damaged_ones_are_an_error(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "log"
    parquet.write_table(pyarrow.table(COLUMNS), path)
    table = read_table(path, NAMES)
    assert plain(table) == EXPECTED
    assert table.lines is None
    with pytest.raises(FileFormatError, match=r"log: there is no column 'hour'; there are 'case', 'loss', 'other'"):
        read_table(path, ("case", "hour"))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FileFormatError, match="damaged Parquet file"):
        read_table(path, NAMES)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_csv_files_with_the_usual_delimiters_are_tables(tmp_path, delimiter, mark):
    path = tmp_path / "log.csv"
    path.write_text(mark + delimiter.join(NAMES) + "\r\n" + f'"a\nb"{delimiter}0.5\r\n\r\nc{delimiter}1', "utf-8")
    table = read_table(str(path), NAMES)
    assert plain(table) == {"case": ["a\nb", "c"], "loss": ["0.5", "1"]}
    assert table.lines.tolist() == [2, 5]  # a cell of two lines, and a blank line
    (tmp_path / "log.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert plain(read_table(tmp_path / "log.csv.gz", NAMES)) == plain(table)


def test_rows_with_too_few_or_too_many_cells_are_told_by_their_number(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("case,loss\na,1\nb\nc,1,2\n")
    table = read_table(path, NAMES)
    assert sorted(table.ragged) == [1, 2]
    assert "1 cells, and the header has 2" in table.ragged[1]
    assert plain(table)["case"] == ["a", None, None]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"\n \n", "the file is empty"),
        ("case,loss\na,1\n".encode("utf-16"), "UTF-16; save it as CSV in UTF-8"),
        (b"case,loss\na,1\nb\xe9,2\n", "line 3: the byte 0xe9 is not UTF-8"),
        (b"case,loss\na,\x001\n", "line 2: a zero byte"),
        (b"PK\x03\x04rest", "a zip file, perhaps a workbook"),
        (b"case,minutes\na,1\n", "there is no column 'loss'; there are 'case', 'minutes'"),
        (b"case,loss,loss\na,1,2\n", "the column 'loss' is there 2 times"),
        (b'case,loss\na,"1\nb,2\n', "line 2: not CSV"),
        (b"case,loss\na," + b"9" * 10**6 + b"\n", "line 2: a cell has more than 131072 characters"),
        (b"\x1f\x8b\x08nonsense", "damaged log file"),
    ],
)
def test_a_file_that_is_no_table_is_one_clear_error_with_its_name(tmp_path, content, message):
    path = tmp_path / "log.csv"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=message) as caught:
        read_table(path, NAMES)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 400


def test_what_is_not_there_or_no_file_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "nothing.csv", NAMES)
    with pytest.raises(FileFormatError, match="a directory"):
        read_table(tmp_path, NAMES)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (None, "the table is None; give a pandas"),
        (3, "the table is of the type int"),
        (dict, "the table is <class 'dict'>"),
        (np.zeros((2, 2)), "the table is of the type ndarray"),
        ([{"case": 1}], "row 0 has no column 'loss'; there are 'case'"),
        ([[1, 2]], r"row 0 of the table is \[1, 2\]"),
        ({"case": [1], "loss": [1, 2]}, "different lengths: 'case' 1, 'loss' 2"),
        ({"case": "abc", "loss": [1, 2, 3]}, "a column of the table is 'abc'"),
        ({"case": np.zeros((2, 2)), "loss": [1, 2]}, r"shape \(2, 2\)"),
        ({"case": 3, "loss": [1]}, "a column of the table is 3"),
    ],
)
def test_what_is_no_table_is_an_error_that_says_what_is_one(source, message):
    with pytest.raises(InputError, match=message):
        read_table(source, NAMES)
