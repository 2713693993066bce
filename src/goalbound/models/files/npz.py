"""goalbound's own files of problems: arrays and a JSON header, exact to the bit.

The header has names, ``loss_scale`` and, where it is a state, ``start``; the arrays are ``pair_start``,
``pair_action``, ``next_start``, ``next_state``, ``losses``, ``probabilities`` and, where the start is a distribution,
``start``. :func:`support_arrays` and :func:`support_from` serve other array files that hold a support.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goalbound import models
from goalbound.errors import FileFormatError
from goalbound.models.files.array_file import FORMAT, check_keys, check_present, read_array_file, write_array_file
from goalbound.models.files.io import LIMIT, as_format_errors
from goalbound.models.support import GOAL, Support

if TYPE_CHECKING:
    from goalbound.models import SSP, LinearCSSP

SUPPORT_ARRAYS: Mapping[str, str] = {
    "pair_start": "<i8",
    "pair_action": "<i4",
    "next_start": "<i8",
    "next_state": "<i4",
}
"""The arrays of a support in an array file, with their types."""

_VERSION = 1
_NEEDED = {**SUPPORT_ARRAYS, "losses": "<f8", "probabilities": "<f8"}
GOAL_KEYS = ("goal_name",)
"""Keys of headers with a support that need not be there."""
_KEYS = ("state_names", "action_names", "component_names", "loss_scale", "start")


def write_npz(problem: SSP | LinearCSSP, path: str | PathLike[str]) -> None:
    """Write a problem so that :func:`read_npz` gives it back to the bit, names and start included.

    The file appears complete or not at all, and the same problem gives the same bytes.
    """
    start = problem.start
    header: dict[str, Any] = {
        "format": FORMAT,
        "version": _VERSION,
        "kind": type(problem).__name__,
        "loss_scale": problem.loss_scale,
        "start": start if isinstance(start, int) else None,
        "state_names": problem.support.state_names,
        "action_names": problem.support.action_names,
        "component_names": problem.component_names if isinstance(problem, models.LinearCSSP) else None,
        **goal_header(problem.support),
    }
    arrays = support_arrays(problem.support) | {"losses": problem.losses, "probabilities": problem.probabilities}
    if not isinstance(start, int):
        arrays["start"] = start
    write_array_file(path, header, arrays)


def read_npz(path: str | PathLike[str], *, limit: int = LIMIT) -> SSP | LinearCSSP:
    """Read what :func:`write_npz` wrote; anything else is a :class:`FileFormatError` that says what is wrong."""
    kinds, types = ("SSP", "LinearCSSP"), {**_NEEDED, "start": "<f8"}
    header, arrays = read_array_file(path, kind=kinds, versions=[_VERSION], arrays=types, what="problem", limit=limit)
    with as_format_errors(path, "npz"):
        check_keys(header, _KEYS, GOAL_KEYS)
        check_present(arrays, _NEEDED)
        return _problem(header, arrays)


def support_arrays(support: Support) -> dict[str, NDArray[Any]]:
    """The arrays that :func:`support_from` makes the support from; its names go into the header, as they are.

    >>> support_arrays(Support.full(1, 2))["next_state"]
    array([0, 1, 0, 1], dtype=int32)
    """
    return {name: getattr(support, name) for name in SUPPORT_ARRAYS}


def goal_header(support: Support) -> dict[str, str]:
    """What a header says of the goal: its name, where it is not the usual one."""
    return {} if support.goal_name == GOAL else {"goal_name": support.goal_name}


def support_from(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Support:
    """The support in what was read: ``SUPPORT_ARRAYS`` and, in the header, ``state_names``, ``action_names`` and
    perhaps ``goal_name``.

    >>> support = Support.full(1, 2)
    >>> support_from({"state_names": None, "action_names": None}, support_arrays(support)) == support
    True
    """
    check_present(arrays, SUPPORT_ARRAYS)
    names = {key: _names(header, key) for key in ("state_names", "action_names")}
    parts: dict[str, Any] = {name: arrays[name] for name in SUPPORT_ARRAYS}
    return Support(**parts, **names, goal_name=header.get("goal_name", GOAL))


def _names(header: Mapping[str, Any], key: str) -> Any:
    if key not in header:
        raise FileFormatError(f"the header has no {key}")
    names = header[key]
    if not (names is None or isinstance(names, list)):
        raise FileFormatError(f"{key} is neither a list nor null")
    return names


def _problem(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> SSP | LinearCSSP:
    component_names = _names(header, "component_names")
    if type(header["loss_scale"]) not in (float, int):
        raise FileFormatError(f"loss_scale is {header['loss_scale']!r}, not a number")
    if header["start"] is not None and type(header["start"]) is not int:
        raise FileFormatError(f"start is {header['start']!r}, neither a state nor null")
    if (header["start"] is None) != ("start" in arrays):
        raise FileFormatError("the start must be either a state in the header or a distribution in start.npy")
    support = support_from(header, arrays)
    start: Any = arrays.get("start", header["start"])
    losses, probabilities, scale = arrays["losses"], arrays["probabilities"], header["loss_scale"]
    if header["kind"] == "LinearCSSP":
        return models.LinearCSSP(support, losses, probabilities, start, component_names, scale)
    if component_names is not None:
        raise FileFormatError("a problem without context has component_names")
    checked = models.SSP(support, losses, probabilities, start, scale)
    # The rows of a mixture may be off by a few roundings more than the constructor leaves alone: keep their bits.
    return models.SSP._unchecked(**(vars(checked) | {"probabilities": probabilities.astype(np.float64, copy=False)}))
