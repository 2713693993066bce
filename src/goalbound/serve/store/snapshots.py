"""Snapshots: the learners as their own files, and the open cases, after some event. Without one all is replayed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from goalbound.adapters.learner_files import load_learner
from goalbound.around.around import bytes_of, loaded_from
from goalbound.errors import FileFormatError, InputError, StoreDamaged
from goalbound.learners.layers import layers
from goalbound.models.files.io import LIMIT, strict_json
from goalbound.serve.store.events import canonical
from goalbound.serve.store.machine import Case, Machine, Managed

_STATE = "state"
_CASE = ("number", "id", "learner", "state", "step", "action", "propensity", "seq", "since")


def snapshot_of(machine: Machine) -> dict[str, bytes]:
    """The files of a snapshot: ``state``, and one for each learner."""
    state = {
        "last_case": machine.last_case,
        "learners": {str(number): managed.as_json() for number, managed in machine.learners.items()},
        "alarmed": {str(number): managed.alarmed for number, managed in machine.learners.items()},
        "cases": [_case_as_json(case) for case in machine.cases.values()],
    }
    learners = {f"learner {number}": _file_of(managed.learner) for number, managed in machine.learners.items()}
    return {_STATE: canonical(state).encode(), **learners}


def machine_of(files: Mapping[str, bytes]) -> Machine:
    """The state of a snapshot; :class:`StoreDamaged` unless its files are of one."""
    machine = Machine()
    try:
        state = strict_json(files[_STATE], "the state")
        for number, about in state["learners"].items():
            managed = Managed(int(number), learner=learner_from(files[f"learner {number}"]), **about)
            managed.alarmed = state["alarmed"][number]
            machine.add(managed)
        for values, deciders in state["cases"]:
            about = dict(zip(_CASE, values, strict=True))
            case = Case(about["number"], about["id"], about["learner"], about["state"])
            for name in _CASE[4:]:
                setattr(case, name, about[name])
            case.episodes = {number: machine.learners[number].learner.episode(case.number) for number in deciders}
            machine.keep(case)
        machine.last_case = state["last_case"]
    except (FileFormatError, KeyError, TypeError, ValueError) as error:
        raise StoreDamaged(f"a snapshot cannot be read ({error})") from error
    return machine


def _case_as_json(case: Case) -> list[Any]:
    return [[getattr(case, name) for name in _CASE], list(case.episodes)]


def digest_of(machine: Machine) -> str:
    """SHA-256 of everything that decides what is proposed next: the learners to the last bit, and the open cases."""
    digest = hashlib.sha256()
    for number, managed in sorted(machine.learners.items()):
        digest.update(canonical({"number": number, **managed.as_json()}).encode())
        digest.update(_file_of(managed.learner))
    for _, case in sorted(machine.cases.items()):
        values, deciders = _case_as_json(case)
        digest.update(canonical([values[:-1], deciders]).encode())  # but for the time
    return digest.hexdigest()


def loadable(learner: Any) -> bytes:
    """The file of a learner, if it can be read back from it alone; else an error."""
    try:
        data = _file_of(learner)
        loaded = learner_from(data)
    except AttributeError as error:
        raise InputError(f"the learner cannot be saved ({error}), so no store can hold it") from None
    kinds, kept = (list(map(type, layers(made))) for made in (learner, loaded))
    if kinds != kept:
        missing = next(kind for kind in kinds if kind not in kept)
        raise InputError(
            f"a {missing.__name__} is not in the file of a learner, which would be read back without it, so no store "
            "can hold it; give the learner inside, or one with a map of covariates: CovariateLearner"
        )
    return data


def learner_from(data: bytes) -> Any:
    """A learner from the bytes of its file."""
    return loaded_from(np.frombuffer(data, np.uint8), load_learner, limit=max(LIMIT, 2 * len(data)))


def _file_of(learner: Any) -> bytes:
    return bytes_of(learner).tobytes()
