"""A learner in a file: its arrays as they are, and a header in JSON. Nothing read is ever executed, and every number
that is used as an index is checked before.

One format for all learners: the header has the settings, the ids of open episodes and the state of the learner's
generator. The arrays are those of the support, those that the learner was given, those that it learned (``state.`` and
the path of a field in nested structs), and those of open episodes (``episodes.`` and the path), with one row for each.
No array is listed anywhere: the structs of a learner say what there is (:func:`goalbound.jit.records.named_arrays`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError
from goalbound.learners.caveats import checked_caveats
from goalbound.learners.saved_episodes import episode_arrays, restore_episodes
from goalbound.models.files.array_file import ANY, FORMAT, check_keys, read_array_file, write_array_file
from goalbound.models.files.io import LIMIT, as_format_errors
from goalbound.models.files.npz import GOAL_KEYS, SUPPORT_ARRAYS, goal_header, support_arrays, support_from
from goalbound.models.files.ranges import MANY, matching
from goalbound.models.files.saved_files import SavedFiles

if TYPE_CHECKING:
    from goalbound.learners.base import LearnerBase

VERSION = 17
"""Of the files of all learners. Others are refused."""
OTHER_VERSION = "learn the log again, or load the learner with goalbound 1.x"

L = TypeVar("L", bound="LearnerBase")
Arrays = dict[str, NDArray[Any]]
_KEYS = ("settings", "stream", "acts", "abandoned", "caveats", "ids", "state_names", "action_names")
_AT_ONCE = 2**16  # bytes


def write_checkpoint(learner: LearnerBase, path: str | PathLike[str], *, overwrite: bool = False) -> None:
    """Write a learner with its open episodes; the file appears complete or not at all."""
    support, episodes = learner.support, learner.open_episodes
    header = {
        "format": FORMAT,
        "version": VERSION,
        "kind": learner.kind,
        "settings": learner.settings.as_json(),
        "stream": state_of(learner._rng) if learner.settings.draws else None,
        "acts": learner._pending.acts,
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
    files = SavedFiles()
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
        of_episodes = restore_episodes(learner, header["ids"], header["acts"], arrays)
        learned = {name for name, _ in learner._state_arrays()}
        unknown = sorted(set(arrays) - {*SUPPORT_ARRAYS, *learner._given_arrays(), *learned, *of_episodes})
        if unknown:
            raise FileFormatError(f"{unknown[0]} is not part of the file of this learner")
    learner._files = files
    return learner


def _fill(target: NDArray[Any], source: NDArray[Any]) -> None:
    """Write the numbers that differ, block by block: what was never written to takes no memory
    (:mod:`goalbound.jit.lazy_arrays`)."""
    if not target.flags.c_contiguous:  # a field of a record
        target[...] = source
        return
    old, new = (array.reshape(-1).view(np.uint8) for array in (target, source))
    for start in range(0, len(old), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        if not np.array_equal(old[part], new[part]):
            old[part] = new[part]


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
