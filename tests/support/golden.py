"""Numbers that must stay the same to the bit: digests of results, kept in ``tests/golden``.

Where an algorithm changes on purpose, write them anew (``GOALBOUND_GOLDEN=write`` before the tests) and say in the
CHANGELOG which results changed.
"""

from __future__ import annotations

import hashlib
import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from goalbound.experiments.records import RunRecord
from guarantees.result import Result
from tests.support.arithmetic import arithmetic

FOLDER = Path(__file__).parents[1] / "golden"
METADATA_KEYS = ("totals", "diagnosis", "simplex", "policies")
"""The metadata of a record whose numbers that depend on nothing but the run."""


def machine() -> dict[str, str]:
    """What the last bit of a logarithm may depend on."""
    return {"arithmetic": arithmetic(), "numpy": version("numpy"), "numba": version("numba")}


def digest_of_record(record: RunRecord) -> dict[str, str]:
    """One digest for each column, and one for the numbers of the facts."""
    columns = {name: _sha(np.ascontiguousarray(column).tobytes()) for name, column in record.table.items()}
    return {**columns, "facts": _digest_of_numbers([record.metadata.get(name) for name in METADATA_KEYS])}


def digest_of_result(result: Result) -> str:
    """Of all numbers of a result of ``make paper``, but for times."""
    timed = [place for place, name in enumerate(result.columns) if name.startswith("us")]
    rows = [[cell for place, cell in enumerate(row) if place not in timed] for row in result.rows]
    return _digest_of_numbers([rows, result.curves])


def assert_golden(name: str, found: dict[str, Any]) -> None:
    """Compare with ``tests/golden/NAME.json``; only on a machine whose last bits are those of the file."""
    path = FOLDER / f"{name}.json"
    if os.environ.get("GOALBOUND_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"made_on": machine(), "digests": found}, indent=1, sort_keys=True) + "\n")
        return
    golden = json.loads(path.read_text())
    if golden["made_on"] != machine():
        return  # tests/unit/test_golden.py skips and says so
    assert found.keys() == golden["digests"].keys()
    changed = [key for key in found if found[key] != golden["digests"][key]]
    assert not changed, f"other numbers than before in {changed}"


def _numbers(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in _numbers(one)]
    if isinstance(value, list | tuple | np.ndarray):
        return [text for one in value for text in _numbers(one)]
    if isinstance(value, bool | np.bool_):
        return [str(bool(value))]
    if isinstance(value, int | float | np.number):
        return [float(value).hex()]
    return []


def _digest_of_numbers(value: Any) -> str:
    """Of the numbers as a sorted list, so that names and their order may change."""
    return _sha("\n".join(sorted(_numbers(value))).encode())


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
