"""A learner in a file: all its arrays as they are, and a header in JSON. Nothing read is ever executed, and every
number that is used as an index is checked before.

One format for all learners: the header has the settings, the open episodes and the state of the learner's generator;
arrays are those of the support, those that the learner was given, those that it learned (``state.``), and those of open
episodes. A file holds some 65,000 arrays, and an episode has about twenty: so ``episodes.context`` [K, d] stands for
``episode_0.context``, ``episode_1.context``, ... [d]. Large arrays of what was learned are in parts
(:mod:`goalbound.learners.compact_arrays`), without rows that follow from others
(:mod:`goalbound.learners.repeated_rows`), and deflated (:mod:`goalbound.learners.byte_planes`): what takes memory and
is not in the file counts towards the limit too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError
from goalbound.jit.records import field_arrays
from goalbound.kernels.interchangeable import MOST_CONCENTRATION
from goalbound.learners import byte_planes, repeated_rows
from goalbound.learners.caveats import checked_caveats
from goalbound.learners.compact_arrays import compacted, filled_bytes, part_names, part_types, parts_of, spread
from goalbound.learners.episode import LearnerEpisode, count_reason
from goalbound.learners.episode_columns import columns_in, columns_of, packed_episodes, states_of, template_arrays
from goalbound.models import Support
from goalbound.models.files.array_file import FORMAT, check_keys, read_array_file, write_array_file
from goalbound.models.files.io import LIMIT, as_format_errors, check_unpacked, needed_limit
from goalbound.models.files.npz import GOAL_KEYS, SUPPORT_ARRAYS, goal_header, support_arrays, support_from
from goalbound.models.files.saved_files import SavedFiles

if TYPE_CHECKING:
    from goalbound.learners.base import LearnerBase

VERSION = 16
"""Of the checkpoints of all learners."""
READABLE = (11, 12, 13, 14, 15, VERSION)
"""Version 11 has all rows, and nothing deflated. Versions 14 and 15 have ``_UNTIL_15_KEY``, and before 16 there may be
what is in ``_UNTIL_15``. Others are refused."""
_SINCE: dict[int, dict[str, float]] = {
    13: {
        ".totals.logged": 0, ".totals.squared_losses": 0.0, ".progress.own_share": 1.0, ".progress.mean_loss": 0.0,
        ".progress.shrinkage": 0.0, ".progress.dispersion": 1.0,
    },
    15: {".progress.concentration": MOST_CONCENTRATION},
    16: {".progress.changes_known": 0},
}  # fmt: skip
"""The fields of ridge learners by the version of the first files that have them, and what is taken for them in older
ones: nothing was a log; nothing is known of rows; something was learned since the episode last acted."""
_UNTIL_15 = {
    r"prior\.noise_free": "|b1", r"prior\.tied_(losses|rows|places)": "<i8",
    r"state\.(ties\.)?noise_free\.(count|pivot|contradiction\.(found|pair))": "<i8",
    r"state\.(ties\.)?noise_free\.(contexts?|losses|rows|right|slack|contradiction\.(loss|low|high))": "<f8",
}  # fmt: skip
"""The arrays of ties and of losses without noise: dropped where neither was declared, else the file is refused."""
_UNTIL_15_KEY = "trusted"
"""The failure probability of other learners' sets that bounds of variances came from: dropped, as the learner's own
delta has paid for it."""
MANY = np.iinfo(np.int64).max // 4
"""More than is ever counted."""
LARGEST = np.finfo(np.float64).max
HUGE = 2.0**500
"""More than any number that is learned; its square is still a number."""

L = TypeVar("L", bound="LearnerBase")
Arrays = dict[str, NDArray[Any]]
_KEYS = ("settings", "stream", "acts", "abandoned", "caveats", "episodes", "state_names", "action_names")
_EPISODE_KEYS = {"id", "state", "action", "acted"}
_MAY_BE_INFINITE = (".backup", ".residual", ".mass")  # where value iteration knows nothing yet; NO_GOAL


def write_checkpoint(learner: LearnerBase, path: str | PathLike[str], *, overwrite: bool = False) -> None:
    """Write a learner with its open episodes; the file appears complete or not at all."""
    episodes = learner.open_episodes
    header = {
        "format": FORMAT, "version": VERSION, "kind": learner.kind,
        "settings": learner.settings.as_json(),
        "stream": state_of(learner._rng) if learner.settings.draws else None,
        "acts": learner._pending.acts,
        "abandoned": learner.abandoned,
        "caveats": list(learner.caveats),
        "episodes": [
            {"id": one.id, "state": one._state, "action": one._action, "acted": one._acted} for one in episodes
        ],
        "state_names": learner.support.state_names, "action_names": learner.support.action_names,
        **goal_header(learner.support),
    }  # fmt: skip
    learned = compacted(dict(learner._state_arrays()))
    given: Arrays = {**support_arrays(learner.support), **learner._given_arrays()}
    current = columns_of(learner._new_episode_state(), episodes) if episodes else {}
    current = {f"episodes{name}": column for name, column in current.items()}
    learned, unpacked = _as_stored(learned, beside=_total(given) + _total(current))
    arrays = {**given, **learned, **current}
    write_array_file(path, header, arrays, unpacked=unpacked, files=learner._files, overwrite=overwrite)


def read_checkpoint(cls: type[L], path: str | PathLike[str], *, limit: int = LIMIT) -> L:
    """Read what :func:`write_checkpoint` wrote of a learner of this class; else an error that says what is wrong."""
    files = SavedFiles()
    allowed = _allowed(cls)
    header, arrays = read_array_file(
        path, kind=cls.kind, versions=READABLE, arrays=allowed, what="checkpoint", limit=limit, files=files
    )
    with as_format_errors(path, "checkpoint"):
        check_keys(header, (*_KEYS, _UNTIL_15_KEY) if header["version"] in (14, 15) else _KEYS, GOAL_KEYS)
        arrays = _from_stored(_without_ties(arrays), allowed, limit)
        if not isinstance(header["settings"], dict) or type(header["acts"]) is not int:
            raise FileFormatError("settings is no object, or acts is no whole number")
        support = support_from(header, arrays)
        settings = cls._settings_type.from_json(header["settings"])
        learner = cls._from_file(support, settings, arrays, _stream(header["stream"], draws=settings.draws))
        learner._abandoned = _checked_reasons(header["abandoned"])
        learner._caveats = checked_caveats(header["caveats"], "caveats")
        entries = _checked_entries(header["episodes"], header["acts"], support)
        since = [fields for version, fields in _SINCE.items() if header["version"] < version]
        absent = {name: number for fields in since for name, number in fields.items()}
        fill(learner._state_arrays(), arrays, absent)
        learner._check_state()
        used = _read_episodes(learner, entries, arrays, absent)
        _check_order([one.number for one in learner._loaded])
        _check_all_used(arrays, learner, used)
        _await_again(learner, header["acts"])
    learner._files = files
    return learner


def _without_ties(arrays: Arrays) -> Arrays:
    """The arrays without those of ``_UNTIL_15``."""
    tied = any((array >= 0).any() for name, array in arrays.items() if name.startswith("prior.tied_"))
    if tied or ("prior.noise_free" in arrays and arrays["prior.noise_free"].any()):
        raise FileFormatError(
            "the learner was told of tied pairs or of losses without noise, which goalbound no longer has; learn its "
            "log again without them, or load it with goalbound 1.0.0"
        )
    return {name: array for name, array in arrays.items() if not any(re.fullmatch(gone, name) for gone in _UNTIL_15)}


def _as_stored(learned: Arrays, *, beside: int) -> tuple[Arrays, int]:
    """What was learned as a file has it, and how many bytes of memory a reader makes of it besides.

    ``beside``: the bytes of the file that are not of what was learned. Arrays stay as they are where the file would
    else be too small for the memory that they take: it would not be read without a limit.
    """
    whole = filled_bytes(learned)
    small = byte_planes.packed(repeated_rows.without_repeats(learned))
    size, less = beside + _total(learned), _total(learned) - _total(small)
    if needed_limit(size - less, whole + less) > LIMIT >= needed_limit(size, whole):
        return learned, whole
    return small, whole + less


def _from_stored(arrays: Arrays, types: Mapping[str, str], limit: int) -> Arrays:
    """The arrays that :func:`_as_stored` was given; the memory that they take is counted before it is."""
    size = _total(arrays)
    made = byte_planes.unpacked_bytes(arrays, types)
    check_unpacked(size, made, limit)
    arrays = byte_planes.unpacked(arrays, types)
    made += repeated_rows.repeated_bytes(arrays)
    check_unpacked(size, made, limit)
    arrays = repeated_rows.with_repeats(arrays)
    check_unpacked(size, made + filled_bytes(arrays), limit)
    return arrays


def _total(arrays: Arrays) -> int:
    return sum(array.nbytes for array in arrays.values())


def _read_episodes(
    learner: LearnerBase, entries: list[dict[str, Any]], arrays: Arrays, absent: Mapping[str, float]
) -> set[str]:
    """The episodes of the file go on, each packed until it is used; the names of their arrays."""
    if not entries:
        return set()
    template = learner._new_episode_state()
    columns, used = columns_in(arrays, template, len(entries), absent)
    for name, column in columns.items():
        _check_numbers(f"episodes{name}", column)
    states = states_of(template, columns)
    within("number of progress", states.progress["number"], 1, learner._state.totals["episodes"])
    planned = learner._check_episode_states(states, np.array([one["action"] is not None for one in entries]))
    contexts = getattr(states, "context", None)
    for place, data in enumerate(packed_episodes(template, columns, len(entries))):
        entry, context = entries[place], None if contexts is None else contexts[place]
        episode = LearnerEpisode.from_packed(learner, data, context, states.progress[place], id=entry["id"])
        episode._state, episode._action, episode._acted = entry["state"], entry["action"], entry["acted"]
        if episode._action is not None:
            if episode._state is None or not planned[place]:
                raise FileFormatError(f"an episode is {entry!r}; an action needs a state and a plan")
            episode._pair = learner.support.pair(episode._state, episode._action)
        learner._loaded.append(episode)
    return used


def _await_again(learner: LearnerBase, acts: int) -> None:
    """The outcomes that were awaited are awaited, in the order of act."""
    awaiting = [one for one in learner._loaded if one._acted is not None]
    for episode in sorted(awaiting, key=lambda one: one._acted or 0):
        learner._pending.hold(episode)
    learner._pending.acts = acts


def _allowed(cls: type[LearnerBase]) -> dict[str, str]:
    """The arrays that a checkpoint may have: names, or patterns for those of single episodes, and their types."""
    smallest = cls._smallest()
    allowed = {**SUPPORT_ARRAYS, **cls._given_types, **_UNTIL_15}
    learned = {name: _type_of(array) for name, array in smallest._state_arrays()}
    learned |= {name.replace("state.", "state.ties.", 1): kind for name, kind in learned.items()}  # up to version 15
    learned |= part_types(learned)
    learned |= repeated_rows.part_types(learned)
    allowed |= learned | byte_planes.packed_types(r"state\.")
    for name, array in template_arrays(smallest._new_episode_state()):
        field = r"(\.ties)?" + name.replace(".", r"\.")
        allowed |= dict.fromkeys([f"episodes{field}", rf"episode_[0-9]{{1,6}}{field}"], _type_of(array))
    return allowed


def _type_of(array: NDArray[Any]) -> str:
    """As files name it."""
    return array.dtype.newbyteorder("<").str


def _checked_entries(entries: Any, acts: int, support: Support) -> list[dict[str, Any]]:
    """The episodes of the header: where each is, and the action whose outcome is awaited, with its number."""
    if not isinstance(entries, list):
        raise FileFormatError("episodes is no list")
    visits, ids = set(), set()
    for entry in entries:
        if not isinstance(entry, dict) or set(entry) != _EPISODE_KEYS:
            raise FileFormatError(f"an episode is {entry!r:.200}; it needs {sorted(_EPISODE_KEYS)}")
        for key, count in (("state", support.states), ("action", support.actions)):
            if entry[key] is not None and not (type(entry[key]) is int and 0 <= entry[key] < count):
                raise FileFormatError(f"the {key} of an episode is {entry[key]!r:.200}; they are 0 to {count - 1}")
        id = entry["id"]
        if (id is not None and type(id) is not int and (type(id) is not str or not id)) or id in ids:
            raise FileFormatError(
                f"the id of an episode is {id!r:.200}; each is a name or a number of its own, or null"
            )
        ids |= {id} - {None}
        acted = entry["acted"]
        if (acted is None) != (entry["action"] is None) or acted in visits:
            raise FileFormatError(f"an episode is {entry!r:.200}; each action has a number of its own in acted")
        if acted is not None:
            if not (type(acted) is int and 0 <= acted < acts):
                raise FileFormatError(f"an episode is {entry!r:.200}, and {acts} actions were taken")
            visits.add(acted)
    return entries


def _checked_reasons(counts: Any) -> dict[str, int]:
    """How many episodes were abandoned, by reason."""
    if not isinstance(counts, dict) or not all(reason and _is_count(count) for reason, count in counts.items()):
        raise FileFormatError(f"abandoned is {counts!r:.200}; it has a count for each reason")
    found: dict[str, int] = {}
    for reason, count in counts.items():  # files of older versions may have any number
        count_reason(found, reason, count)
    return found


def _is_count(value: Any) -> bool:
    return type(value) is int and 1 <= value < MANY


def _check_order(numbers: list[int]) -> None:
    for one, following in pairwise(numbers):
        if not one < following:
            raise FileFormatError(f"episode {following} follows episode {one}; they stand in the order of begin")


def _check_all_used(arrays: Arrays, learner: LearnerBase, of_episodes: set[str]) -> None:
    """Every array belongs to the support, to the learner or to an episode of the header."""
    learned = dict(learner._state_arrays())
    used = {*SUPPORT_ARRAYS, *learner._given_types, *learned, *(part for name in learned for part in part_names(name))}
    unknown = sorted(set(arrays) - used - of_episodes)
    if unknown:
        raise FileFormatError(f"{unknown[0]} belongs to no episode that the header knows")


def fill(
    targets: Iterable[tuple[str, NDArray[Any]]], arrays: Arrays, absent: Mapping[str, float] = MappingProxyType({})
) -> None:
    """Every target takes the numbers of the array of its name; one that is missing or does not fit is an error, but for
    names that end as those of ``absent`` do, which have a number for it."""
    for name, target in targets:
        parts = parts_of(name, arrays)
        if parts is not None:
            _check_numbers(name, parts.usual)
            _check_numbers(name, parts.entries)
            spread(name, arrays, target)
            continue
        if name not in arrays:
            ending = next((one for one in absent if name.endswith(one)), None)
            if ending is None:
                raise FileFormatError(f"{name} is missing")
            target[...] = absent[ending]
            continue
        if arrays[name].shape != target.shape:
            raise FileFormatError(f"{name} has shape {arrays[name].shape}; the support asks for {target.shape}")
        _check_numbers(name, arrays[name])
        target[...] = arrays[name]


def _check_numbers(name: str, array: NDArray[Any]) -> None:
    """An error unless the squares of real numbers are finite, or the numbers may be infinite."""
    if array.dtype != np.float64:
        return
    fine = ~np.isnan(array) if name.endswith(_MAY_BE_INFINITE) else np.abs(array) <= HUGE
    if not fine.all():
        raise FileFormatError(f"{name} holds {array[~fine][0]}")


def within(name: str, array: NDArray[Any], low: Any, high: Any) -> None:
    """Every number that kernels use as an index lies where it must."""
    if not ((array >= low) & (array <= high)).all():
        raise FileFormatError(f"{name} holds {array[(array < low) | (array > high)][0]}, which is out of range")


def within_record(name: str, record: np.void | NDArray[np.void], **limits: tuple[Any, Any]) -> None:
    """Every field of a record, or of an array of them, is between its limits, or not negative where none are given."""
    for field, array in field_arrays(record).items():
        most = LARGEST if array.dtype == np.float64 else MANY
        may_be_infinite = f".{field}".endswith(_MAY_BE_INFINITE)
        within(f"{field} of {name}", array, *limits.get(field, (0, np.inf if may_be_infinite else most)))


_GENERATORS = {
    kind.__name__: kind
    for kind in (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64)
}


def state_of(rng: np.random.Generator) -> dict[str, Any]:
    """The state of a generator as JSON can say it, arrays as lists.

    >>> generator_from(state_of(np.random.default_rng(3))).random() == np.random.default_rng(3).random()
    True
    """
    return _plain(rng.bit_generator.state)


def generator_from(state: Any) -> np.random.Generator:
    """A generator in a state that :func:`state_of` gave."""
    if not isinstance(state, dict) or state.get("bit_generator") not in _GENERATORS:
        raise FileFormatError(f"the generator is {state!r:.200}; there are {', '.join(_GENERATORS)}")
    bits = _GENERATORS[state["bit_generator"]](0)
    bits.state = _as_before(state, bits.state)
    return np.random.Generator(bits)


def _stream(state: Any, *, draws: bool) -> np.random.Generator | None:
    """The learner's own generator, as it was."""
    if not draws and state is not None:
        raise FileFormatError("there is a stream, but the learner draws nothing")
    return generator_from(state) if draws else None


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _as_before(value: Any, like: Any) -> Any:
    """Lists become arrays where a state has them; anything of another form is an error."""
    if isinstance(like, dict):
        if not isinstance(value, dict) or set(value) != set(like):
            raise FileFormatError(f"the state of the generator is {value!r:.200}; it needs {sorted(like)}")
        return {key: _as_before(value[key], like[key]) for key in like}
    if isinstance(like, np.ndarray):
        array = np.array(value, dtype=like.dtype)
        if array.shape != like.shape:
            raise FileFormatError(f"the state of the generator has an array of shape {array.shape}, not {like.shape}")
        return array
    if type(value) is not type(_plain(like)):
        raise FileFormatError(f"the state of the generator holds {value!r:.200}")
    return value
