"""A learner in a file: all its arrays as they are, and a header in JSON. Nothing read is ever executed, and every
number that is used as an index is checked before."""

from __future__ import annotations

from os import PathLike
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError
from goalbound.kernels.records import named_arrays
from goalbound.kernels.regression import new_regression_sums
from goalbound.kernels.state import (
    EpisodeState,
    LearnerState,
    new_episode_state,
    new_learner_state,
)
from goalbound.kernels.stochastic_rows import NO_GOAL
from goalbound.learners.core import RidgeLearner
from goalbound.learners.episode import LRCSSPEpisode
from goalbound.learners.episode_arrays import ONE_EPISODE, stacked, unstacked, with_stacked
from goalbound.learners.filling import CODES, MANY, fill, within, within_record
from goalbound.learners.generator import generator_from, state_of
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.settings import Settings
from goalbound.models import Support
from goalbound.models.files.array_file import FORMAT, check_keys, read_array_file, write_array_file
from goalbound.models.files.io import LIMIT, as_format_errors
from goalbound.models.files.npz import SUPPORT_ARRAYS, support_arrays, support_from
from goalbound.models.files.saved_files import SavedFiles
from goalbound.models.validation import check_distribution, set_readonly

VERSION = 5
L = TypeVar("L", bound=RidgeLearner)
_KEYS = ("settings", "begun", "acts", "episodes", "stream", "state_names", "action_names")
_EPISODE_KEYS = {"number", "state", "action", "acted"}
_KNOWN = {"loss_known": "|b1", "losses": "<f8", "row_known": "|b1", "rows": "<f8", "floors": "<f8"}
_SHARED = frozenset({"pair_start", "next_start"})  # arrays of the support, which stand there once
_MOST = np.finfo(np.float64).max


def write_checkpoint(learner: RidgeLearner, path: str | PathLike[str], *, overwrite: bool = False) -> None:
    """Write a learner with its open episodes; the file appears complete or not at all."""
    episodes = learner.open_episodes
    header = {
        "format": FORMAT, "version": VERSION, "kind": learner.kind,
        "settings": learner.settings.as_json(),
        "begun": learner._begun, "acts": learner._pending.acts,
        "stream": state_of(learner._rng) if learner.settings.exploration.draws else None,
        "episodes": [
            {"number": one.number, "state": one._state, "action": one._action, "acted": one._acted} for one in episodes
        ],
        "state_names": learner.support.state_names, "action_names": learner.support.action_names,
    }  # fmt: skip
    arrays: dict[str, NDArray[Any]] = {
        **support_arrays(learner.support),
        **dict(named_arrays("state", learner._state, without=_SHARED)),
    }
    if learner.prior is not None:
        arrays |= {f"prior.{name}": getattr(learner.prior, name) for name in _KNOWN}
    for place, episode in enumerate(episodes):
        arrays |= dict(named_arrays(f"episode_{place}", episode._arrays, without=_SHARED))
    write_array_file(path, header, stacked(arrays), files=learner._files, overwrite=overwrite)


def read_checkpoint(cls: type[L], path: str | PathLike[str], *, limit: int = LIMIT) -> L:
    """Read what :func:`write_checkpoint` wrote of a learner of this class; else an error that says what is wrong."""
    files = SavedFiles()
    header, arrays = read_array_file(
        path, kind=cls.kind, versions=[VERSION], arrays=with_stacked(_allowed()), what="checkpoint",
        limit=limit, files=files,
    )  # fmt: skip
    with as_format_errors(path, "checkpoint"):
        check_keys(header, _KEYS)
        arrays = unstacked(arrays, header["episodes"])
        if not isinstance(header["settings"], dict) or {type(header["begun"]), type(header["acts"])} != {int}:
            raise FileFormatError("settings is no object, or begun or acts is no whole number")
        support = support_from(header, arrays)
        settings = Settings.from_json(header["settings"])
        _check_size(arrays, support, settings.context_size)
        prior = _knowledge(arrays, support, settings.context_size)
        learner = cls._of(support, settings, prior, _stream(header["stream"], settings))
        entries = _checked_episodes(header["episodes"], header, support)
        fill(named_arrays("state", learner._state, without=_SHARED), arrays)
        _check_state(learner._state, support)
        if settings.is_optimistic:  # its sets bear with any projection
            within_record("totals", learner._state.totals, failed_projections=(0, 0))
        for place, entry in enumerate(entries):
            episode_state = learner._new_episode_state()
            fill(named_arrays(f"episode_{place}", episode_state, without=_SHARED), arrays)
            _check_episode(episode_state, entry, support)
            learner._adopt(LRCSSPEpisode(learner, episode_state), entry)
        _check_all_used(arrays, learner)
        _await_again(learner)
        learner._begun, learner._pending.acts = header["begun"], header["acts"]
    learner._files = files
    return learner


def _await_again(learner: RidgeLearner) -> None:
    """The outcomes that were awaited are awaited, in the order of act."""
    awaiting = [one for one in learner._loaded if one._acted is not None]
    for episode in sorted(awaiting, key=lambda one: one._acted or 0):
        episode._pair = learner.support.pair(episode._state or 0, episode._action or 0)
        learner._pending.hold(episode)


def _knowledge(arrays: dict[str, NDArray[Any]], support: Support, size: int) -> PriorKnowledge | None:
    """The prior knowledge of single pairs, checked as if it were given now."""
    found = {name: arrays[f"prior.{name}"] for name in _KNOWN if f"prior.{name}" in arrays}
    if not found:
        return None
    if set(found) != set(_KNOWN):
        raise FileFormatError(f"of the knowledge only {', '.join(sorted(found))} is there")
    shapes = {
        "loss_known": (support.pairs,), "losses": (support.pairs, size), "row_known": (support.pairs,),
        "rows": (support.triples if found["row_known"].any() else 0, size), "floors": (support.pairs,),
    }  # fmt: skip
    for name, shape in shapes.items():
        if found[name].shape != shape:
            raise FileFormatError(f"prior.{name} has shape {found[name].shape}; the support asks for {shape}")
    for name in ("losses", "rows", "floors"):
        within(f"prior.{name}", found[name], 0.0, 1.0)
    if len(found["rows"]):
        sums = np.add.reduceat(found["rows"], support.next_start[:-1], axis=0)[found["row_known"]]
        within("a known row", sums, 1.0 - 1e-9, 1.0 + 1e-9)
    return PriorKnowledge(support, size, **{name: set_readonly(array.copy()) for name, array in found.items()})


def _stream(state: Any, settings: Settings) -> np.random.Generator | None:
    """The learner's own stream, as it was."""
    if not settings.exploration.draws:
        if state is not None:
            raise FileFormatError("there is a stream, but the learner draws nothing")
        return None
    return generator_from(state)


def _allowed() -> dict[str, str]:
    """The arrays that a checkpoint may have: names, or patterns for those of episodes, and their types."""
    learner_state = new_learner_state(new_regression_sums(1, 1, 1, 1.0), np.array([0, 1]), 1.0, 1.0)
    episode_state = new_episode_state(np.array([0, 1]), np.array([0, 1]), 1)
    allowed = dict(SUPPORT_ARRAYS) | {f"prior.{name}": code for name, code in _KNOWN.items()}
    allowed |= {name: CODES[array.dtype] for name, array in named_arrays("state", learner_state, without=_SHARED)}
    for name, array in named_arrays(ONE_EPISODE, episode_state, without=_SHARED):
        allowed[name.replace(".", r"\.")] = CODES[array.dtype]
    return allowed


def _check_size(arrays: dict[str, NDArray[Any]], support: Support, size: int) -> None:
    """The largest array of a learner is there, so that a header alone cannot claim memory."""
    shape = (support.pairs, size, size)
    if "state.regression.gram" not in arrays or arrays["state.regression.gram"].shape != shape:
        raise FileFormatError(f"state.regression.gram is missing or not of shape {shape}, as support and settings ask")


def _check_all_used(arrays: dict[str, NDArray[Any]], learner: RidgeLearner) -> None:
    """Every array belongs to the support, to the learner or to an episode of the header."""
    used = {
        *SUPPORT_ARRAYS,
        *dict(named_arrays("state", learner._state, without=_SHARED)),
        *(f"prior.{name}" for name in _KNOWN),
    }
    for place, episode in enumerate(learner._loaded):
        used |= set(dict(named_arrays(f"episode_{place}", episode._arrays, without=_SHARED)))
    unknown = sorted(set(arrays) - used)
    if unknown:
        raise FileFormatError(f"{unknown[0]} belongs to no episode that the header knows")


def _check_state(learner_state: LearnerState, support: Support) -> None:
    regression = learner_state.regression
    lengths = np.diff(support.next_start) - (support.next_state[support.next_start[1:] - 1] == support.states)
    within("visits", regression.visits, 0, MANY)
    within("seen", regression.seen, 0, lengths)
    within("seen_index", regression.seen_index, -1, np.repeat(regression.seen, np.diff(support.next_start)) - 1)
    within("seen_state", regression.seen_state, 0, support.states - 1)
    taken = np.flatnonzero(regression.seen_index >= 0)
    pair = np.searchsorted(support.next_start, taken, side="right") - 1
    stands = regression.seen_state[support.next_start[pair] + regression.seen_index[taken]]
    within("seen_state", stands, support.next_state[taken], support.next_state[taken])
    within("seen", regression.seen, *[np.bincount(pair, minlength=support.pairs)] * 2)
    whole = ~support.leads_to_goal  # all next states of such a pair have their indices
    within("seen", regression.seen[whole], lengths[whole], lengths[whole])
    within("policy", learner_state.policy, support.pair_start[:-1], support.pair_start[1:] - 1)
    within("change_log", learner_state.change_log, 0, support.pairs - 1)
    within_record("totals", learner_state.totals, loss_bound=(1.0, _MOST))
    within("pending visits", learner_state.pending.visits, 0, regression.visits)
    for name in ("contexts", "norms"):
        within(f"pending {name}", getattr(learner_state.pending, name), 0, MANY)
    within_record(
        "violation", learner_state.linearity.violation, found=(0, 1), pair=(0, support.pairs - 1),
        place=(-2, support.triples - 1),
    )  # fmt: skip
    _check_values(learner_state.values)


def _check_values(values: NDArray[np.float64]) -> None:
    within("values", values[:-1], 0.0, _MOST)
    within("values of the goal", values[-1:], 0.0, 0.0)


def _check_episode(episode_state: EpisodeState, entry: dict[str, Any], support: Support) -> None:
    check_distribution(episode_state.context, "context", len(episode_state.context), "component")
    lengths = np.diff(support.next_start)
    within("policy", episode_state.iteration.policy, support.pair_start[:-1], support.pair_start[1:] - 1)
    within("used", episode_state.sets.used, 0, lengths)
    whole = episode_state.sets.mass == NO_GOAL
    within("used", episode_state.sets.used[whole], lengths[whole], lengths[whole])
    within("mass", episode_state.sets.mass[support.leads_to_goal], 0.0, _MOST)
    within("state", episode_state.sets.state, 0, support.states)
    counted = (0, 1 if entry["action"] is not None else 0)
    within_record("progress", episode_state.progress, interval=(1, MANY), counted=counted)
    _check_values(episode_state.iteration.values)
    if entry["action"] is not None:
        if entry["state"] is None or not episode_state.progress["planned"]:
            raise FileFormatError(f"an episode is {entry!r}; an action needs a state and a plan")
        support.pair(entry["state"], entry["action"])


def _checked_episodes(entries: Any, header: dict[str, Any], support: Support) -> list[dict[str, Any]]:
    if not isinstance(entries, list):
        raise FileFormatError("episodes is no list")
    begun, acts = header["begun"], header["acts"]
    last = -1
    visits = set()
    for entry in entries:
        if not isinstance(entry, dict) or set(entry) != _EPISODE_KEYS or type(entry["number"]) is not int:
            raise FileFormatError(f"an episode is {entry!r}; it needs {sorted(_EPISODE_KEYS)}")
        if not last < entry["number"] < begun:
            raise FileFormatError(f"episode {entry['number']} follows episode {last}, and {begun} were begun")
        last = entry["number"]
        acted = entry["acted"]
        if (acted is None) != (entry["action"] is None) or acted in visits:
            raise FileFormatError(f"an episode is {entry!r}; each action has a number of its own in acted")
        if acted is not None:
            if not (type(acted) is int and 0 <= acted < acts):
                raise FileFormatError(f"an episode is {entry!r}, and {acts} actions were taken")
            visits.add(acted)
        for key, count in (("state", support.states), ("action", support.actions)):
            if entry[key] is not None and not (type(entry[key]) is int and 0 <= entry[key] < count):
                raise FileFormatError(f"the {key} of an episode is {entry[key]!r}; they are 0 to {count - 1}")
    return entries
