"""Small files that would fill memory are refused before they do; what they hold is counted while it is read."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from goalbound.errors import FileFormatError, InputError
from goalbound.logs import read_log
from goalbound.logs.tables import read_table
from goalbound.logs.values import cells_of

NAMES = ("case", "time", "state", "action", "loss", "next_state")
MIB = 2**20
READ = """
import resource, sys
import pyarrow, pyarrow.parquet
from goalbound.errors import FileFormatError
from goalbound.logs import read_log
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read_log(sys.argv[1])
except FileFormatError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def refusal(path: Path) -> tuple[str, int]:
    """What a process of its own says of a log, and how many MiB reading it took at most."""
    done = subprocess.run(
        [sys.executable, "-c", READ, path], capture_output=True, text=True, timeout=120, env=os.environ, check=True
    )
    *said, memory = done.stdout.splitlines()
    return "\n".join(said), int(memory)


def words(rows: int, word: str) -> pyarrow.DictionaryArray:
    return pyarrow.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int32), [word])


def repeated(rows: int, state: str = "s") -> pyarrow.Table:
    ones = np.ones(rows, dtype=np.int64)
    cells = (ones, ones, words(rows, state), words(rows, "a"), np.full(rows, 0.5), words(rows, "goal"))
    return pyarrow.table(dict(zip(NAMES, cells, strict=True)))


def test_a_parquet_file_of_many_equal_rows_is_refused_and_takes_no_memory(tmp_path: Path) -> None:
    path, part = tmp_path / "log.parquet", repeated(10**6)
    with parquet.ParquetWriter(path, part.schema, compression="zstd", store_schema=False) as writer:
        for _ in range(30):  # 30 million rows of 48 bytes are 1.4 GB
            writer.write_table(part)
    assert path.stat().st_size < MIB
    said, memory = refusal(path)
    assert f"{path}: 30000000 rows in {path.stat().st_size} bytes" in said
    assert "the limit is 1000000" in said
    assert "pyarrow.parquet.read_table" in said
    assert memory < 100


def test_a_long_text_of_a_dictionary_is_in_memory_once(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    parquet.write_table(repeated(1000, "x" * 2 * MIB), path, compression="zstd", store_schema=False)  # 2 GB as texts
    said, memory = refusal(path)
    assert "has 2097152 characters; a name has at most 200" in said
    assert memory < 100


def test_a_dictionary_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    parquet.write_table(repeated(10, "x" * 80 * MIB), path, compression="zstd", store_schema=False)
    said, memory = refusal(path)
    assert f"{path}: " in said
    assert "the limit is 67108864" in said
    assert memory < 100


def test_texts_that_are_told_by_the_text_before_are_refused(tmp_path: Path) -> None:
    path, table = tmp_path / "log.parquet", pyarrow.table({"case": ["x" * MIB + str(row) for row in range(70)]})
    parquet.write_table(table, path, use_dictionary=False, column_encoding={"case": "DELTA_BYTE_ARRAY"})
    with pytest.raises(FileFormatError, match=r"log.parquet: .*a way that is not read.*save it again"):
        read_table(path, ("case",))


@pytest.mark.parametrize(
    "column",
    [
        pyarrow.array([[1, 2], [3]]),
        pyarrow.array([{"a": 1}, {"a": 2}]),
        pyarrow.array([b"ab", b"cd"], type=pyarrow.binary(2)),
        pyarrow.array([b"ab", b"cd"]),
        pyarrow.array([b"ab", b"cd"], type=pyarrow.large_binary()),
        pyarrow.array([["a"], None], type=pyarrow.list_(pyarrow.string())),
    ],
    ids=lambda column: str(column.type),
)
def test_a_column_of_lists_or_bytes_is_named_before_it_is_read(tmp_path: Path, column: pyarrow.Array) -> None:
    path = tmp_path / "log.parquet"
    parquet.write_table(pyarrow.table({"case": column}), path)
    with pytest.raises(FileFormatError, match=r"log.parquet: the column 'case' holds .*needs one number, text or date"):
        read_table(path, ("case",))


def test_rows_of_all_batches_are_read_in_their_order(tmp_path: Path) -> None:
    path, rows = tmp_path / "log.parquet", 200_000
    cases = [f"case {row // 3}" if row % 7 else None for row in range(rows)]
    losses = np.random.default_rng(0).random(rows)
    for settings in ({}, {"use_dictionary": False, "row_group_size": 70_000}, {"store_schema": False}):
        table = pyarrow.table({"case": pyarrow.array(cases).dictionary_encode(), "loss": losses, "n": range(rows)})
        parquet.write_table(table, path, **settings)
        read = read_table(path, ("case", "loss", "n"))
        assert cells_of(read.columns["case"]) == cases
        assert np.array_equal(read.columns["loss"], losses)
        assert np.array_equal(read.columns["n"], np.arange(rows))


@pytest.mark.parametrize("line", ["\n1", "1,2\n"], ids=["too few cells", "equal rows"])
def test_a_compressed_csv_of_many_rows_is_refused_and_takes_little_memory(tmp_path: Path, line: str) -> None:
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress((",".join(NAMES) + "\n" + line * (24 * MIB // len(line))).encode()))
    said, memory = refusal(path)
    assert f"{path}: 1000001 rows in {path.stat().st_size} bytes" in said
    assert "unpack it first" in said
    assert memory < 350  # 24 MiB of text, as bytes, letters and lines


LOG = pyarrow.table({
    "case": ["a", "a", "b"], "time": [1, 2, 3], "state": ["s", "t", "s"], "action": ["x", "y", "x"],
    "loss": [0.1, 0.2, 0.3], "next_state": ["t", "goal", "goal"],
})  # fmt: skip


def test_a_text_that_is_not_utf8_is_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    for settings in ({}, {"use_dictionary": False}):
        parquet.write_table(LOG, path, compression="none", write_statistics=False, **settings)
        path.write_bytes(path.read_bytes().replace(b"goal", b"go\xffl"))
        with pytest.raises(FileFormatError, match=r"log.parquet: damaged Parquet file .*; save it again"):
            read_log(path)
    texts = pyarrow.StringArray.from_buffers(
        1, *(pyarrow.py_buffer(part) for part in (bytes(4) + b"\1\0\0\0", b"\xff"))
    )
    with pytest.raises(InputError, match="a column of the table could not be read"):
        read_log(LOG.slice(0, 1).set_column(5, "next_state", texts))


@pytest.mark.parametrize(
    "settings", [{}, {"compression": "zstd", "use_dictionary": False, "write_page_checksum": True}]
)
@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_a_damaged_parquet_file_is_a_log_or_an_error_with_its_name(tmp_path: Path, settings: dict, mask: int) -> None:
    path = tmp_path / "log.parquet"
    parquet.write_table(LOG, path, **settings)
    whole = path.read_bytes()
    cut = [whole[:length] for length in range(mask % 23, len(whole), 23)]
    flipped = [
        whole[:place] + bytes([whole[place] ^ mask]) + whole[place + 1 :] for place in range(mask % 5, len(whole), 5)
    ]
    for data in cut + flipped:
        path.write_bytes(data)
        try:
            assert len(read_log(path)) == 3
        except FileFormatError as error:
            assert str(path) in str(error)  # noqa: PT017
