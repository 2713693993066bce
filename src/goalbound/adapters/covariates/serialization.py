"""Maps as JSON, as digests and as files. Nothing read is executed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import MISSING, fields
from os import PathLike
from typing import Any

import numpy as np

from goalbound.adapters.covariates.composite import Additive, Tensor
from goalbound.adapters.covariates.covariate_map import CovariateMap
from goalbound.adapters.covariates.multivariate import FromTransformer, SoftClusters
from goalbound.adapters.covariates.univariate import Categories, Hats, Periodic
from goalbound.errors import ArgumentError, FileFormatError
from goalbound.models.files.array_file import FORMAT, check_keys, read_array_file, write_array_file
from goalbound.models.files.io import (
    LIMIT,
    as_format_errors,
)
from goalbound.models.validation import (
    short_repr,
)

KIND, VERSION = "CovariateMap", 1
MAX_DEPTH = 8
"""How deep maps may be nested."""

_KINDS: dict[str, Any] = {kind.__name__: kind for kind in (Hats, Periodic, Categories, SoftClusters, Additive, Tensor)}


def map_as_json(map: CovariateMap) -> dict[str, Any]:
    """The map as JSON can say it, every number to the bit.

    >>> map_as_json(Hats([0, 1]))
    {'kind': 'Hats', 'knots': [0.0, 1.0], 'clamp': False, 'missing': None}
    """
    if isinstance(map, FromTransformer):
        if map.identity is None:
            raise ArgumentError(
                "this FromTransformer has no identity; give identity=, words that change whenever it does"
            )
        return {"kind": "FromTransformer", "names": list(map.names), "identity": map.identity}
    if _KINDS.get(type(map).__name__) is not type(map):
        raise ArgumentError(
            f"a {type(map).__name__} is not a map of goalbound, and cannot be written; see FromTransformer for your own"
        )
    return {"kind": type(map).__name__, **{one.name: _plain(getattr(map, one.name)) for one in fields(map)}}  # type: ignore[arg-type]


def map_from_json(values: Any) -> CovariateMap:
    """The map that :func:`map_as_json` wrote; all is checked as if a person had typed it.

    >>> map_from_json({"kind": "Hats", "knots": [0.0, 1.0], "clamp": True, "missing": None})(2.0)
    array([0., 1.])
    """
    return _build_map(values, complete=True)


def map_from_settings(values: Any) -> CovariateMap:
    """A map as people write it, in TOML for instance: as in JSON, but what has a default may be left out.

    >>> map_from_settings({"kind": "Hats", "knots": [0, 1], "clamp": True})(2.0)
    array([0., 1.])
    """
    return _build_map(values, complete=False)


def map_digest(map: CovariateMap) -> str:
    """The SHA-256 of the kind and of all numbers and words of a map: another map has another one."""
    text = json.dumps(map_as_json(map), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def save_map(map: CovariateMap, path: str | PathLike[str]) -> None:
    """Write a map to a file that :func:`load_map` reads; complete or not at all."""
    values = map_as_json(map)
    map_from_json(values)  # what could not be read back is not written
    header = {"format": FORMAT, "version": VERSION, "kind": KIND, "map": values, "digest": map_digest(map)}
    write_array_file(path, header, {})


def load_map(path: str | PathLike[str], *, limit: int = LIMIT) -> CovariateMap:
    """Read a map written by :func:`save_map`, of at most ``limit`` bytes: it gives the same contexts, bit for bit."""
    header, _ = read_array_file(path, kind=KIND, versions=[VERSION], arrays={}, what="map of covariates", limit=limit)
    with as_format_errors(path, "map"):
        check_keys(header, ("map", "digest"))
        found = map_from_json(header["map"])
        check_digest(found, header["digest"])
    return found


def check_digest(map: CovariateMap, digest: Any) -> None:
    """An error unless the map has this digest."""
    own = map_digest(map)
    if own != digest:
        raise FileFormatError(
            f"the map has digest {own[:12]}..., and {str(digest)[:12]}... is needed: it is another map, or was "
            "changed. A learner can only be resumed with the map that it has learned with"
        )


def _build_map(values: Any, *, complete: bool, depth: int = 0) -> CovariateMap:
    """The map of these settings; ``complete``: none may be left out."""
    if depth > MAX_DEPTH:
        raise ArgumentError(f"maps are nested more than {MAX_DEPTH} deep")
    if not isinstance(values, dict) or not isinstance(values.get("kind"), str):
        raise ArgumentError(f"a map is {short_repr(values)}; it needs an object with a kind")
    name = values["kind"]
    if name == "FromTransformer":
        raise ArgumentError(
            f"the map is a FromTransformer ({values.get('identity')!r}), which no file can hold; make it again, and "
            "give it where the learner is loaded: CovariateLearner.load(path, map=...)"
        )
    kind = _KINDS.get(name)
    if kind is None:
        raise ArgumentError(f"no map is of kind {name!r}; there are {', '.join(_KINDS)}")
    keys = ", ".join(["kind", *(one.name for one in fields(kind))])
    given = {key: value for key, value in values.items() if key != "kind"}
    for key in given:
        if key not in (one.name for one in fields(kind)):
            raise ArgumentError(f"{short_repr(key)} is no key of a {name}; there are {keys}")
    for one in fields(kind):
        if one.name not in given and (complete or one.default is MISSING):
            raise ArgumentError(f"a {name} has no {one.name}; it needs {keys}")
    if "maps" in given:
        if not isinstance(given["maps"], list):
            raise ArgumentError(f"maps of a {name} is not a list")
        given["maps"] = [_nested_map(one, place, complete, depth + 1) for place, one in enumerate(given["maps"])]
    made: CovariateMap = kind(**given)
    return made


def _nested_map(values: Any, place: int, complete: bool, depth: int) -> CovariateMap:
    """One of the maps of another; errors say which."""
    try:
        return _build_map(values, complete=complete, depth=depth)
    except ArgumentError as error:
        raise ArgumentError(f"maps[{place}]: {error}") from None


def _plain(value: Any) -> Any:
    """Arrays and tuples as lists, maps as objects."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return map_as_json(value)
