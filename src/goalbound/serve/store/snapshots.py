"""Snapshots: the learners and open cases after some event, in one file. A cache: without one all is replayed."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from goalbound.adapters.learner_files import load_learner
from goalbound.around.around import bytes_of, loaded_from
from goalbound.errors import FileFormatError, InputError, StoreDamaged
from goalbound.learners.layers import layers
from goalbound.models.files.array_file import FORMAT, check_keys, check_present, read_array_file, write_array_file
from goalbound.models.files.io import LIMIT, as_format_errors, atomic_write, strict_json, sync_folder
from goalbound.serve.store.bodies import check_no_shadow, learner_fields
from goalbound.serve.store.cases import Case, Managed
from goalbound.serve.store.events import canonical
from goalbound.serve.store.log import SnapshotEntry
from goalbound.serve.store.machine import Machine

KIND, VERSION = "StoreSnapshot", 2
KEPT = 3
"""So many snapshots are kept."""
_CASE = ("number", "id", "learner", "state", "step", "action", "propensity", "seq")


def write_snapshot(folder: Path, machine: Machine, *, seq: int, chain: bytes) -> SnapshotEntry:
    """Write the state after event ``seq`` to a file of its own, durably."""
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"{seq:015d}.npz"
    header = {
        "format": FORMAT, "version": VERSION, "kind": KIND, "seq": seq, "chain": chain.hex(),
        "last_case": machine.last_case,
        "learners": {str(number): one.as_json() for number, one in machine.learners.items()},
    }  # fmt: skip
    arrays = {f"learner_{number}": bytes_of(one.learner) for number, one in machine.learners.items()}
    cases = [[*(getattr(case, name) for name in _CASE), list(case.episodes)] for case in machine.cases.values()]
    arrays["cases"] = np.frombuffer(canonical({"cases": cases}), np.uint8)
    write_array_file(path, header, arrays, any_size=True)
    path.chmod(0o600)
    return SnapshotEntry(seq, chain, path.name, sha256_of(path))


def read_snapshot(folder: Path, entry: SnapshotEntry) -> Machine:
    """The state of a snapshot; :class:`StoreDamaged` unless its file is as it was written."""
    path = folder / entry.file
    if Path(entry.file).name != entry.file or not path.is_file():
        raise StoreDamaged(f"{path}: this snapshot is missing")
    if not is_whole(folder, entry):
        raise StoreDamaged(f"{path}: this snapshot is not as it was written")
    try:
        return _machine(path, entry)
    except FileFormatError as error:
        raise StoreDamaged(f"{error}") from error


def is_whole(folder: Path, entry: SnapshotEntry) -> bool:
    """Whether the file of a snapshot is there, as it was written."""
    try:
        return sha256_of(folder / entry.file) == entry.sha256
    except OSError:
        return False


def _machine(path: Path, entry: SnapshotEntry) -> Machine:
    size = max(LIMIT, 2 * path.stat().st_size)
    types = {"cases": "|u1", r"learner_[0-9]{1,6}": "|u1"}
    header, arrays = read_array_file(
        path, kind=KIND, versions=[1, VERSION], arrays=types, what="snapshot of a store", limit=size
    )
    with as_format_errors(path, "snapshot"):
        check_keys(header, ("seq", "chain", "last_case", "learners"))
        check_present(arrays, ["cases", *(f"learner_{number}" for number in header["learners"])])
        if header["seq"] != entry.seq or header["chain"] != entry.chain.hex():
            raise FileFormatError(f"it was taken after event {header['seq']}, not {entry.seq}")
        machine = Machine()
        for number, about in header["learners"].items():
            learner = loaded_from(arrays[f"learner_{number}"], load_learner, limit=size)
            machine.add(Managed(int(number), learner=learner, **learner_fields(about)))
        for values in strict_json(arrays["cases"].tobytes(), "the list of cases")["cases"]:
            if header["version"] == 1:
                check_no_shadow(values.pop(len(_CASE)), f"{path}: this snapshot")
            machine.keep(_case(machine, values))
        machine.last_case = header["last_case"]
    return machine


def _case(machine: Machine, values: list[Any]) -> Case:
    about = dict(zip(_CASE, values, strict=False))
    case = Case(about["number"], about["id"], about["learner"], about["state"])
    case.step, case.action, case.propensity, case.seq = (
        about[name] for name in ("step", "action", "propensity", "seq")
    )
    case.episodes = {number: machine.learners[number].learner.episode(case.number) for number in values[len(_CASE)]}
    return case


def digest_of(machine: Machine) -> str:
    """SHA-256 of everything that decides what is proposed next: the learners to the last bit, and the open cases."""
    found = hashlib.sha256()
    for number, one in sorted(machine.learners.items()):
        found.update(canonical({"number": number, **one.as_json()}))
        found.update(bytes_of(one.learner).tobytes())
    for _, case in sorted(machine.cases.items()):
        found.update(canonical({"case": [getattr(case, name) for name in _CASE], "with": list(case.episodes)}))
    return found.hexdigest()


def sha256_of(path: Path) -> str:
    """Of the bytes of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def prune(folder: Path, entries: Iterable[SnapshotEntry]) -> None:
    """Remove the files of snapshots that the log no longer lists, and drafts that a crash left."""
    listed = {entry.file for entry in entries}
    for path in folder.glob("*") if folder.is_dir() else ():
        if path.is_file() and path.name not in listed:
            path.unlink(missing_ok=True)


def copy_snapshots(folder: Path, target: Path, entries: Iterable[SnapshotEntry]) -> None:
    """Copy the files of these snapshots to a new folder, durably; one that was removed meanwhile is left out."""
    target.mkdir(mode=0o700)
    for entry in entries:
        with (
            suppress(FileNotFoundError),
            open(folder / entry.file, "rb") as file,
            atomic_write(target / entry.file, private=True) as copy,
        ):
            shutil.copyfileobj(file, copy)
    sync_folder(target)


def loadable(learner: Any) -> bytes:
    """The file of a learner, if it can be read back from it alone; else an error."""
    try:
        data = bytes_of(learner).tobytes()
        loaded = learner_from(data)
    except AttributeError as error:
        raise InputError(f"the learner cannot be saved ({error}), so no store can hold it") from None
    kinds, kept = (list(map(type, layers(one))) for one in (learner, loaded))
    if kinds != kept:
        missing = next(kind for kind in kinds if kind not in kept)
        raise InputError(
            f"a {missing.__name__} is not in the file of a learner, which would be read back without it, so no store "
            "can hold it; give the learner inside, or one with a map of covariates: CovariateLearner"
        )
    return data


def learner_from(data: bytes) -> Any:
    """A learner from the bytes of its file."""
    return loaded_from(np.frombuffer(data, np.uint8), load_learner)
