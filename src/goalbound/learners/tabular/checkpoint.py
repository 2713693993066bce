"""A context-free learner in a file: all its arrays as they are, and a header in JSON. Nothing read is ever executed,
and every number that is used as an index is checked before."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from typing import Any

from numpy.typing import NDArray

from goalbound.kernels.tabular.layout import ULCVI, Front, Learned
from goalbound.kernels.tabular.rooms import fresh_walk
from goalbound.learners.episode_arrays import ONE_EPISODE, stacked, unstacked, with_stacked
from goalbound.learners.filling import CODES, fill
from goalbound.learners.generator import generator_from, state_of
from goalbound.learners.tabular.episode import TabularEpisode
from goalbound.learners.tabular.integrity import check_learned, check_numbers, check_walk, checked_episodes
from goalbound.learners.tabular.learner import TabularLearner
from goalbound.learners.tabular.settings import TabularSettings
from goalbound.models import FileFormatError, Support
from goalbound.models.files.archive import FORMAT, check_keys, read_archive, write_archive
from goalbound.models.files.npz import SUPPORT_ARRAYS, support_arrays, support_from
from goalbound.models.files.saved_files import SavedFiles
from goalbound.models.files.storage import LIMIT, reading

KIND, VERSION = "TabularLearner", 2
_KEYS = ("settings", "generator", "episodes", "state_names", "action_names")
_LOSSES = "known_losses"


def write_checkpoint(learner: TabularLearner, path: str | PathLike[str], *, overwrite: bool = False) -> None:
    """Write a learner with its open episodes; the file appears complete or not at all."""
    episodes = learner.open_episodes
    header = {
        "format": FORMAT, "version": VERSION, "kind": KIND,
        "settings": learner.settings.as_json(),
        "generator": state_of(learner.rng),
        "episodes": [_entry(one) for one in episodes],
        "state_names": learner.support.state_names, "action_names": learner.support.action_names,
    }  # fmt: skip
    arrays: dict[str, NDArray[Any]] = {**support_arrays(learner.support), **dict(_kept(learner._learned))}
    if learner.known_losses is not None:
        arrays[_LOSSES] = learner.known_losses
    for place, episode in enumerate(episodes):
        arrays |= dict(_named(f"episode_{place}", episode._walk))
    write_archive(path, header, stacked(arrays), files=learner._files, overwrite=overwrite)


def read_checkpoint(path: str | PathLike[str], *, limit: int = LIMIT) -> TabularLearner:
    """Read what :func:`write_checkpoint` wrote; anything else is an error that says what is wrong."""
    files = SavedFiles()
    header, arrays = read_archive(
        path, kind=KIND, versions=[1, VERSION], arrays=with_stacked(_allowed()), what="checkpoint",
        limit=limit, files=files,
    )  # fmt: skip
    with reading(path, "checkpoint"):
        check_keys(header, _KEYS)
        arrays = unstacked(arrays, header["episodes"])
        support = support_from(header, arrays)
        settings = TabularSettings.from_json(header["settings"])
        if settings.losses_are_known != (_LOSSES in arrays):
            raise FileFormatError(f"settings and {_LOSSES} do not say the same of whether losses are known")
        _check_table(arrays, settings, support)
        learner = TabularLearner(
            support, settings.method, delta=settings.delta, loss_floor=settings.loss_floor,
            added_loss=settings.added_loss, known_losses=arrays.get(_LOSSES), tolerance=settings.tolerance,
            rng=generator_from(header["generator"]),
        )  # fmt: skip
        fill(_kept(learner._learned), arrays)
        check_learned(learner._learned, support)
        entries = checked_episodes(header["episodes"], support)
        for place, entry in enumerate(entries):
            walk = fresh_walk(support.states)
            fill(_named(f"episode_{place}", walk), arrays)
            learner._adopt(TabularEpisode(learner, walk), entry)
            check_walk(walk, entry, learner._learned, support)
        check_numbers([one.number for one in learner._loaded])
        _check_all_used(arrays, learner, len(entries))
    learner._files = files
    return learner


def _entry(episode: TabularEpisode) -> dict[str, int | None]:
    pair = episode._pair
    action = None if pair is None else int(episode.learner.support.pair_action[pair])
    return {"state": episode._state, "action": action}


def _kept(learned: Learned) -> Iterator[tuple[str, NDArray[Any]]]:
    """The arrays that say what a learner is. Rooms to work in are left out, and what stands elsewhere already."""
    for name in ("counts", "bonus"):
        yield from _named(f"learned.{name}", getattr(learned, name))
    for name in ("looked", "bound", "tally"):
        yield f"learned.{name}", getattr(learned, name)
    yield "learned.table", learned.room.table
    for name in ("used", "state", "centre", "ball", "mass", "losses"):
        yield f"learned.plausible.{name}", getattr(learned.main.plausible, name)
    yield from _front("learned.main", learned.main)
    yield from _front("learned.unit", learned.unit)


def _front(prefix: str, front: Front) -> Iterator[tuple[str, NDArray[Any]]]:
    yield from _named(f"{prefix}.outlook", front.outlook)
    for name in ("waiting", "is_waiting", "length"):
        yield f"{prefix}.{name}", getattr(front, name)


def _named(prefix: str, group: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    for name, value in group._asdict().items():
        yield f"{prefix}.{name}", value


def _allowed() -> dict[str, str]:
    """The arrays that a checkpoint may have: names, or patterns for those of episodes, and their types."""
    from goalbound.learners.tabular.method import bernstein_ssp

    small = TabularLearner(Support.full(1, 1), bernstein_ssp(), loss_floor=1.0)
    allowed = {**SUPPORT_ARRAYS, _LOSSES: "<f8"}
    allowed |= {name: CODES[array.dtype] for name, array in _kept(small._learned)}
    for name, array in _named(ONE_EPISODE, fresh_walk(1)):
        allowed[name.replace(".", r"\.")] = CODES[array.dtype]
    return allowed


def _check_table(arrays: dict[str, NDArray[Any]], settings: TabularSettings, support: Support) -> None:
    """The largest array is there, so that a header alone cannot claim memory."""
    shape = (settings.method.horizon if settings.method.code == ULCVI else 0, support.states)
    if "learned.table" not in arrays or arrays["learned.table"].shape != shape:
        raise FileFormatError(f"learned.table is missing or not of shape {shape}, as support and method ask")


def _check_all_used(arrays: dict[str, NDArray[Any]], learner: TabularLearner, episodes: int) -> None:
    """Every array belongs to the support, to the learner or to an episode of the header."""
    used = {*SUPPORT_ARRAYS, _LOSSES, *dict(_kept(learner._learned))}
    for place in range(episodes):
        used |= set(dict(_named(f"episode_{place}", fresh_walk(1))))
    unknown = sorted(set(arrays) - used)
    if unknown:
        raise FileFormatError(f"{unknown[0]} belongs to no episode that the header knows")
