"""``goalbound export``: the results of an experiment as CSV or Parquet."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from goalbound.cli.arguments import UsageError
from goalbound.cli.experiments import read_results
from goalbound.csv_cells import csv_text
from goalbound.experiments.results import Results
from goalbound.models.files.io import atomic_write
from goalbound.terminal import one_line


def run(arguments: Namespace) -> int:
    """Write the tables that are wanted, and print where they are."""
    wanted = [(name, kind) for kind in ("csv", "parquet") for name in dict.fromkeys(getattr(arguments, kind))]
    if not wanted:
        raise UsageError("nothing to export; say --csv curves, or --parquet summary policies")
    results = read_results(arguments.experiment)
    folder = Path(arguments.out) if arguments.out else results.folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, kind in wanted:
        path = folder / f"{name}.{kind}"
        _write(path, table_of(results, name))
        print(one_line(str(path)))
    return 0


def table_of(results: Results, name: str) -> Any:
    """The table of Arrow of a name of ``goalbound export``."""
    return results.frame(arrow=True) if name == "episodes" else getattr(results, name)(arrow=True)


def _write(path: Path, table: Any) -> None:
    from pyarrow import parquet

    with atomic_write(path) as file:
        if path.suffix == ".parquet":
            parquet.write_table(table, file)
        else:
            columns = [column.to_pylist() for column in table.columns]
            file.write(csv_text(table.column_names, zip(*columns, strict=True)).encode())
