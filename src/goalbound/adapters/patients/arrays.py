"""The arrays of a patient table, read from an ``.npz`` file without trusting it."""

from __future__ import annotations

import io
import math
import warnings
import zipfile
import zlib
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError, ModelError
from goalbound.models.files.io import UNPACKED_WEIGHT, read_bytes
from goalbound.models.validation import check_array

SLACK = 1e-4
"""How far a row may sum from 1; the files hold float32. Rows are divided by their sums."""

DEATH, LIVE, DISCHARGE = -1.0, 0.0, 1.0

_NEEDED = {
    "tx_mat": "[d, A, n, n], the chances of next states for each group, action and state",
    "reward_of_next_state": "[n], -1 for death, 1 for discharge, 0 for all others",
    "p_initial_state": "[d, n], where patients of each group begin",
}
_SHARES = "p_mixture"


class Arrays(NamedTuple):
    """What a file says, checked: d groups, A actions, n states of which L are live."""

    rows: NDArray[np.float64]
    """[d, A, L, n] chances of next states from live states; sums are 1 up to rounding"""
    kind: NDArray[np.float64]
    """[n] DEATH, LIVE or DISCHARGE"""
    start: NDArray[np.float64]
    """[d, L]"""
    shares: NDArray[np.float64] | None
    """[d] how many of the patients are of each group, where the file says it"""
    correction: float
    """the largest |sum - 1| of a row before it was divided by its sum"""

    @property
    def live(self) -> NDArray[np.int64]:
        """[L] the file's numbers of the live states."""
        return np.flatnonzero(self.kind == LIVE)


def read_arrays(path: str | PathLike[str], *, limit: int) -> Arrays:
    """The arrays of a file, checked; to be called inside :func:`~goalbound.models.files.io.as_format_errors`."""
    found = _load(path, limit)
    table = check_array(found["tx_mat"], "tx_mat", (None, None, None, None), _NEEDED["tx_mat"])
    groups, _, states, _ = table.shape
    if 0 in table.shape or table.shape[3] != states:
        raise FileFormatError(f"tx_mat has shape {table.shape}; it needs {_NEEDED['tx_mat']}")
    kind = _kinds(found["reward_of_next_state"], states)
    live = np.flatnonzero(kind == LIVE)
    rows, off = _normalised(table[:, :, live], lambda at: f"tx_mat[{at[0]}, {at[1]}, {live[at[2]]}]")
    start = check_array(found["p_initial_state"], "p_initial_state", (groups, states), _NEEDED["p_initial_state"])
    start, off_start = _normalised(start, lambda at: f"p_initial_state[{at[0]}]")
    _check_live(start, kind)
    shares = None
    if _SHARES in found:
        shares = check_array(found[_SHARES], _SHARES, (groups,), f"[d] = ({groups},), the share of each group")
        shares, _ = _normalised(shares, lambda at: _SHARES)
    return Arrays(rows, kind, start[:, live], shares, max(off, off_start))


def _load(path: str | PathLike[str], limit: int) -> dict[str, NDArray[Any]]:
    """The arrays that we know, by name. Sizes are checked before memory is asked for; nothing else is opened."""
    found: dict[str, NDArray[Any]] = {}
    with zipfile.ZipFile(io.BytesIO(read_bytes(path, limit))) as archive:
        members = {name.removesuffix(".npy"): name for name in archive.namelist()}
        for name, meaning in _NEEDED.items():
            if name not in members:
                has = ", ".join(sorted(members)) or "nothing"
                raise FileFormatError(f"{name} is missing (the file has {has}); it is {meaning}")
        room = limit
        for name in (*_NEEDED, _SHARES):
            if name not in members:
                continue
            info = archive.getinfo(members[name])
            size, compression = info.file_size, info.compress_type
            if compression not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise FileFormatError(
                    f"{name} is compressed in a way that NumPy does not; save it again with numpy.savez"
                )
            room -= size if compression == zipfile.ZIP_STORED else UNPACKED_WEIGHT * size
            if room < 0:
                raise FileFormatError(
                    f"{name} has {size} bytes; with the others that is above {limit}: raise it with limit="
                )
            with archive.open(members[name]) as file:
                found[name] = _array(name, file, size)
    return found


def _array(name: str, file: Any, size: int) -> NDArray[Any]:
    """One array of numbers; what would need Python objects is refused, not unpickled."""
    shape, by_column, dtype = _header(name, file)
    if dtype.kind not in "fiu":
        raise FileFormatError(f"{name} holds {dtype}; it needs plain numbers")
    left = size - file.tell()
    if math.prod(shape) * dtype.itemsize != left:
        raise FileFormatError(f"{name} claims shape {shape} of {dtype}, and {left} bytes follow; save the file again")
    return np.frombuffer(file.read(left), dtype).reshape(shape, order="F" if by_column else "C")


def _header(name: str, file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and type of an array. NumPy parses the header as a Python literal, with any error of a parser."""
    try:
        with warnings.catch_warnings():  # of a parser about the text of a header
            warnings.simplefilter("ignore")
            version = np.lib.format.read_magic(file)
            if version == (1, 0):
                return np.lib.format.read_array_header_1_0(file)
            if version == (2, 0):
                return np.lib.format.read_array_header_2_0(file)
    except (zipfile.BadZipFile, zlib.error, EOFError):
        raise
    except Exception as error:
        raise FileFormatError(
            f"the npy header of {name} is damaged ({type(error).__name__}); save the file again"
        ) from None
    raise FileFormatError(f"{name} is of npy version {version}; save it again with numpy.savez")


def _kinds(given: NDArray[Any], states: int) -> NDArray[np.float64]:
    name = "reward_of_next_state"
    kind = check_array(given, name, (states,), _NEEDED[name])
    odd = np.flatnonzero(~np.isin(kind, (DEATH, LIVE, DISCHARGE)))
    if len(odd):
        raise FileFormatError(f"{name}[{odd[0]}] is {kind[odd[0]]}; it is -1 (death), 1 (discharge) or 0 (neither)")
    for what, value in (("live state (0)", LIVE), ("discharge (1)", DISCHARGE)):
        if not (kind == value).any():
            raise FileFormatError(f"{name} has no {what}; a table needs at least one")
    return kind


def _normalised(values: NDArray[np.float64], place: Any) -> tuple[NDArray[np.float64], float]:
    """Distributions along the last axis, divided by their sums, and how far the worst sum was from 1."""
    good = (values >= 0.0) & (values <= 1.0 + SLACK)  # false for NaN
    if not good.all():
        at = tuple(int(i) for i in np.argwhere(~good)[0])
        raise FileFormatError(f"{place(at)}, entry {at[-1]}: {values[at]} is no probability; it needs 0 to 1")
    sums = values.sum(axis=-1)
    off = np.abs(sums - 1.0)
    if off.max() > SLACK:
        at = tuple(int(i) for i in np.argwhere(off > SLACK)[0])
        raise FileFormatError(
            f"{place(at)} sums to {sums[at]:.9g}, not 1; what is off by up to {SLACK:g} is divided by its sum, and "
            "this is more: correct the table"
        )
    return values / sums[..., None], float(off.max())


def _check_live(start: NDArray[np.float64], kind: NDArray[np.float64]) -> None:
    wrong = np.argwhere((start > 0.0) & (kind != LIVE))
    if len(wrong):
        group, state = (int(i) for i in wrong[0])
        end = "death" if kind[state] == DEATH else "discharge"
        raise ModelError(
            f"p_initial_state[{group}, {state}] is {start[group, state]:g}, but state {state} is a {end}; patients "
            "begin in live states: move that share to one"
        )
