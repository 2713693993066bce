"""Every row of the paper map names a function and a test that exist."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from goalbound.kernels.compile import Kernel

ROOT = Path(__file__).parents[2]
ROWS = [
    tuple(cell.strip() for cell in line.strip("|\n").split("|"))
    for line in (ROOT / "docs" / "paper_map.md").read_text().splitlines()
    if line.startswith("| ") and "`" in line
]


def test_the_map_has_rows_of_three_cells() -> None:
    assert len(ROWS) >= 40
    assert {len(row) for row in ROWS} == {3}


@pytest.mark.parametrize("row", ROWS, ids=[row[0][:40] for row in ROWS])
def test_the_function_and_the_test_of_a_row_exist(row: tuple[str, str, str]) -> None:
    holder, name = named_function(row[1].strip("`"))
    found = getattr(holder, name)
    assert callable(found) or isinstance(found, Kernel)
    path, _, test = row[2].strip("`").partition("::")
    text = (ROOT / path).read_text()
    assert re.search(rf"^def {test}\(" if test else r"^def test_", text, re.MULTILINE), f"{path} has no {test}"


def named_function(dotted: str) -> tuple[object, str]:
    """goalbound.models.ssp.SSP or goalbound.models.linear_cssp.LinearCSSP.at as (holder, name)."""
    parts = dotted.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            holder: object = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:-1]:
            holder = getattr(holder, part)
        return holder, parts[-1]
    raise AssertionError(f"{dotted} is no function")
