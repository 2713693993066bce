"""goalbound's own files: arrays and a JSON header in an uncompressed zip, exact to the bit.

``numpy.load`` opens them too. Members: ``header.json`` (format, version, kind, names, loss_scale, a start state) and
``pair_start``, ``pair_action``, ``next_start``, ``next_state``, ``losses``, ``probabilities`` and, where the start is a
distribution, ``start``. Nothing in them is ever executed: no pickle, no objects.
"""

from __future__ import annotations

import io
import json
import math
import re
import struct
import zipfile
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.models.errors import FileFormatError
from goalbound.models.files.storage import LIMIT, atomic_write, file_bytes, reading, strict_json
from goalbound.models.linear_cssp import LinearCSSP
from goalbound.models.ssp import SSP
from goalbound.models.support import Support

_FORMAT, _VERSION = "goalbound", 1
_ARRAYS = {
    "pair_start": "<i8", "pair_action": "<i4", "next_start": "<i8", "next_state": "<i4",
    "losses": "<f8", "probabilities": "<f8", "start": "<f8",
}  # fmt: skip
_KEYS = {
    "format", "version", "kind", "state_names", "action_names", "component_names", "loss_scale", "start",
}  # fmt: skip
_NPY = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([^']{1,8})', 'fortran_order': (False|True), "
    rb"'shape': \(((?:[0-9]{1,18},?)?(?: [0-9]{1,18})?)\), \} *\n",
    re.DOTALL,
)  # what NumPy writes, and nothing that would have to be evaluated
_END = struct.Struct("<4s4H2LH")


def write_npz(problem: SSP | LinearCSSP, path: str | PathLike[str]) -> None:
    """Write a problem so that :func:`read_npz` gives it back to the bit, names and start included.

    The file appears complete or not at all, and the same problem gives the same bytes.
    """
    start = problem.start
    header: dict[str, Any] = {
        "format": _FORMAT,
        "version": _VERSION,
        "kind": type(problem).__name__,
        "loss_scale": problem.loss_scale,
        "start": start if isinstance(start, int) else None,
        "state_names": problem.support.state_names,
        "action_names": problem.support.action_names,
        "component_names": problem.component_names if isinstance(problem, LinearCSSP) else None,
    }
    arrays = {name: getattr(problem.support, name) for name in _ARRAYS if name in Support.__annotations__}
    arrays |= {"losses": problem.losses, "probabilities": problem.probabilities}
    if not isinstance(start, int):
        arrays["start"] = start
    with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_member("header.json"), json.dumps(header).encode())
        for name, array in arrays.items():
            with archive.open(_member(f"{name}.npy"), "w", force_zip64=True) as member:
                wanted = np.ascontiguousarray(array, dtype=_ARRAYS[name])
                np.lib.format.write_array(member, wanted, version=(1, 0), allow_pickle=False)


def read_npz(path: str | PathLike[str], *, limit: int = LIMIT) -> SSP | LinearCSSP:
    """Read what :func:`write_npz` wrote; anything else is a :class:`FileFormatError` that says what is wrong."""
    with reading(path, "npz"):
        members = _members(file_bytes(path, limit))
        header = _header(members.pop("header.json", None))
        arrays = {name.removesuffix(".npy"): _array(name, data) for name, data in members.items()}
        missing = [name for name in _ARRAYS if name not in arrays and name != "start"]
        if missing:
            raise FileFormatError(f"{missing[0]}.npy is missing")
        return _problem(header, arrays)


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    info.external_attr = 0o644 << 16
    return info


def _members(data: bytes) -> dict[str, bytes]:
    """The members by name. All are stored uncompressed, so none can be larger than the file."""
    known = {"header.json", *(f"{name}.npy" for name in _ARRAYS)}
    tail = data[-_END.size :]
    if not data.startswith(b"PK") or len(tail) < _END.size or not tail.startswith(b"PK\5\6"):
        raise FileFormatError("this is no complete npz file; it is truncated, or of another format")
    if _END.unpack(tail)[4] > len(known):
        raise FileFormatError(f"the file has {_END.unpack(tail)[4]} members; a problem has at most {len(known)}")
    found: dict[str, bytes] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            name = info.filename
            if name not in known:
                raise FileFormatError(f"{name!r} is no part of a goalbound problem; this npz is of another kind")
            if name in found:
                raise FileFormatError(f"{name!r} stands twice in the file")
            if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1 or info.file_size != info.compress_size:
                raise FileFormatError(f"{name} is compressed or encrypted; goalbound stores arrays as they are")
            if info.file_size > len(data):
                raise FileFormatError(f"{name} claims {info.file_size} bytes in a file of {len(data)}")
            found[name] = archive.read(info)
    return found


def _header(data: bytes | None) -> dict[str, Any]:
    if data is None:
        raise FileFormatError("header.json is missing; this npz is not one of goalbound")
    header = strict_json(data, "header.json")
    if header.get("format") != _FORMAT:
        raise FileFormatError(f"the format is {header.get('format')!r}, not {_FORMAT!r}")
    if header.get("version") != _VERSION:
        raise FileFormatError(f"version {header.get('version')!r}; this goalbound reads version {_VERSION}")
    if set(header) != _KEYS:
        raise FileFormatError(f"the header has {sorted(header)}; it needs {sorted(_KEYS)}")
    if header["kind"] not in ("SSP", "LinearCSSP"):
        raise FileFormatError(f"the kind is {header['kind']!r}, neither 'SSP' nor 'LinearCSSP'")
    for key in ("state_names", "action_names", "component_names"):
        if not (header[key] is None or isinstance(header[key], list)):
            raise FileFormatError(f"{key} is neither a list nor null")
    if type(header["loss_scale"]) not in (float, int):
        raise FileFormatError(f"loss_scale is {header['loss_scale']!r}, not a number")
    if header["start"] is not None and type(header["start"]) is not int:
        raise FileFormatError(f"start is {header['start']!r}, neither a state nor null")
    return header


def _array(name: str, data: bytes) -> NDArray[Any]:
    """An array of the type its name asks for, over the bytes themselves; its size is checked before anything else."""
    found = _NPY.match(data)
    if found is None:
        raise FileFormatError(f"{name} is no array of npy version 1.0 with at most two dimensions")
    dtype, order, wanted = found[1].decode(), found[2], _ARRAYS[name.removesuffix(".npy")]
    if dtype != wanted or order != b"False":
        raise FileFormatError(f"{name} holds {dtype!r}, fortran_order {order.decode()}; it needs {wanted!r} by row")
    shape = tuple(int(size) for size in found[3].split(b",") if size.strip())
    body, width = len(data) - found.end(), np.dtype(wanted).itemsize
    if math.prod(shape) * width != body:
        raise FileFormatError(f"{name} claims shape {shape}, and {body} bytes follow")
    return np.frombuffer(data, wanted, offset=found.end()).reshape(shape)


def _problem(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> SSP | LinearCSSP:
    support = Support(
        arrays["pair_start"], arrays["pair_action"], arrays["next_start"], arrays["next_state"],
        header["state_names"], header["action_names"],
    )  # fmt: skip
    if (header["start"] is None) != ("start" in arrays):
        raise FileFormatError("the start must be either a state in the header or a distribution in start.npy")
    start: Any = arrays.get("start", header["start"])
    losses, probabilities, scale = arrays["losses"], arrays["probabilities"], header["loss_scale"]
    if header["kind"] == "LinearCSSP":
        return LinearCSSP(support, losses, probabilities, start, header["component_names"], scale)
    if header["component_names"] is not None:
        raise FileFormatError("a problem without context has component_names")
    checked = SSP(support, losses, probabilities, start, scale)
    # The rows of a mixture may be off by a few roundings more than the constructor leaves alone: keep their bits.
    return SSP.trusted(support, checked.losses, probabilities.astype(np.float64, copy=False), start, checked.loss_scale)
