"""A learner in a file: its arrays as they are, and a header in JSON. Nothing read is ever executed, and every number
that is used as an index is checked before.

One format for all learners: the header has the settings, the ids of open episodes and the state of the learner's
generator. The arrays are those of the support, those that the learner was given, those that it learned (``state.`` and
the path of a field in nested structs), and those of open episodes (``episodes.`` and the path), with one row for each.
No array is listed anywhere: the structs of a learner say what there is (:func:`goalbound.jit.records.named_arrays`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError
from goalbound.jit.records import named_arrays
from goalbound.jit.struct import Struct
from goalbound.learners.episode import LearnerEpisode
from goalbound.learners.own_card import checked_caveats
from goalbound.models.files.array_file import ANY, FORMAT, check_keys, read_array_file, write_array_file
from goalbound.models.files.io import LIMIT, as_format_errors
from goalbound.models.files.npz import GOAL_KEYS, SUPPORT_ARRAYS, goal_header, support_arrays, support_from
from goalbound.models.files.ranges import MANY, matching, within
from goalbound.models.files.saved_files import SavedFiles
from goalbound.models.validation import check_list

if TYPE_CHECKING:
    from goalbound.learners.base import LearnerBase

VERSION = 17
"""Of the files of all learners. Others are refused."""
OTHER_VERSION = "learn the log again, or load the learner with goalbound 1.x"

L = TypeVar("L", bound="LearnerBase")
Arrays = dict[str, NDArray[Any]]
_KEYS = ("settings", "stream", "acts", "abandoned", "caveats", "ids", "state_names", "action_names")
_AT_ONCE = 2**16  # bytes
_EPISODES = "episodes"
_PLACES = ("state", "action", "acted")
"""Columns ``episodes.at.state`` and so on: the attributes of an episode beside its state struct, -1 for None."""


def write_checkpoint(learner: LearnerBase, path: str | PathLike[str], *, overwrite: bool = False) -> None:
    """Write a learner with its open episodes; the file appears complete or not at all."""
    support, episodes = learner.support, learner.open_episodes
    header = {
        "format": FORMAT,
        "version": VERSION,
        "kind": learner.kind,
        "settings": learner.settings.as_json(),
        "stream": state_of(learner._rng) if learner.settings.draws else None,
        "acts": learner._visits.acts,
        "abandoned": learner.abandoned,
        "caveats": list(learner.caveats),
        "ids": [one.id for one in episodes],
        "state_names": support.state_names,
        "action_names": support.action_names,
        **goal_header(support),
        **learner._unit_header(),
    }
    learned = dict(learner._state_arrays())
    arrays = {**support_arrays(support), **learner._given_arrays(), **learned, **episode_arrays(learner, episodes)}
    write_array_file(path, header, arrays, deflate=learned.keys(), files=learner._files, overwrite=overwrite)


def read_checkpoint(cls: type[L], path: str | PathLike[str], *, limit: int = LIMIT, rooms: Iterable[Any] = ()) -> L:
    """Read what :func:`write_checkpoint` wrote of a learner of this class; else an error that says what is wrong.

    ``rooms`` are confidence models and exploration rules of third parties that the learner may have.
    """
    files, rooms = SavedFiles(), check_list(rooms, "rooms", "a list of confidence models and exploration rules")
    header, arrays = read_array_file(
        path,
        kind=cls.kind,
        versions=[VERSION],
        arrays={**SUPPORT_ARRAYS, ".+": ANY},
        what="checkpoint",
        limit=limit,
        files=files,
        deflated=True,
        older=OTHER_VERSION,
    )
    with as_format_errors(path, "checkpoint"):
        check_keys(header, _KEYS, (*GOAL_KEYS, *cls.UNIT_KEYS))
        if not isinstance(header["settings"], dict):
            raise FileFormatError("settings is no object")
        support = support_from(header, arrays)
        settings = cls._settings_from(header["settings"], rooms)
        learner = cls._from_file(support, settings, arrays, _stream(header["stream"], draws=settings.draws))
        learner._abandoned = _checked_reasons(header["abandoned"])
        learner._caveats = checked_caveats(header["caveats"], "caveats")
        learner._restore_unit(header)
        for name, target in learner._state_arrays():
            _fill(target, matching(arrays, name, target.shape, target.dtype))
        learner._check_state()
        of_episodes = _restore_episodes(learner, header["ids"], header["acts"], arrays)
        learned = {name for name, _ in learner._state_arrays()}
        unknown = sorted(set(arrays) - {*SUPPORT_ARRAYS, *learner._given_arrays(), *learned, *of_episodes})
        if unknown:
            raise FileFormatError(f"{unknown[0]} is not part of the file of this learner")
    learner._files = files
    return learner


def _fill(target: NDArray[Any], source: NDArray[Any]) -> None:
    """Write the numbers that differ, block by block: what was never written to takes no memory
    (:func:`goalbound.jit.records.lazy_zeros`)."""
    if not target.flags.c_contiguous:  # a field of a record
        target[...] = source
        return
    old, new = (array.reshape(-1).view(np.uint8) for array in (target, source))
    for start in range(0, len(old), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        if not np.array_equal(old[part], new[part]):
            old[part] = new[part]


def episode_arrays(learner: LearnerBase, episodes: Sequence[LearnerEpisode]) -> Arrays:
    """Each field of the state of open episodes as one column [K, ...], a row an episode, by their names in a file."""
    if not episodes:
        return {}
    fields = named_arrays(_EPISODES, learner._new_episode_state())
    columns = {name: np.empty((len(episodes), *array.shape), array.dtype) for name, array in fields}
    for place, episode in enumerate(episodes):
        for name, array in named_arrays(_EPISODES, episode._arrays):
            columns[name][place] = array
    for name in _PLACES:
        values = (getattr(one, f"_{name}") for one in episodes)
        columns[f"{_EPISODES}.at.{name}"] = np.array([-1 if one is None else one for one in values], dtype=np.int64)
    return columns


def _restore_episodes(learner: LearnerBase, ids: Any, acts: Any, arrays: Mapping[str, NDArray[Any]]) -> set[str]:
    """The episodes of a file go on, checked all at once; the names of their arrays."""
    if type(acts) is not int or not 0 <= acts < MANY:
        raise FileFormatError(f"acts is {acts!r:.200}; it is a whole number from 0 on, below {MANY}")
    learner._visits.acts = acts
    _check_ids(ids)
    count, template = len(ids), learner._new_episode_state()
    if not count:
        return set()
    columns = {
        name: matching(arrays, name, (count, *array.shape), array.dtype)
        for name, array in named_arrays(_EPISODES, template)
    }
    places = [matching(arrays, f"{_EPISODES}.at.{name}", (count,), np.int64) for name in _PLACES]
    states = states_of(template, columns)
    within("number of progress", states.progress["number"], 1, learner._state.totals["episodes"])
    within("number of progress, in the order of begin,", np.diff(states.progress["number"]), 1, np.inf)
    _check_places(learner, *places)
    planned = learner._check_episode_states(states, places[1] >= 0)
    if not planned[places[1] >= 0].all():
        raise FileFormatError("an episode has an action and no plan; an action needs a plan")
    waiting = []
    for place, (state, action, acted) in enumerate(zip(*(one.tolist() for one in places), strict=True)):
        episode_state = learner._new_episode_state()
        for name, array in named_arrays(_EPISODES, episode_state):
            array[...] = columns[name][place]
        episode = LearnerEpisode(learner, episode_state, id=ids[place])
        episode._state = None if state < 0 else state
        if action >= 0:
            episode._action = action
            waiting.append((acted, learner.support.pair(state, action), episode))
        learner._loaded.append(episode)
    for number, pair, episode in sorted(waiting, key=itemgetter(0)):  # in the order of act
        learner._visits.hold(episode, pair, number)
    return {*columns, *(f"{_EPISODES}.at.{name}" for name in _PLACES)}


def _check_ids(ids: Any) -> None:
    if not isinstance(ids, list):
        raise FileFormatError("ids is no list")
    named = [id for id in ids if id is not None]
    for id in named:
        if type(id) is not int and (type(id) is not str or not id):
            raise FileFormatError(f"the id of an episode is {id!r:.200}; it is a name, a whole number or null")
    if len(set(named)) < len(named):
        raise FileFormatError("two episodes have one id; each has its own, or null")


def _check_places(
    learner: LearnerBase, state: NDArray[np.int64], action: NDArray[np.int64], acted: NDArray[np.int64]
) -> None:
    """[K] where each episode is, the action whose outcome is awaited and its number in the order of act; or -1."""
    within("state of an episode", state, -1, learner.support.states - 1)
    within("action of an episode", action, -1, learner.support.actions - 1)
    within("acted of an episode", acted, -1, learner._visits.acts - 1)
    waits = action >= 0
    if ((acted >= 0) != waits).any() or (waits & (state < 0)).any():
        raise FileFormatError("an episode has an action without a state, or without its number in the order of act")
    if len(np.unique(acted[waits])) < waits.sum():
        raise FileFormatError("two actions of episodes have one number in the order of act")


def states_of(template: Any, columns: Mapping[str, NDArray[Any]], path: str = _EPISODES) -> Any:
    """A struct as ``template``, whose arrays are the columns, and whose records have as many entries."""
    fields = {}
    for name, value in template._asdict().items():
        here = f"{path}.{name}"
        if isinstance(value, Struct):
            fields[name] = states_of(value, columns, here)
        elif isinstance(value, np.void):
            names = value.dtype.names or ()
            fields[name] = np.empty(len(columns[f"{here}.{names[0]}"]), value.dtype)
            for field in names:
                fields[name][field] = columns[f"{here}.{field}"][:, 0]
        else:
            fields[name] = columns.get(here, value)
    return type(template)(**fields)


def _checked_reasons(counts: Any) -> dict[str, int]:
    """How many episodes were abandoned, by reason."""
    if not isinstance(counts, dict) or not all(
        reason and type(count) is int and 1 <= count < MANY for reason, count in counts.items()
    ):
        raise FileFormatError(f"abandoned is {counts!r:.200}; it has a count for each reason")
    return counts


_GENERATORS = {
    kind.__name__: kind
    for kind in (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64)
}

_BUFFERS = {"pos": 624, "buffer_pos": 4}
"""How long the buffers of MT19937 and of Philox are. NumPy reads them at any place that it is given."""


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
    found = _as_before(state, bits.state)
    for name, most in _BUFFERS.items():
        place = found.get(name, found["state"].get(name, 0))
        if not 0 <= place <= most:
            raise FileFormatError(f"{name} of the generator is {place!r:.200}; it is a number from 0 to {most}")
    bits.state = found
    return np.random.Generator(bits)


def _stream(state: Any, *, draws: bool) -> np.random.Generator | None:
    """The learner's own generator, as it was."""
    if not draws and state is not None:
        raise FileFormatError("there is a stream, but the learner draws nothing")
    return generator_from(state) if draws else None


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
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
