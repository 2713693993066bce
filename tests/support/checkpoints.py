"""Checkpoints taken apart, and damaged."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Header = dict[str, Any]
Arrays = dict[str, NDArray[Any]]
Damage = Callable[[Header, Arrays], None]


def parts(data: bytes) -> tuple[Header, Arrays]:
    """The header and the arrays of a checkpoint, those of episodes one by one, free to be changed."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        arrays = {
            name.removesuffix(".npy"): np.load(io.BytesIO(file.read(name)))
            for name in file.namelist()
            if name.endswith(".npy")
        }
        header = json.loads(file.read("header.json"))
        return header, apart(arrays)


def apart(arrays: Arrays) -> Arrays:
    """Every column of episodes (``episodes.context``) as the arrays of each (``episode_0.context``, ...)."""
    found: Arrays = {}
    for name, array in arrays.items():
        field = name.removeprefix("episodes")
        found |= {name: array} if field == name else {f"episode_{n}{field}": row for n, row in enumerate(array)}
    return found


def joined(arrays: Arrays) -> Arrays:
    """:func:`apart` undone."""
    rows: dict[str, list[NDArray[Any]]] = {}
    for name, array in arrays.items():
        rows.setdefault(re.sub(r"^episode_[0-9]+", "episodes", name), []).append(array)
    return {name: np.stack(parts) if name.startswith("episodes") else parts[0] for name, parts in rows.items()}


def in_array(name: str, value: Any, place: Any = 0) -> Damage:
    def damage(header: Header, arrays: Arrays) -> None:
        arrays[name].reshape(-1)[place] = value

    return damage


def in_header(value: Any, *keys: str | int) -> Damage:
    def damage(header: Any, arrays: Arrays) -> None:
        for key in keys[:-1]:
            header = header[key]
        header[keys[-1]] = value

    return damage


def renamed(old: str, new: str) -> Damage:
    def damage(header: Header, arrays: Arrays) -> None:
        arrays[new] = arrays.pop(old)

    return damage


def instead(name: str, array: Any) -> Damage:
    def damage(header: Header, arrays: Arrays) -> None:
        arrays[name] = np.array(array)

    return damage


def without(name: str) -> Damage:
    return lambda header, arrays: arrays.__delitem__(name)
