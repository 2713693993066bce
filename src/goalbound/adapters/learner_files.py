"""Learners from files, whatever their kind: the file itself says what is in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from importlib import import_module
from os import PathLike
from types import MappingProxyType
from typing import Any

from goalbound.errors import FileFormatError
from goalbound.models.files.array_file import peek_header
from goalbound.models.files.io import LIMIT
from goalbound.models.validation import short_repr

LEARNER_KINDS: Mapping[str, str] = MappingProxyType(
    {
        "LRCSSP": "goalbound.learners.lr_cssp",
        "RidgeLearner": "goalbound.learners.learner",
        **dict.fromkeys(
            ("GreedyRidge", "EpsilonGreedy", "LocalOptimism", "PosteriorSampling", "KwikRmax"),
            "goalbound.learners.ridge",
        ),
        "TabularLearner": "goalbound.baselines",
    }
)
"""The learners that a file holds whole, and their modules."""
WRAPPER_KINDS: Mapping[str, str] = MappingProxyType(
    {
        "Apprentice": "goalbound.around.runbook",
        "Guarded": "goalbound.around.runbook",
        "Monitored": "goalbound.around.monitor",
        "CovariateLearner": "goalbound.adapters.covariates",
    }
)
"""Learners around another one, which is in the file too."""


def load_learner(path: str | PathLike[str], *, limit: int = LIMIT, rooms: Iterable[Any] = ()) -> Any:
    """Read a learner that ``save`` wrote, of whatever class, with all that is around it: map, runbook, monitor.

    It goes on bit for bit. What was made with functions or streams that no file can hold (``MappedContexts``,
    ``Discretized``, ``RandomWalk``) is restored by one that was made alike: ``fresh.restored(path)``.

    Args:
        path: the file.
        limit: the most bytes that the file may have.
        rooms: of your own: the confidence models and exploration rules, as the learner was made with, and the classes
            of wrappers. A file never says what to import.

    >>> import tempfile, pathlib
    >>> from goalbound import GreedyRidge, Support
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "learner.npz"
    ...     GreedyRidge(Support.full(2, 2), 3, loss_floor=0.1).save(path)
    ...     load_learner(path)
    GreedyRidge(2 states, 4 pairs, 12 next states, 3 components, 0 steps)
    """
    kind, given = peek_header(path).get("kind"), list(rooms)
    if isinstance(kind, str) and kind in LEARNER_KINDS:
        return getattr(import_module(LEARNER_KINDS[kind]), kind).load(path, limit=limit, rooms=given)
    wrappers: dict[Any, Any] = {room.__name__: room for room in given if isinstance(room, type)}
    if isinstance(kind, str) and kind in WRAPPER_KINDS:
        wrappers[kind] = getattr(import_module(WRAPPER_KINDS[kind]), kind)
    if kind in wrappers:
        return wrappers[kind].load(path, load_learner=partial(load_learner, rooms=given), limit=limit)
    if kind is None:
        raise FileFormatError(f"{path}: it is no file of goalbound, or a damaged one; take a copy that was made before")
    known = ", ".join((*LEARNER_KINDS, *WRAPPER_KINDS))
    raise FileFormatError(
        f"{path}: it holds a {short_repr(kind)}; a learner is one of {known}. If it is a class of yours, "
        "load_learner(path, rooms=[TheClass]); others are restored by one that was made alike: fresh.restored(path)"
    )
