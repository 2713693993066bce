"""UMB, the unified Markov binary: the format that PRISM, Storm and Modest share.

A tar archive (plain, gzip or xz) with ``index.json`` and little-endian arrays. The specification is at
https://github.com/pmc-tools/umb (version 1); what is read here is what an SSP can be made of.
The size of each binary member is checked against the index before an array is made of it.

Archives are not read by ``tarfile``, which takes a damaged header for the end of an archive and, in Pythons that we
support, half an hour for an extended header of 1 MB (docs/decisions/0014-libraries.md).
"""

from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
from collections.abc import Iterable, Mapping
from itertools import pairwise
from os import PathLike
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError, ModelError
from goalbound.models.amounts import cap_entry, cap_in, cap_of
from goalbound.models.files.explicit_mdp import (
    ExplicitMDP,
    from_ssp,
    select_name,
    sum_rewards,
    to_ssp,
)
from goalbound.models.files.io import (
    LIMIT,
    UNPACKED_WEIGHT,
    as_format_errors,
    atomic_write,
    read_bytes,
    strict_json,
    warn_if_large,
)
from goalbound.models.ssp import SSP

BLOCK = 512
"""The bytes of a block of a tar archive."""
_MOST_MEMBERS = 65536
_LONGEST_HEADER = 65536
_EMPTY = bytes(BLOCK)
_PAX = re.compile(rb"[1-9][0-9]* ([^=\n]+)=([^\n]*)\n")
_MOST_ACTIONS = 65536
_LONGEST_INDEX = 64 * 2**20
_KINDS = {("stochastic", 0): "a CTMC", ("stochastic", 1): "a CTMDP", ("urgent-stochastic", 1): "a Markov automaton"}
_EXACT = 2**53  # whole numbers up to here are doubles
_LARGEST_RATIONAL = 2**16
_WHOLE = {"type": "uint", "size": 64}
_ACTIONS = "actions/choices/"


def read_umb(path: str | PathLike[str], *, loss: str | None = None, goal: str | None = None, limit: int = LIMIT) -> SSP:
    """Read a DTMC or an MDP from a UMB file as a stochastic shortest path problem.

    Args:
        path: the file; gzip and xz are recognised.
        loss: the reward model that is the loss, by alias or identifier. May be left out if there is only one.
        goal: the label (atomic proposition) of the goal states, likewise; labels of no or of all states do not count.
        limit: the most bytes the file may have; what comes out of a compressed one may be an eighth of it.

    States under the label become the goal, the others keep their order. The loss of a pair is the reward of its state
    plus that of its choice plus the mean of those of its branches. Losses above 1 are divided by the smallest power of
    two that no loss exceeds, which is exact, and that is the ``loss_scale``. One initial state is the start; several
    (UMB gives them no weights) are equally likely. Choices of one state with the same action become actions of their
    own, ``name#2`` and so on. A DTMC has one action per state. Probabilities may be doubles or rationals, which
    are rounded once. Valuations are skipped: states have no names.
    """
    with as_format_errors(path, "UMB"):
        data = read_bytes(path, limit)
        if not is_tar(data):
            raise FileFormatError("this is no UMB file: no tar archive")
        members = tar_members(data)
        if "index.json" not in members:
            raise FileFormatError("index.json is missing; this archive is no UMB file")
        if len(members["index.json"]) > _LONGEST_INDEX:
            raise FileFormatError(f"index.json has {len(members['index.json'])} bytes; {_LONGEST_INDEX} is the most")
        index = strict_json(bytes(members["index.json"]), "index.json")
        return to_ssp(_Reader(index, members, limit).explicit_mdp(loss, goal))


def write_umb(ssp: SSP, path: str | PathLike[str], *, compress: bool = False) -> None:
    """Write a problem as a UMB file: an MDP with the reward model ``loss`` and the label ``goal``.

    The goal is the last state, with a loop. Losses are in the user's unit (times ``loss_scale``, which is noted in the
    index). :func:`read_umb` gives an equal problem, to the bit, but for what UMB cannot say: state names are lost, a
    distribution on one state is read as that state, and a start that is not uniform over its states is an error. With
    a ``loss_scale`` that is not a power of two, a loss that is not a quotient of a number by the scale may change in
    its last bit. A single action named ``""`` is read as one without a name. ``compress`` uses gzip.
    """
    model = from_ssp(ssp)
    members = {
        "index.json": json.dumps(_index_of(ssp, model), indent=2).encode(),
        "state-to-choices.bin": model.choice_start.astype("<u8").tobytes(),
        "state-is-initial.bin": _bits_data(model.initial),
        "choice-to-branches.bin": model.branch_start.astype("<u8").tobytes(),
        "branch-to-target.bin": model.target.astype("<u8").tobytes(),
        "branch-to-probability.bin": model.probability.astype("<f8").tobytes(),
        f"{_ACTIONS}values.bin": cast("NDArray[np.int64]", model.action).astype("<u4").tobytes(),
    }
    if model.action_names is not None:
        names = [_utf8(name) for name in model.action_names]
        ends = np.cumsum([0, *map(len, names)])
        members[f"{_ACTIONS}string-mapping.bin"] = ends.astype("<u8").tobytes()
        members[f"{_ACTIONS}strings.bin"] = b"".join(names)
    members["annotations/aps/goal/states/values.bin"] = _bits_data(model.goal)
    members["annotations/rewards/loss/choices/values.bin"] = model.choice_loss.astype("<f8").tobytes()
    with atomic_write(path) as file:
        if compress:
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                write_tar(cast("BinaryIO", packed), members.items())
        else:
            write_tar(file, members.items())
        size = file.seek(0, io.SEEK_END)
    unpacked = sum(len(content) + 1024 for content in members.values()) + 1024  # a tar has headers, and pads
    warn_if_large(path, UNPACKED_WEIGHT * unpacked if compress else size)


def _utf8(name: str) -> bytes:
    try:
        return name.encode("utf-8")
    except UnicodeEncodeError:
        raise ModelError(f"the action name {name!r} cannot be written in UTF-8; name it otherwise") from None


def _index_of(ssp: SSP, model: ExplicitMDP) -> dict[str, Any]:
    double = {"type": "double", "size": 64}
    return {
        "format-version": 1,
        "format-revision": 0,
        "file-data": {"tool": "goalbound", "parameters": cap_entry(cap_of(ssp))},
        "transition-system": {
            "time": "discrete",
            "#players": 1,
            "#states": len(model.goal),
            "#initial-states": int(model.initial.sum()),
            "#choices": len(model.choice_loss),
            "#choice-actions": ssp.support.actions,
            "#branches": len(model.target),
            "#branch-actions": 0,
            "#observations": 0,
            "branch-probability-type": double,
        },
        "annotations": {
            "rewards": {"loss": {"alias": "loss", "applies-to": ["choices"], "type": double, "lower": 0}},
            "aps": {"goal": {"alias": "goal", "applies-to": ["states"], "type": {"type": "bool", "size": 1}}},
        },
    }


def _bits_data(flags: NDArray[np.bool_]) -> bytes:
    """A bit vector as bytes, padded to 64 bits."""
    return np.packbits(np.pad(flags, (0, -len(flags) % 64)), bitorder="little").tobytes()


Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class _Annotation(NamedTuple):
    """A label or a reward model, under its alias or, failing that, its identifier."""

    identifier: str
    description: dict[str, Any]


class _Reader:
    """The index of a UMB file and the bytes of its members."""

    def __init__(self, index: dict[str, Any], members: Mapping[str, memoryview], limit: int) -> None:
        if index.get("format-version") not in (0, 1):
            raise FileFormatError(f"UMB version {index.get('format-version')!r}; versions 0 and 1 are read")
        self.index, self.members = index, members
        self.system = _object(index, "transition-system")
        self._check_kind()
        self.states, self.choices, self.branches, self.actions = (
            _whole(self.system, key) for key in ("#states", "#choices", "#branches", "#choice-actions")
        )
        if 8 * (self.states + self.choices + self.branches) > limit:
            raise FileFormatError(
                f"the index claims {self.states} states, {self.choices} choices and {self.branches} branches, "
                f"more than fits {limit} bytes; raise it with limit="
            )
        if self.actions > self.choices + _MOST_ACTIONS:
            raise FileFormatError(f"{self.actions} actions for {self.choices} choices; most would be unused")

    def _check_kind(self) -> None:
        time, players = self.system.get("time"), _whole(self.system, "#players")
        if time != "discrete":
            kind = _KINDS.get((str(time), players), f"a model of {time!r} time")
            raise FileFormatError(f"this is {kind}; only discrete time (DTMC, MDP) is a shortest path problem")
        if players > 1:
            raise FileFormatError(f"this is a game of {players} players; only DTMC and MDP are read")
        if _whole(self.system, "#observations"):
            raise FileFormatError("this is a POMDP; only DTMC and MDP are read")
        if "branch-probability-type" not in self.system:
            raise FileFormatError("this is a transition system without probabilities; only DTMC and MDP are read")

    def explicit_mdp(self, loss: str | None, goal: str | None) -> ExplicitMDP:
        """The model in the file."""
        goal_states = self._goal(goal)  # first: it is as long as the states are many
        kind = _object(self.system, "branch-probability-type")
        probability = self._values("branch-to-probability.bin", kind, self.branches).astype(np.float64)
        choice_start = self._starts("state-to-choices.bin", self.states, self.choices)
        branch_start = self._starts("choice-to-branches.bin", self.choices, self.branches)
        if self.system["#players"] == 0 and (np.diff(choice_start) > 1).any():
            raise FileFormatError("the file says it is a DTMC (no player), but a state has several choices")
        target = self._values("branch-to-target.bin", _WHOLE, self.branches, default=0)
        if target.max(initial=0) >= max(self.states, 1):
            raise FileFormatError(f"branch-to-target.bin leads to state {target.max()}; there are {self.states} states")
        action, names = self._actions()
        return ExplicitMDP(
            choice_start=choice_start,
            branch_start=branch_start,
            target=target.astype(np.int64),
            probability=probability,
            choice_loss=self._choice_losses(loss, choice_start, branch_start, probability),
            goal=goal_states,
            initial=self._bits("state-is-initial.bin"),
            action=action,
            action_names=names,
            cap=self._recorded_scale(),
        )

    def _recorded_scale(self) -> float | None:
        origin = self.index.get("file-data")
        if not isinstance(origin, dict) or origin.get("tool") != "goalbound":
            return None
        return cap_in(_object(origin, "parameters", default=True), "the index")

    def _annotations(self, group: str) -> dict[str, _Annotation]:
        found: dict[str, _Annotation] = {}
        annotations = _object(_object(self.index, "annotations", default=True), group, default=True)
        for identifier in annotations:
            description = _object(annotations, identifier)
            name = description.get("alias", identifier)
            if not isinstance(name, str) or name in found:
                raise FileFormatError(
                    f"annotation {group}/{identifier} has the alias {name!r}, which is taken or no text"
                )
            found[name] = _Annotation(identifier, description)
        return found

    def _goal(self, goal: str | None) -> NDArray[np.bool_]:
        labels = self._annotations("aps")
        places = {name: f"annotations/aps/{label.identifier}/states/values.bin" for name, label in labels.items()}
        candidates = []
        for name, place in places.items() if goal is None else ():
            held = self._bits(place) if place in self.members else np.zeros(1, dtype=bool)
            if held.any() and not held.all():
                candidates.append(name)
        chosen = select_name(_alias(goal, labels), list(labels), candidates, "label", "goal")
        if places[chosen] not in self.members:
            raise FileFormatError(f'the label "{chosen}" holds in no state; there is no goal')
        return self._bits(places[chosen])

    def _choice_losses(self, loss: str | None, choice_start: Ints, branch_start: Ints, probability: Floats) -> Floats:
        models = self._annotations("rewards")
        chosen = select_name(_alias(loss, models), list(models), list(models), "reward model", "loss")
        identifier, description = models[chosen]
        where = description.get("applies-to")
        if not isinstance(where, list) or not where or not {"states", "choices", "branches"} >= set(map(str, where)):
            raise FileFormatError(
                f'the reward model "{chosen}" applies to {where!r}, not to states, choices or branches'
            )
        if "probability-type" in description:
            raise FileFormatError(f'the reward model "{chosen}" is random; only plain numbers are read')
        parts: list[NDArray[np.float64]] = []
        for entity, count in (("states", self.states), ("choices", self.choices), ("branches", self.branches)):
            if entity not in where:
                continue
            member = f"annotations/rewards/{identifier}/{entity}/values.bin"
            part = self._values(member, _object(description, "type"), count, default=0).astype(np.float64)
            if entity == "states":
                part = np.repeat(part, np.diff(choice_start))
            elif entity == "branches":
                choice = np.repeat(np.arange(self.choices), np.diff(branch_start))
                mean = np.bincount(choice, weights=part * probability, minlength=self.choices)
                below = np.bincount(choice, weights=np.minimum(part, 0.0) * probability, minlength=self.choices)
                part = np.where(below < 0.0, below, mean)  # negative rewards are errors: none may hide another
            parts.append(part)
        return sum_rewards(parts)

    def _actions(self) -> tuple[NDArray[np.int64] | None, tuple[str, ...] | None]:
        if self.actions == 0:
            return None, None
        member, mapping = f"{_ACTIONS}values.bin", f"{_ACTIONS}string-mapping.bin"
        action = self._values(member, {"type": "uint", "size": 32}, self.choices, default=0)
        if action.max(initial=0) >= self.actions:
            raise FileFormatError(f"{member} holds action {action.max()}; there are {self.actions}")
        names = None
        if mapping in self.members:
            text = bytes(self.members.get(f"{_ACTIONS}strings.bin", b""))
            ends = self._starts(mapping, self.actions, len(text)).tolist()
            names = tuple(text[first:last].decode("utf-8") for first, last in pairwise(ends))
        return action.astype(np.int64), names

    def _starts(self, name: str, sources: int, targets: int) -> NDArray[np.int64]:
        """A CSR mapping, [sources + 1]; where the member is absent, everything maps to itself."""
        if name not in self.members:
            if sources != targets:
                raise FileFormatError(f"{name} is missing, and {sources} entries cannot map one to one to {targets}")
            return np.arange(sources + 1)
        array = self._plain(name, "<u8", sources + 1)
        if array[0] != 0 or array[-1] != targets or (array[1:] < array[:-1]).any():
            raise FileFormatError(f"{name} does not rise from 0 to {targets}")
        return array.astype(np.int64)

    def _bits(self, name: str) -> NDArray[np.bool_]:
        """A bit for each state, least bit first, padded to 64 bits; all false where the member is absent."""
        if name not in self.members:
            return np.zeros(self.states, dtype=bool)
        size, wanted = len(self.members[name]), -(-self.states // 64) * 8
        if size != wanted:
            raise FileFormatError(f"{name} has {size} bytes; {self.states} bits take {wanted}")
        found = np.unpackbits(np.frombuffer(self.members[name], np.uint8), bitorder="little")
        if found[self.states :].any():
            raise FileFormatError(f"{name} has bits set beyond the {self.states} there are")
        return found[: self.states].view(bool)

    def _values(self, name: str, kind: dict[str, Any], count: int, *, default: int | None = None) -> NDArray[Any]:
        """[count] numbers of the type the index gives: double, rational (rounded once to double), int or uint."""
        what = kind.get("type")
        size = kind.get("size", 128 if what == "rational" else 64)
        if what not in ("double", "rational", "int", "uint") or type(size) is not int:
            raise FileFormatError(
                f"{name} is encoded as {what!r} of {size!r} bits; double, rational, int, uint are read"
            )
        if name not in self.members:
            if default is None:
                raise FileFormatError(f"{name} is missing")
            return np.full(count, default, dtype=np.int64)
        if what == "rational":
            return self._rationals(name, size, count)
        if size not in ((64,) if what == "double" else (8, 16, 32, 64)):
            raise FileFormatError(f"{name} is encoded as {what!r} of {size} bits, which is not read")
        return self._plain(name, f"<{'f' if what == 'double' else what[0]}{size // 8}", count)

    def _plain(self, name: str, dtype: str, count: int) -> NDArray[Any]:
        size, width = len(self.members[name]), np.dtype(dtype).itemsize
        if size != count * width:
            raise FileFormatError(f"{name} has {size} bytes; {count} entries of {width} take {count * width}")
        return np.frombuffer(self.members[name], dtype)

    def _rationals(self, name: str, size: int, count: int) -> NDArray[np.float64]:
        """Rationals of ``size`` bits: half for a signed numerator, half for an unsigned denominator."""
        if size % 128 or not 0 < size <= _LARGEST_RATIONAL:
            raise FileFormatError(f"{name} holds rationals of {size} bits; it must be a multiple of 128")
        rows = self._plain(name, f"V{size // 8}", count)
        if size == 128:
            parts = np.frombuffer(self.members[name], "<i8").reshape(count, 2)
            above, below = parts[:, 0], parts[:, 1].view("<u8")
            if (np.abs(above) <= _EXACT).all() and (above > -_EXACT).all() and ((below > 0) & (below <= _EXACT)).all():
                return above / below.astype(np.float64)
        different, index = np.unique(rows, return_inverse=True)
        return np.array([_quotient(bytes(row), name) for row in different])[index]


def _quotient(row: bytes, name: str) -> float:
    half = len(row) // 2
    above, below = int.from_bytes(row[:half], "little", signed=True), int.from_bytes(row[half:], "little")
    if below == 0:
        raise FileFormatError(f"{name} holds a rational with the denominator 0")
    return above / below  # whole numbers divide correctly rounded, however large


def _alias(name: str | None, annotations: Mapping[str, _Annotation]) -> str | None:
    """The name of what is called so by alias or, failing that, by identifier."""
    if name is None or name in annotations:
        return name
    return next((alias for alias, annotation in annotations.items() if annotation.identifier == name), name)


def _whole(fields: dict[str, Any], key: str) -> int:
    value = fields.get(key)
    if type(value) is not int or not 0 <= value < 2**63:
        raise FileFormatError(f"{key} in the index is {value!r}, not a whole number")
    return value


def _object(fields: dict[str, Any], key: str, *, default: bool = False) -> dict[str, Any]:
    value = fields.get(key, {} if default else None)
    if not isinstance(value, dict):
        raise FileFormatError(f"{key!r} in the index is {str(value)[:60]}, not an object")
    return value


def is_tar(data: bytes) -> bool:
    """Whether the bytes are a POSIX tar archive."""
    return data[257:262] == b"ustar"


def tar_members(archive: bytes) -> dict[str, memoryview]:
    """The regular files of an archive by name; nothing is copied.

    Links, devices, sparse files, repeated names, and names that are absolute or climb with ``..`` are errors.
    """
    view, at = memoryview(archive), 0
    found: dict[str, memoryview] = {}
    long_name = None
    for _ in range(_MOST_MEMBERS):
        header = archive[at : at + BLOCK]
        if header == _EMPTY:
            return found
        if len(header) < BLOCK:
            raise FileFormatError("the archive ends without an end mark; the file is truncated")
        _check_sum(header, at)
        size, kind = _octal(header[124:136]), header[156:157]
        body = view[at + BLOCK : at + BLOCK + size]
        if len(body) < size:
            raise FileFormatError(f"{_plain_name(header)!r} claims {size} bytes, and {len(body)} follow")
        at += BLOCK + -(-size // BLOCK) * BLOCK
        if kind in b"xL":
            long_name = _long_name(body, kind) or long_name
        elif kind != b"g":
            name = _checked_name(long_name or _plain_name(header))
            long_name = None
            if kind in (b"0", b"\0", b"7") and not name.endswith("/"):
                if name in found:
                    raise FileFormatError(f"{name!r} appears twice in the archive")
                found[name] = body
            elif kind != b"5" and not name.endswith("/"):
                raise FileFormatError(f"{name!r} is a link or a device; a model holds files only")
    raise FileFormatError(f"the archive has more than {_MOST_MEMBERS} members")


def write_tar(file: BinaryIO, members: Iterable[tuple[str, bytes]]) -> None:
    """An archive of files by name, the same bytes for the same files."""
    with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def _check_sum(header: bytes, at: int) -> None:
    total = sum(header) - sum(header[148:156]) + 8 * ord(" ")
    if total != _octal(header[148:156]):
        raise FileFormatError(f"the header at byte {at} of the archive is damaged (wrong check sum)")


def _octal(field: bytes) -> int:
    if field[0] & 0x80:
        return int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
    digits = field.strip(b" \0")
    if digits.strip(b"01234567"):
        raise FileFormatError(f"{field!r} is not an octal number; the archive is damaged")
    return int(digits or b"0", 8)


def _plain_name(header: bytes) -> str:
    name = header[:100].split(b"\0")[0]
    prefix = header[345:500].split(b"\0")[0] if header[257:263] == b"ustar\0" else b""
    return (prefix + b"/" + name if prefix else name).decode("utf-8")


def _long_name(body: memoryview, kind: bytes) -> str | None:
    if len(body) > _LONGEST_HEADER:
        raise FileFormatError(f"a header of {len(body)} bytes; names are shorter")
    text = bytes(body)
    if kind == b"L":
        return text.split(b"\0")[0].decode("utf-8")
    name = None
    for key, value in _PAX.findall(text):
        if key == b"path":
            name = value.decode("utf-8")
        elif key == b"size" or key.startswith(b"GNU.sparse"):
            raise FileFormatError(f"the archive uses {key.decode('ascii', 'replace')}; write it as a plain tar")
    return name


def _checked_name(name: str) -> str:
    while name.startswith("./"):
        name = name[2:]
    parts = name.removesuffix("/").split("/")
    if name and (not all(parts) or {".", ".."} & set(parts) or "\\" in name or not name.isprintable()):
        raise FileFormatError(f"{name!r} is not a valid name in a model file")
    return name or "/"
