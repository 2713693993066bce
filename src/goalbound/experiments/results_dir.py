"""The results directory of an experiment: its layout, its lock, and its state after failures.

Files are written atomically; a run is done when its record exists. One sweep at a time writes: it holds a
lock that the system releases when the process ends, however it ends.
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from goalbound.errors import ArgumentError, FileFormatError
from goalbound.experiments.job import Failed, Finished
from goalbound.experiments.record_file import read_record
from goalbound.experiments.records import RunRecord, canonical_json
from goalbound.experiments.run_spec import RunSpec
from goalbound.experiments.spec import ExperimentSpec
from goalbound.models.files.io import LIMIT, as_format_errors, atomic_write, read_bytes
from goalbound.models.files.saved_files import try_lock

_RECORD = re.compile(r"([0-9a-f]{16})\.parquet")
_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{16}")  # of atomic_write, left by a process that was killed
_MAX_RUNS_BYTES = 2**30
_FOLDERS = ("records", "failures")
_DAMAGED = "damaged"


@dataclass(frozen=True)
class ScanResult:
    """The state of the runs of a spec in a results directory."""

    valid: frozenset[str]
    """Runs that are done."""
    damaged: dict[str, str]
    """Runs whose record is invalid, with the reason; the file is moved to ``damaged/``."""
    others: tuple[str, ...]
    """Records of runs that the spec does not have; they are left alone."""


class ResultsDir:
    """The files of an experiment.

    Layout: ``spec.toml``, ``runs.json``, ``records/<id>.parquet``, ``failures/<id>.json``, ``times.jsonl``; records
    that could not be read are in ``damaged``.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @property
    def times(self) -> Path:
        """One line of JSON per finished run."""
        return self.path / "times.jsonl"

    @property
    def runs(self) -> Path:
        """The runs of the last sweep, so that a report needs no plug-ins."""
        return self.path / "runs.json"

    def record(self, name: str) -> Path:
        """The record of a run."""
        return self.path / "records" / f"{name}.parquet"

    def failure(self, name: str) -> Path:
        """Why a run failed."""
        return self.path / "failures" / f"{name}.json"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock; a second sweep is refused with a message that names the first."""
        self.path.mkdir(parents=True, exist_ok=True)
        with open(self.path / ".lock", "a+b") as file:
            if not _try_lock(file):
                file.seek(0)
                holder = file.read(200).decode("utf-8", "replace").strip() or "another process"
                raise ArgumentError(
                    f"{self.path}: a sweep is running here ({holder}); wait for it, or use another folder"
                )
            file.truncate(0)
            file.write(f"process {os.getpid()} on {socket.gethostname()}\n".encode())
            file.flush()
            yield  # the file stays: removing it would let two processes lock two files of one name

    def prepare(self, spec: ExperimentSpec, runs: Sequence[RunSpec]) -> None:
        """Create the subfolders, remove leftovers of killed processes, write the spec and the list of runs.

        Args:
            spec: the experiment.
            runs: all that follow from it.
        """
        for name in _FOLDERS:
            (self.path / name).mkdir(exist_ok=True)
        for folder in (self.path, *(self.path / name for name in _FOLDERS)):
            for file in folder.iterdir():
                if _TEMPORARY.fullmatch(file.name):
                    file.unlink(missing_ok=True)
        _write(self.path / "spec.toml", spec.as_toml().encode())
        _write(self.runs, b"[\n%b\n]\n" % b",\n".join(canonical_json(run.as_json()) for run in runs))

    def delete(self, runs: Iterable[RunSpec]) -> None:
        """Delete all files of these runs."""
        for run in runs:
            self.record(run.id).unlink(missing_ok=True)
            self.failure(run.id).unlink(missing_ok=True)

    def scan(self, runs: Sequence[RunSpec]) -> ScanResult:
        """Check every record; damaged ones are moved aside."""
        there = {found[1] for file in os.listdir(self.path / "records") if (found := _RECORD.fullmatch(file))}
        damaged = {}
        for run in runs:
            reason = self._record_error(run) if run.id in there else None
            if reason is not None:
                damaged[run.id] = reason
                aside = self.path / _DAMAGED  # not among the records: readers of Parquet take a whole folder
                aside.mkdir(exist_ok=True)
                os.replace(self.record(run.id), aside / self.record(run.id).name)
        wanted = {run.id for run in runs}
        valid = frozenset(there & wanted - set(damaged))
        for name in valid:  # killed between writing the record and deleting the failure
            self.failure(name).unlink(missing_ok=True)
        return ScanResult(valid, damaged, tuple(sorted(there - wanted)))

    def _record_error(self, run: RunSpec) -> str | None:
        try:
            record = read_record(self.record(run.id))
        except FileFormatError as error:
            return str(error)
        if record.spec.id != run.id:
            return f"{self.record(run.id)}: this is the record of the run {record.spec.id}"
        return None

    def save_record(self, finished: Finished) -> None:
        """Write the record of a run, then delete its failure."""
        _write(self.record(finished.id), finished.record)
        self.failure(finished.id).unlink(missing_ok=True)
        line = {"id": finished.id, "seconds": round(finished.seconds, 3), "steps": finished.steps}
        _append(self.times, json.dumps(line))

    def save_failure(self, failed: Failed, run: RunSpec) -> None:
        """Write why a run failed."""
        content = {"id": failed.id, "error": failed.error, "traceback": failed.traceback, "spec": run.as_json()}
        _write(self.failure(failed.id), json.dumps(content, indent=1).encode())


def read_records(folder: str | os.PathLike[str], runs: Iterable[RunSpec]) -> list[RunRecord]:
    """The records of the runs that are done, in the order of the runs. Only reads, so a sweep may be running."""
    results_dir = ResultsDir(folder)
    return [read_record(results_dir.record(run.id)) for run in runs if results_dir.record(run.id).exists()]


def read_runs(folder: str | os.PathLike[str]) -> list[RunSpec]:
    """The runs of the last sweep of a folder; nothing is imported.

    Where that was not written, the runs of all records that are there.

    Raises:
        ArgumentError: the file is damaged.
    """
    results_dir = ResultsDir(folder)
    if not results_dir.runs.exists():
        return [read_record(file).spec for file in sorted((results_dir.path / "records").glob("*.parquet"))]
    with as_format_errors(results_dir.runs, "list of runs"):
        values = json.loads(read_bytes(results_dir.runs, _MAX_RUNS_BYTES))
        if not isinstance(values, list) or not all(isinstance(one, dict) for one in values):
            raise ArgumentError("damaged; it is a list of runs. Run the experiment again, or remove it")
        runs = [RunSpec.from_json(one) for one in values]
        return list({run.id: run for run in runs}.values())


def read_times(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The lines of ``times.jsonl``: id, seconds, steps; a run that was done twice is there twice.

    Lines that were truncated when a process was killed are skipped.
    """
    path = ResultsDir(folder).times
    try:
        with as_format_errors(path, "list of times"):
            lines = read_bytes(path, LIMIT, remedy="remove it; only times are lost", unpack=False).split(b"\n")
    except FileNotFoundError:
        return []
    return [found for line in lines if (found := _time(line)) is not None]


def _time(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
        return {"id": str(found["id"]), "seconds": float(found["seconds"]), "steps": int(found["steps"])}
    except (ValueError, KeyError, TypeError):
        return None


def _write(path: Path, data: bytes) -> None:
    try:
        with atomic_write(path) as file:
            file.write(data)
    except OSError as error:  # it names the temporary file
        raise OSError(error.errno, error.strerror, str(path)) from None


def _append(path: Path, line: str) -> None:
    """Append a line; a truncated last line is ended first."""
    with open(path, "a+b") as file:
        end = file.seek(0, os.SEEK_END)
        if end:
            file.seek(end - 1)
            torn = file.read(1) != b"\n"
        file.write(("\n" if end and torn else "").encode() + line.encode() + b"\n")


def _try_lock(file: BinaryIO) -> bool:
    """Take the lock of the system; False if another process has it.

    Some network file systems have no locks; there two sweeps do the same work twice and write the same bytes.
    """
    try:
        return try_lock(file.fileno())
    except OSError:
        return True
