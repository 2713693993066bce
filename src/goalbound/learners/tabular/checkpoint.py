"""A context-free learner in a file: all its arrays as they are, and a header in JSON. Nothing read is ever executed,
and every number that is used as an index is checked before."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from typing import Any

from numpy.typing import NDArray

from goalbound.errors import FileFormatError
from goalbound.kernels.records import named_arrays
from goalbound.kernels.tabular.state import ULCVI, LearnerState, PlanningModel, new_episode_state
from goalbound.learners.episode_arrays import ONE_EPISODE, stacked, unstacked, with_stacked
from goalbound.learners.filling import CODES, fill
from goalbound.learners.generator import generator_from, state_of
from goalbound.learners.tabular.episode import TabularEpisode
from goalbound.learners.tabular.integrity import check_episode, check_numbers, check_state, checked_episodes
from goalbound.learners.tabular.learner import TabularLearner
from goalbound.learners.tabular.settings import TabularSettings
from goalbound.models import Support
from goalbound.models.files.array_file import FORMAT, check_keys, read_array_file, write_array_file
from goalbound.models.files.io import LIMIT, as_format_errors
from goalbound.models.files.npz import SUPPORT_ARRAYS, support_arrays, support_from
from goalbound.models.files.saved_files import SavedFiles

KIND, VERSION = "TabularLearner", 3
_KEYS = ("settings", "generator", "episodes", "state_names", "action_names")
_LOSSES = "known_losses"
_LEFT_OUT = frozenset({"main", "unit", "workspace"})


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
    arrays: dict[str, NDArray[Any]] = {**support_arrays(learner.support), **dict(_kept(learner._state))}
    if learner.known_losses is not None:
        arrays[_LOSSES] = learner.known_losses
    for place, episode in enumerate(episodes):
        arrays |= dict(named_arrays(f"episode_{place}", episode._arrays))
    write_array_file(path, header, stacked(arrays), files=learner._files, overwrite=overwrite)


def read_checkpoint(path: str | PathLike[str], *, limit: int = LIMIT) -> TabularLearner:
    """Read what :func:`write_checkpoint` wrote; anything else is an error that says what is wrong."""
    files = SavedFiles()
    header, arrays = read_array_file(
        path, kind=KIND, versions=[VERSION], arrays=with_stacked(_allowed()), what="checkpoint",
        limit=limit, files=files,
    )  # fmt: skip
    with as_format_errors(path, "checkpoint"):
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
        fill(_kept(learner._state), arrays)
        check_state(learner._state, support)
        entries = checked_episodes(header["episodes"], support)
        for place, entry in enumerate(entries):
            episode_state = new_episode_state(support.states)
            fill(named_arrays(f"episode_{place}", episode_state), arrays)
            learner._adopt(TabularEpisode(learner, episode_state), entry)
            check_episode(episode_state, entry, learner._state, support)
        check_numbers([one.number for one in learner._loaded])
        _check_all_used(arrays, learner, len(entries))
    learner._files = files
    return learner


def _entry(episode: TabularEpisode) -> dict[str, int | None]:
    pair = episode._pair
    action = None if pair is None else int(episode.learner.support.pair_action[pair])
    return {"state": episode._state, "action": action}


def _kept(learner_state: LearnerState) -> Iterator[tuple[str, NDArray[Any]]]:
    """The arrays that say what a learner is. Rooms to work in are left out, and what stands elsewhere already."""
    yield from named_arrays("state", learner_state, without=_LEFT_OUT)
    yield "state.table", learner_state.workspace.table
    for name in ("used", "state", "centre", "ball", "mass", "losses"):
        yield f"state.sets.{name}", getattr(learner_state.main.sets, name)
    yield from _model("state.main", learner_state.main)
    yield from _model("state.unit", learner_state.unit)


def _model(prefix: str, model: PlanningModel) -> Iterator[tuple[str, NDArray[Any]]]:
    yield from named_arrays(prefix, model, without=frozenset({"sets"}))


def _allowed() -> dict[str, str]:
    """The arrays that a checkpoint may have: names, or patterns for those of episodes, and their types."""
    from goalbound.learners.tabular.method import bernstein_ssp_method

    small = TabularLearner(Support.full(1, 1), bernstein_ssp_method(), loss_floor=1.0)
    allowed = {**SUPPORT_ARRAYS, _LOSSES: "<f8"}
    allowed |= {name: CODES[array.dtype] for name, array in _kept(small._state)}
    for name, array in named_arrays(ONE_EPISODE, new_episode_state(1)):
        allowed[name.replace(".", r"\.")] = CODES[array.dtype]
    return allowed


def _check_table(arrays: dict[str, NDArray[Any]], settings: TabularSettings, support: Support) -> None:
    """The largest array is there, so that a header alone cannot claim memory."""
    shape = (settings.method.horizon if settings.method.code == ULCVI else 0, support.states)
    if "state.table" not in arrays or arrays["state.table"].shape != shape:
        raise FileFormatError(f"state.table is missing or not of shape {shape}, as support and method ask")


def _check_all_used(arrays: dict[str, NDArray[Any]], learner: TabularLearner, episodes: int) -> None:
    """Every array belongs to the support, to the learner or to an episode of the header."""
    used = {*SUPPORT_ARRAYS, _LOSSES, *dict(_kept(learner._state))}
    for place in range(episodes):
        used |= set(dict(named_arrays(f"episode_{place}", new_episode_state(1))))
    unknown = sorted(set(arrays) - used)
    if unknown:
        raise FileFormatError(f"{unknown[0]} belongs to no episode that the header knows")
