"""Checkpoints of runs: a resumed run gives the same record, byte for byte."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.around import wrapper
from goalbound.errors import ArgumentError, FileFormatError
from goalbound.experiments.fingerprint import problem_digest
from goalbound.experiments.metadata import provenance
from goalbound.experiments.records import Accumulator, canonical_json
from goalbound.experiments.run_spec import RunSpec
from goalbound.jit.records import named_arrays
from goalbound.models import LinearCSSP
from goalbound.models.files.array_file import FORMAT, check_keys, check_present, read_array_file, write_array_file
from goalbound.models.files.io import as_format_errors
from goalbound.simulation import Adversary, Cyclic, Dirichlet, Drifting, FromArray, ModelEnvironment, OneHot, Simulation

KIND, VERSION = "RunCheckpoint", 2
_ANY_SIZE = 2**62  # bytes: files of our own are never too large
_KEYS = ("id", "episodes", "streams", "provenance", "problem")
_SCRATCH = frozenset({"scratch"})
_STATELESS = (Adversary, OneHot, Cyclic, Dirichlet, Drifting, FromArray)
_CODES = {np.dtype(np.float64): "<f8", np.dtype(np.int64): "<i8", np.dtype(np.bool_): "|b1", np.dtype(np.uint8): "|u1"}


class RunState(NamedTuple):
    """The mutable state of a run: the simulation and the accumulator."""

    spec: RunSpec
    simulation: Simulation
    accumulator: Accumulator


def can_be_saved(simulation: Simulation) -> bool:
    """Whether all state can be saved: a simulated environment, a learner with ``save``, and stateless contexts."""
    return (
        isinstance(simulation.environment, ModelEnvironment)
        and wrapper.can_be_saved(simulation.learner)
        and (type(simulation.contexts) in _STATELESS or getattr(simulation.contexts, "stateless", False))
    )


def save(run_state: RunState, path: Path) -> None:
    """Write the state of the run between two episodes; atomic."""
    spec, simulation, accumulator = run_state
    header = {
        "format": FORMAT, "version": VERSION, "kind": KIND,
        "id": spec.id,
        "episodes": accumulator.done,
        "streams": [stream.bit_generator.state for stream in simulation.streams],
        "provenance": provenance(spec),
        "problem": problem_digest(simulation.problem),
    }  # fmt: skip
    arrays = {**accumulator.arrays(), **_audit(simulation), "learner": wrapper.bytes_of(simulation.learner)}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_array_file(path, header, arrays, any_size=True)


def resume(run_state: RunState, path: Path) -> bool:
    """Resume from a file, if there is one. A damaged file, or one of other versions, is removed with a warning.

    Returns:
        Whether the run was resumed; if not, nothing was changed.

    Raises:
        ArgumentError: the file is a valid checkpoint of another run.
    """
    if not path.exists():
        return False
    try:
        _restore(run_state, path)
    except FileFormatError as error:
        path.unlink()
        warnings.warn(f"the checkpoint cannot be used, and the run starts again: {error}", stacklevel=4)
        return False
    return True


def _restore(run_state: RunState, path: Path) -> None:
    """Everything is checked before any state is changed."""
    spec, simulation, accumulator = run_state
    mine = {**accumulator.arrays(), **_audit(simulation)}
    allowed = {name: _CODES[array.dtype] for name, array in mine.items()} | {"learner": "|u1"}
    header, arrays = read_array_file(
        path, kind=KIND, versions=[VERSION], arrays=allowed, what="checkpoint of a run", limit=_ANY_SIZE
    )
    with as_format_errors(path, "checkpoint"):
        check_keys(header, _KEYS)
    if header["id"] != spec.id:
        raise ArgumentError(
            f"{path} is the checkpoint of run {header['id']}, not of {spec.id}; remove it, or give another"
        )
    with as_format_errors(path, "checkpoint"):
        check_present(arrays, list(allowed))
        _check_same_environment(header, spec, simulation.problem)
        _check_shapes(arrays, mine)
        done = header["episodes"]
        if type(done) is not int or not 0 <= done <= spec.episodes:
            raise FileFormatError(f"episodes is {done!r}; the run has {spec.episodes}")
        states = _checked_states(header["streams"], simulation)
        learner = wrapper.restored_from(simulation.learner, arrays["learner"], limit=_ANY_SIZE)
    accumulator.restore(arrays, done)
    for name, array in _audit(simulation).items():
        array[...] = arrays[name]
    for stream, state in zip(simulation.streams, states, strict=True):
        stream.bit_generator.state = state
    simulation.episodes_played = done
    simulation.learner = learner
    if simulation.audit is not None:
        simulation.audit.learner = learner


def _audit(simulation: Simulation) -> dict[str, NDArray[Any]]:
    """The arrays of the audit, as views."""
    if simulation.audit is None:
        return {}
    return dict(named_arrays("audit", simulation.audit._audit, without=_SCRATCH))


def _check_same_environment(header: dict[str, Any], spec: RunSpec, problem: LinearCSSP) -> None:
    if canonical_json(header["provenance"]) != canonical_json(provenance(spec)):
        raise FileFormatError(f"it was written with other versions, {header['provenance']!r:.300}")
    if header["problem"] != problem_digest(problem):
        raise FileFormatError("it was written for another problem; the function that makes it has changed")


def _check_shapes(arrays: dict[str, NDArray[Any]], mine: dict[str, NDArray[Any]]) -> None:
    for name, array in mine.items():
        if arrays[name].shape != array.shape:
            raise FileFormatError(f"{name} has shape {arrays[name].shape}; it needs {array.shape}")
        if array.dtype == np.float64 and not np.isfinite(arrays[name]).all():
            raise FileFormatError(f"{name} has entries that are not finite")


def _checked_states(states: Any, simulation: Simulation) -> list[dict[str, Any]]:
    """The states of the generators, tried on copies of them."""
    if not isinstance(states, list) or len(states) != len(simulation.streams):
        raise FileFormatError("streams is not a list of the states of three generators")
    for stream, state in zip(simulation.streams, states, strict=True):
        type(stream.bit_generator)().state = state
    return states
