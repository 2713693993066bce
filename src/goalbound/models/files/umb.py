"""UMB, the unified Markov binary: the format that PRISM, Storm and Modest share.

A tar archive (plain, gzip or xz) with ``index.json`` and little-endian arrays. The specification is at
https://github.com/pmc-tools/umb (version 1); what is read here is what an SSP can be made of.
The size of each binary member is checked against the index before an array is made of it.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Mapping
from itertools import pairwise
from os import PathLike
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError, ModelError
from goalbound.models.amounts import cap_entry, cap_in, cap_of
from goalbound.models.files.explicit_mdp import ExplicitMDP, from_ssp, select_name, sum_rewards, to_ssp
from goalbound.models.files.io import (
    LIMIT,
    UNPACKED_WEIGHT,
    as_format_errors,
    atomic_write,
    read_bytes,
    strict_json,
    warn_if_large,
)
from goalbound.models.files.tar import is_tar, tar_members, write_tar
from goalbound.models.ssp import SSP

_MOST_ACTIONS = 65536
_LONGEST_INDEX = 64 * 2**20
_KINDS = {
    ("stochastic", 0): "a CTMC", ("stochastic", 1): "a CTMDP", ("urgent-stochastic", 1): "a Markov automaton",
}  # fmt: skip
Members = Mapping[str, memoryview]
_EXACT = 2**53  # whole numbers up to here are doubles
_LARGEST_RATIONAL = 2**16


class _Sizes(NamedTuple):
    states: int
    choices: int
    branches: int
    actions: int


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
        return to_ssp(_explicit_mdp(index, members, loss, goal, limit))


def write_umb(ssp: SSP, path: str | PathLike[str], *, compress: bool = False) -> None:
    """Write a problem as a UMB file: an MDP with the reward model ``loss`` and the label ``goal``.

    The goal is the last state, with a loop. Losses are in the user's unit (times ``loss_scale``, which is noted in the
    index). :func:`read_umb` gives an equal problem, to the bit, but for what UMB cannot say: state names are lost, a
    distribution on one state is read as that state, and a start that is not uniform over its states is an error. With
    a ``loss_scale`` that is not a power of two, a loss that is not a quotient of a number by the scale may change in
    its last bit. A single action named ``""`` is read as one without a name. ``compress`` uses gzip.
    """
    model = from_ssp(ssp)
    action = cast("NDArray[np.int64]", model.action)
    double, names = {"type": "double", "size": 64}, model.action_names
    members = {
        "index.json": json.dumps(_index_of(ssp, model, double), indent=2).encode(),
        "state-to-choices.bin": model.choice_start.astype("<u8").tobytes(),
        "state-is-initial.bin": bits_data(model.initial),
        "choice-to-branches.bin": model.branch_start.astype("<u8").tobytes(),
        "branch-to-target.bin": model.target.astype("<u8").tobytes(),
        "branch-to-probability.bin": model.probability.astype("<f8").tobytes(),
        "actions/choices/values.bin": action.astype("<u4").tobytes(),
    }
    if names is not None:
        encoded = [_utf8(name) for name in names]
        ends = np.cumsum([0, *(len(one) for one in encoded)])
        members["actions/choices/string-mapping.bin"] = ends.astype("<u8").tobytes()
        members["actions/choices/strings.bin"] = b"".join(encoded)
    members["annotations/aps/goal/states/values.bin"] = bits_data(model.goal)
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


def _index_of(ssp: SSP, model: ExplicitMDP, double: dict[str, Any]) -> dict[str, Any]:
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


def _explicit_mdp(
    index: dict[str, Any], members: Members, loss: str | None, goal: str | None, limit: int
) -> ExplicitMDP:
    if index.get("format-version") not in (0, 1):
        raise FileFormatError(f"UMB version {index.get('format-version')!r}; versions 0 and 1 are read")
    system = _object(index, "transition-system")
    _check_kind(system)
    sizes = _sizes(system, limit)
    goal_states = _goal(index, members, goal, sizes.states)  # first: it is as long as the states are many
    probability_type = _object(system, "branch-probability-type")
    probability = values(members, "branch-to-probability.bin", probability_type, sizes.branches).astype(np.float64)
    choice_start = starts(members, "state-to-choices.bin", sizes.states, sizes.choices)
    branch_start = starts(members, "choice-to-branches.bin", sizes.choices, sizes.branches)
    if system["#players"] == 0 and (np.diff(choice_start) > 1).any():
        raise FileFormatError("the file says it is a DTMC (no player), but a state has several choices")
    target = values(members, "branch-to-target.bin", {"type": "uint", "size": 64}, sizes.branches, default=0)
    if len(target) and target.max() >= sizes.states:
        raise FileFormatError(f"branch-to-target.bin leads to state {target.max()}; there are {sizes.states} states")
    action, names = _actions(members, sizes)
    return ExplicitMDP(
        choice_start, branch_start, target.astype(np.int64), probability,
        _choice_losses(index, members, loss, choice_start, branch_start, probability),
        goal_states, bits(members, "state-is-initial.bin", sizes.states), action, names, _recorded_scale(index),
    )  # fmt: skip


def _check_kind(system: dict[str, Any]) -> None:
    time, players = system.get("time"), _nonnegative_int(system, "#players")
    if time != "discrete":
        kind = _KINDS.get((str(time), players), f"a model of {time!r} time")
        raise FileFormatError(f"this is {kind}; only discrete time (DTMC, MDP) is a shortest path problem")
    if players > 1:
        raise FileFormatError(f"this is a game of {players} players; only DTMC and MDP are read")
    if _nonnegative_int(system, "#observations"):
        raise FileFormatError("this is a POMDP; only DTMC and MDP are read")
    if "branch-probability-type" not in system:
        raise FileFormatError("this is a transition system without probabilities; only DTMC and MDP are read")


def _sizes(system: dict[str, Any], limit: int) -> _Sizes:
    sizes = _Sizes(*(_nonnegative_int(system, key) for key in ("#states", "#choices", "#branches", "#choice-actions")))
    if 8 * (sizes.states + sizes.choices + sizes.branches) > limit:
        raise FileFormatError(
            f"the index claims {sizes.states} states, {sizes.choices} choices and {sizes.branches} branches, "
            f"more than fits {limit} bytes; raise it with limit="
        )
    if sizes.actions > sizes.choices + _MOST_ACTIONS:
        raise FileFormatError(f"{sizes.actions} actions for {sizes.choices} choices; most would be unused")
    return sizes


def _nonnegative_int(fields: dict[str, Any], key: str) -> int:
    value = fields.get(key)
    if type(value) is not int or not 0 <= value < 2**63:
        raise FileFormatError(f"{key} in the index is {value!r}, not a whole number")
    return value


def _object(fields: dict[str, Any], key: str, *, default: bool = False) -> dict[str, Any]:
    value = fields.get(key, {} if default else None)
    if not isinstance(value, dict):
        raise FileFormatError(f"{key!r} in the index is {str(value)[:60]}, not an object")
    return value


def _annotations(index: dict[str, Any], group: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """name -> (identifier, description), where the name is the alias if there is one."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    annotations = _object(_object(index, "annotations", default=True), group, default=True)
    for identifier in annotations:
        description = _object(annotations, identifier)
        name = description.get("alias", identifier)
        if not isinstance(name, str) or name in found:
            raise FileFormatError(f"annotation {group}/{identifier} has the alias {name!r}, which is taken or no text")
        found[name] = (identifier, description)
    return found


def _resolve_alias(name: str | None, annotations: dict[str, tuple[str, dict[str, Any]]]) -> str | None:
    """The name of what is called so by alias or, failing that, by identifier."""
    if name is None or name in annotations:
        return name
    return next((alias for alias, (identifier, _) in annotations.items() if identifier == name), name)


def _goal(index: dict[str, Any], members: Members, goal: str | None, states: int) -> NDArray[np.bool_]:
    annotations = _annotations(index, "aps")
    places = {name: f"annotations/aps/{identifier}/states/values.bin" for name, (identifier, _) in annotations.items()}
    candidates = []
    if goal is None:
        for name, place in places.items():
            held = bits(members, place, states) if place in members else np.zeros(1, dtype=bool)
            if held.any() and not held.all():
                candidates.append(name)
    chosen = select_name(_resolve_alias(goal, annotations), list(annotations), candidates, "label", "goal")
    if places[chosen] not in members:
        raise FileFormatError(f'the label "{chosen}" holds in no state; there is no goal')
    return bits(members, places[chosen], states)


def _choice_losses(
    index: dict[str, Any], members: Members, loss: str | None,
    choice_start: NDArray[np.int64], branch_start: NDArray[np.int64], probability: NDArray[np.float64],
) -> NDArray[np.float64]:  # fmt: skip
    annotations = _annotations(index, "rewards")
    chosen = select_name(
        _resolve_alias(loss, annotations), list(annotations), list(annotations), "reward model", "loss"
    )
    identifier, description = annotations[chosen]
    where = description.get("applies-to")
    if not isinstance(where, list) or not where or not {"states", "choices", "branches"}.issuperset(map(str, where)):
        raise FileFormatError(f'the reward model "{chosen}" applies to {where!r}, not to states, choices or branches')
    if "probability-type" in description:
        raise FileFormatError(f'the reward model "{chosen}" is random; only plain numbers are read')
    parts: list[NDArray[np.float64]] = []
    counts = {"states": len(choice_start) - 1, "choices": len(branch_start) - 1, "branches": len(probability)}
    for entity in ("states", "choices", "branches"):
        if entity not in where:
            continue
        member = f"annotations/rewards/{identifier}/{entity}/values.bin"
        part = values(members, member, _object(description, "type"), counts[entity], default=0).astype(np.float64)
        if entity == "states":
            part = np.repeat(part, np.diff(choice_start))
        elif entity == "branches":
            part = _mean(part, probability, branch_start)
        parts.append(part)
    return sum_rewards(parts)


def _mean(
    reward: NDArray[np.float64], probability: NDArray[np.float64], branch_start: NDArray[np.int64]
) -> NDArray[np.float64]:
    """[C] the expected reward of each choice; of its negative branches only, where it has any."""
    choices = len(branch_start) - 1
    choice = np.repeat(np.arange(choices), np.diff(branch_start))
    mean = np.bincount(choice, weights=reward * probability, minlength=choices)
    below = np.bincount(choice, weights=np.minimum(reward, 0.0) * probability, minlength=choices)
    return np.where(below < 0.0, below, mean).astype(np.float64)


def _actions(members: Members, sizes: _Sizes) -> tuple[NDArray[np.int64] | None, tuple[str, ...] | None]:
    if sizes.actions == 0:
        return None, None
    folder = "actions/choices/"
    action = values(members, f"{folder}values.bin", {"type": "uint", "size": 32}, sizes.choices, default=0)
    if len(action) and action.max() >= sizes.actions:
        raise FileFormatError(f"{folder}values.bin holds action {action.max()}; there are {sizes.actions}")
    names = strings(members, folder, sizes.actions) if f"{folder}string-mapping.bin" in members else None
    return action.astype(np.int64), names


def _recorded_scale(index: dict[str, Any]) -> float | None:
    """The scale that goalbound notes when it writes a file; None in files of others."""
    origin = index.get("file-data")
    if not isinstance(origin, dict) or origin.get("tool") != "goalbound":
        return None
    return cap_in(_object(origin, "parameters", default=True), "the index")


def starts(members: Mapping[str, memoryview], name: str, sources: int, targets: int) -> NDArray[np.int64]:
    """A CSR mapping, [sources + 1]; where the member is absent, everything maps to itself."""
    if name not in members:
        if sources != targets:
            raise FileFormatError(f"{name} is missing, and {sources} entries cannot map one to one to {targets}")
        return np.arange(sources + 1)
    array = _plain(members[name], name, "<u8", sources + 1)
    if array[0] != 0 or array[-1] != targets or (array[1:] < array[:-1]).any():
        raise FileFormatError(f"{name} does not rise from 0 to {targets}")
    return array.astype(np.int64)


def bits(members: Mapping[str, memoryview], name: str, count: int) -> NDArray[np.bool_]:
    """A bit vector, [count], least bit first, padded to 64 bits; all false where the member is absent."""
    if name not in members:
        return np.zeros(count, dtype=bool)
    data = members[name]
    if len(data) != -(-count // 64) * 8:
        raise FileFormatError(f"{name} has {len(data)} bytes; {count} bits take {-(-count // 64) * 8}")
    found = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
    if found[count:].any():
        raise FileFormatError(f"{name} has bits set beyond the {count} there are")
    return found[:count].view(bool)


def bits_data(flags: NDArray[np.bool_]) -> bytes:
    """A bit vector as bytes, padded to 64 bits."""
    return np.packbits(np.pad(flags, (0, -len(flags) % 64)), bitorder="little").tobytes()


def values(
    members: Mapping[str, memoryview], name: str, kind: dict[str, Any], count: int, *, default: int | None = None
) -> NDArray[Any]:
    """[count] numbers of the type the index gives: double, rational (rounded once to double), int or uint."""
    what = kind.get("type")
    size = kind.get("size", 128 if what == "rational" else 64)
    if what not in ("double", "rational", "int", "uint") or type(size) is not int:
        raise FileFormatError(f"{name} is encoded as {what!r} of {size!r} bits; double, rational, int, uint are read")
    if name not in members:
        if default is None:
            raise FileFormatError(f"{name} is missing")
        return np.full(count, default, dtype=np.int64)
    if what == "rational":
        return _rationals(members[name], name, size, count)
    if size not in ((64,) if what == "double" else (8, 16, 32, 64)):
        raise FileFormatError(f"{name} is encoded as {what!r} of {size} bits, which is not read")
    letter = {"double": "f", "int": "i", "uint": "u"}[what]
    return _plain(members[name], name, f"<{letter}{size // 8}", count)


def strings(members: Mapping[str, memoryview], folder: str, count: int) -> tuple[str, ...]:
    """``count`` texts: ``string-mapping.bin`` says where each stands in ``strings.bin``."""
    data = bytes(members.get(f"{folder}strings.bin", b""))
    ends = starts(members, f"{folder}string-mapping.bin", count, len(data)).tolist()
    return tuple(data[first:last].decode("utf-8") for first, last in pairwise(ends))


def _plain(data: memoryview, name: str, dtype: str, count: int) -> NDArray[Any]:
    width = np.dtype(dtype).itemsize
    if len(data) != count * width:
        raise FileFormatError(f"{name} has {len(data)} bytes; {count} entries of {width} take {count * width}")
    return np.frombuffer(data, dtype)


def _rationals(data: memoryview, name: str, size: int, count: int) -> NDArray[np.float64]:
    """Rationals of ``size`` bits: half for a signed numerator, half for an unsigned denominator."""
    if size % 128 or not 0 < size <= _LARGEST_RATIONAL:
        raise FileFormatError(f"{name} holds rationals of {size} bits; it must be a multiple of 128")
    width = size // 8
    rows = _plain(data, name, f"V{width}", count)
    if size == 128:
        parts = np.frombuffer(data, "<i8").reshape(count, 2)
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
