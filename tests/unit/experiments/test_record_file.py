"""The file of a record: the same bytes for the same record, and no damage that reads as a number."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from goalbound.errors import FileFormatError, InputError
from goalbound.experiments import record_file
from goalbound.experiments.columns import RUN_COLUMNS, schema
from goalbound.experiments.record_file import read_record, record_bytes, write_record
from goalbound.experiments.records import RunRecord
from tests.support import synthetic

ROOT = Path(__file__).parents[3]
SPEC = synthetic.run_spec("lerner ä", episodes=40, seed=3)
RECORD = synthetic.record(SPEC, synthetic.power(0.7, 0.5), metadata={"diagnosis": synthetic.diagnosis()})
BYTES = record_bytes(RECORD)


def same(one: RunRecord, two: RunRecord) -> bool:
    tables = all(np.array_equal(one.table[name], two.table[name]) for name in schema())
    return tables and one.metadata == two.metadata and one.spec.as_json() == two.spec.as_json()


def read(data: bytes, folder: Path) -> RunRecord:
    path = folder / "run.parquet"
    path.write_bytes(data)
    return read_record(path)


def test_what_is_written_is_read_back_to_the_bit(tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    write_record(path, RECORD)
    found = read_record(path)
    assert same(found, RECORD)
    assert found.spec == SPEC
    assert found.spec.group == SPEC.group  # labels too
    assert [found.table[name].dtype for name in schema()] == list(schema().values())
    assert not any(column.flags.writeable for column in found.table.values())
    assert path.read_bytes() == BYTES
    assert list(tmp_path.iterdir()) == [path]


def test_the_same_record_gives_the_same_bytes_in_another_process() -> None:
    code = (
        "import hashlib\n"
        "from tests.support import synthetic\n"
        "from goalbound.experiments.record_file import record_bytes\n"
        "spec = synthetic.run_spec('lerner ä', episodes=40, seed=3)\n"
        "record = synthetic.record(spec, synthetic.power(0.7, 0.5), metadata={'diagnosis': synthetic.diagnosis()})\n"
        "print(hashlib.sha256(record_bytes(record)).hexdigest())\n"
    )
    settings = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "PYTHONIOENCODING": "utf-8"}
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=settings, check=True, capture_output=True)
    assert ended.stdout.decode().strip() == hashlib.sha256(BYTES).hexdigest()


def test_any_reader_of_parquet_sees_the_columns_and_the_facts(tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    path.write_bytes(BYTES)
    table = parquet.read_table(path)
    assert table.column_names == ["problem", "contexts", "learner", "run", "seed", *schema()]
    for column in RUN_COLUMNS:
        assert table.column(column.name).to_pylist() == 40 * [column.of(SPEC)]
    assert pyarrow.types.is_dictionary(table.schema.field("learner").type)
    assert table.column("episode").to_pylist() == list(range(1, 41))
    assert table.column("steps").to_pylist() == [3 * episode for episode in range(1, 41)]
    assert table.column("expected_regret").to_pylist() == (0.7 * np.arange(1, 41) ** 0.5).tolist()
    said = json.loads(parquet.read_metadata(path).metadata[b"goalbound"])
    assert said["metadata"]["totals"]["episodes"] == 40
    assert said["spec"]["learner"]["use"] == "tests:lerner ä"


def test_a_file_that_is_cut_short_is_refused_at_every_length(tmp_path: Path) -> None:
    for length in [*range(64), *range(64, len(BYTES) - 64, 97), *range(len(BYTES) - 64, len(BYTES))]:
        with pytest.raises(FileFormatError, match=r"run\.parquet: "):
            read(BYTES[:length], tmp_path)


@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_a_flipped_byte_is_refused_or_changes_nothing(mask: int, tmp_path: Path) -> None:
    refused = 0
    places = range(mask % 11, len(BYTES), 11)
    for place in places:
        damaged = bytearray(BYTES)
        damaged[place] ^= mask
        try:
            found = read(bytes(damaged), tmp_path)
        except FileFormatError as error:
            assert "run.parquet: " in str(error)  # noqa: PT017
            refused += 1
        else:
            assert same(found, RECORD), place
    assert refused > 0.8 * len(places)


def test_noise_and_files_of_others_are_refused(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).bytes(500)
    for data in (b"", b"hello", noise, b"PAR1" + noise + b"PAR1", b"PK\3\4" + noise):
        with pytest.raises(FileFormatError, match=r"run\.parquet: "):
            read(data, tmp_path)
    path = tmp_path / "foreign.parquet"
    parquet.write_table(pyarrow.table({"episode": [1, 2], "loss": [0.1, 0.2]}), path)
    with pytest.raises(FileFormatError, match=r"foreign\.parquet: this Parquet file is not a goalbound record"):
        read_record(path)


def test_a_failed_write_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.parquet"
    path.write_bytes(b"before")

    def full(*_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no room"):
        write_record(path, RECORD)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def forged(said: dict[str, Any] | bytes, table: dict[str, Any] | None = None, *, schema: Any = None) -> bytes:
    """A file with a checksum that holds, of whatever content."""
    columns = RECORD.table if table is None else table
    data = said if isinstance(said, bytes) else json.dumps(said).encode()
    sink = pyarrow.BufferOutputStream()
    wanted = record_file._schema() if schema is None else schema
    content = pyarrow.table(about(len(columns["episode"])) | columns)
    content = content.select(wanted.names).cast(wanted)
    texts = [column.name for column in RUN_COLUMNS if column.is_text]
    with parquet.ParquetWriter(sink, content.schema, use_dictionary=texts, write_statistics=False) as writer:
        writer.write_table(content)
        writer.add_key_value_metadata(
            {record_file.KEY: data, record_file.DIGEST: record_file._digest(data, RECORD.table | columns)}
        )
    return sink.getvalue().to_pybytes()


def about(rows: int, **changes: Any) -> dict[str, Any]:
    """The columns that say of which run the rows are."""
    values = {column.name: column.of(SPEC) for column in RUN_COLUMNS} | changes
    return {name: record_file._repeated(value, rows) for name, value in values.items()}


HEADER = {**record_file._FORMAT, "spec": SPEC.as_json(), "metadata": RECORD.metadata}


def changed(place: str, value: Any) -> dict[str, Any]:
    said = json.loads(json.dumps(HEADER))
    inside = said
    *way, last = place.split(".")
    for key in way:
        inside = inside[key]
    inside[last] = value
    return said


def test_a_forged_file_is_read_where_nothing_is_wrong(tmp_path: Path) -> None:
    assert same(read(forged(HEADER), tmp_path), RECORD)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            changed("version", 2),
            "this record has version 2, and this goalbound reads version 3; run the experiment again",
        ),
        (changed("kind", "Other"), "the metadata says"),
        (changed("spec.seed", 4), r"run is \['[0-9a-f]{16}'\] in the rows; the spec in the file has"),
        (changed("spec.episodes", 41), "41 episodes have 41"),
        (changed("spec.episodes", 0), "at least one"),
        (changed("spec.episodes", 10**30), "at most"),
        (changed("spec.episodes", "many"), "not a run of an experiment"),
        (changed("spec.problem", 3), "not a run of an experiment"),
        (changed("spec.labels", []), "not objects"),
        (changed("spec", []), "not objects"),
        (changed("metadata", 1), "not objects"),
        (changed("metadata.totals.steps", 1), "the last row says"),
        (changed("metadata.totals", None), "totals"),
        (changed("metadata.more", 1), "the metadata keys are"),
        (changed("metadata.provenance.id", "0" * 16), "the record is of run"),
        (b"{", "not JSON"),
        (b"[1]", "not a JSON object"),
        (json.dumps(HEADER).replace("0.1", "NaN", 1).encode(), "NaN"),
        (b"[" * 100_000, "deep|JSON"),
    ],
)
def test_metadata_that_does_not_fit_is_refused(said: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=rf"run\.parquet: .*({message})"):
        read(forged(said), tmp_path)


def with_column(name: str, row: int, value: Any) -> dict[str, Any]:
    table = {key: column.copy() for key, column in RECORD.table.items()}
    table[name][row] = value
    return table


@pytest.mark.parametrize(
    ("name", "row", "value", "message"),
    [
        ("loss", 5, np.nan, r"loss\[5\] is nan"),
        ("optimal_loss", 39, np.inf, r"optimal_loss\[39\] is inf"),
        ("expected_regret", 7, 0.0, r"expected_regret\[7\] is 0.0; sums are numbers that do not fall"),
        ("steps", 0, -1, r"steps\[0\] is -1"),
        ("intervals", 39, 3, r"intervals\[39\] is 3"),
        ("episode", 0, 0, "not those that a run of 40 episodes keeps"),
        ("abandoned", 39, 41, r"abandoned\[39\] is 41, more than episode\[39\] = 40"),
        ("unknown_steps", 39, 500, r"unknown_steps\[39\] is 500, more than steps\[39\] = 120"),
    ],
)
def test_numbers_that_cannot_be_are_refused_in_files_and_in_memory(
    name: str, row: int, value: Any, message: str, tmp_path: Path
) -> None:
    table = with_column(name, row, value)
    with pytest.raises(InputError, match=message):
        replace(RECORD, table=table)
    with pytest.raises(FileFormatError, match=rf"run\.parquet: .*{message}"):
        read(forged(HEADER, table), tmp_path)


def test_columns_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    table = dict(RECORD.table)
    short = {name: column[:-1] for name, column in table.items()}
    with pytest.raises(FileFormatError, match="there are 39 rows; 40 episodes have 40"):
        read(forged(HEADER, short), tmp_path)
    narrow = pyarrow.schema([pyarrow.field(name, pyarrow.float32(), nullable=False) for name in schema()])
    with pytest.raises(FileFormatError, match=r"the columns are episode: float, .*they need to be problem: text, "):
        read(forged(HEADER, table, schema=narrow), tmp_path)
    optional = pyarrow.schema([pyarrow.field(one.name, one.type) for one in record_file._schema()])
    with pytest.raises(FileFormatError, match="or null"):
        read(forged(HEADER, table, schema=optional), tmp_path)
    with pytest.raises(InputError, match="the columns are"):
        replace(RECORD, table={"episode": table["episode"]})
    with pytest.raises(InputError, match="steps is float64"):
        replace(RECORD, table={**table, "steps": table["steps"].astype(float)})


def test_a_number_that_was_edited_is_refused(tmp_path: Path) -> None:
    table = with_column("expected_regret", 39, 100.0)
    data = bytearray(forged(HEADER, table))
    digest = record_file._digest(json.dumps(HEADER).encode(), table)
    place = data.find(digest)
    data[place : place + len(digest)] = record_file._digest(json.dumps(HEADER).encode(), dict(RECORD.table))
    with pytest.raises(FileFormatError, match="checksum"):
        read(bytes(data), tmp_path)


def test_a_page_that_claims_to_unpack_to_more_than_its_rows_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    honest = b"\x15\0\x15\x80\x05\x15"  # 40 rows of 8 bytes: 320, twice that is 640 = 5 x 128 + 0
    assert BYTES.count(honest) == len(schema()) + 1  # and the seed
    for lie in (b"\x15\0\x15\xfe\x7f\x15", b"\x15\0\x15\x82\x05\x15", b"\x15\4\x15\x80\x05\x15"):
        with pytest.raises(FileFormatError, match="seed is not stored as one page of 320 bytes"):
            read(BYTES.replace(honest, lie, 1), tmp_path)


def test_a_dictionary_of_more_than_the_label_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    honest = b"\x15\4\x15\x0a\x15"  # "P" and its length: 5 bytes, twice that is 10
    assert BYTES.count(honest) == 2  # of the problem and the contexts
    for lie in (b"\x15\4\x15\xfe\x7f\x15", b"\x15\0\x15\x0a\x15"):
        with pytest.raises(FileFormatError, match=r"problem is not stored as a dictionary of 5 bytes"):
            read(BYTES.replace(honest, lie, 1), tmp_path)


def test_a_group_that_claims_more_rows_is_refused_before_memory_is_taken(tmp_path: Path) -> None:
    size = int.from_bytes(BYTES[-8:-4], "little")
    at = BYTES.rindex(b"\x16\x50")  # the group's own 40 rows: twice that is 0x50
    lie = BYTES[:at] + b"\x16\x80\x80\x80\x80\x40" + BYTES[at + 2 : -8]  # 2**33
    with pytest.raises(FileFormatError, match="there are 8589934592 rows; 40 episodes have 40"):
        read(lie + (size + 4).to_bytes(4, "little") + b"PAR1", tmp_path)


@pytest.mark.parametrize(("name", "value"), [("learner", "lerner aa"), ("run", "0" * 16), ("seed", 4)])
def test_rows_that_name_another_run_are_refused(name: str, value: Any, tmp_path: Path) -> None:
    data = forged(HEADER, {**RECORD.table, **about(40, **{name: value})})
    with pytest.raises(FileFormatError, match=f"{name} is .*{value}.* in the rows; the spec"):
        read(data, tmp_path)


def test_columns_of_several_pages_are_refused(tmp_path: Path) -> None:
    sink = pyarrow.BufferOutputStream()
    content = pyarrow.table(about(40) | RECORD.table)
    said = json.dumps(HEADER).encode()
    for group in (10, 40):  # four groups of rows; pages of a few bytes
        sink = pyarrow.BufferOutputStream()
        with parquet.ParquetWriter(
            sink, record_file._schema(), use_dictionary=False, data_page_size=1, write_batch_size=8
        ) as writer:
            writer.write_table(content.cast(record_file._schema()), row_group_size=group)
            writer.add_key_value_metadata(
                {record_file.KEY: said, record_file.DIGEST: record_file._digest(said, RECORD.table)}
            )
        with pytest.raises(FileFormatError, match=r"a record has one|not stored as a dictionary"):
            read(sink.getvalue().to_pybytes(), tmp_path)
