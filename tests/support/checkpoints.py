"""Checkpoints taken apart, and damaged."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Header = dict[str, Any]
Arrays = dict[str, NDArray[Any]]
Damage = Callable[[Header, Arrays], None]


def parts(data: bytes) -> tuple[Header, Arrays]:
    """The header and the arrays of a checkpoint, free to be changed."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        arrays = {
            name.removesuffix(".npy"): np.load(io.BytesIO(file.read(name)))
            for name in file.namelist()
            if name.endswith(".npy")
        }
        return json.loads(file.read("header.json")), arrays


def in_array(name: str, value: Any, place: Any = 0) -> Damage:
    def damage(header: Header, arrays: Arrays) -> None:
        arrays[name].reshape(-1)[place] = value

    return damage


def in_episode(number: int, name: str, value: Any, place: Any = 0) -> Damage:
    """A damage in the row of one open episode."""

    def damage(header: Header, arrays: Arrays) -> None:
        arrays[f"episodes.{name}"][number : number + 1].reshape(-1)[place] = value

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
