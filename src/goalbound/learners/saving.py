"""Learners inside other files: as the bytes of their own.

A learner that can be saved has ``save(path)``, and ``restored(path)``: one made alike that goes on from the file. The
second is a method of a fresh learner, so that functions and streams it was made with need not be in the file.
"""

from __future__ import annotations

import inspect
import tempfile
import warnings
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import LargeFileWarning
from goalbound.learners.wrapper import Wrapper
from goalbound.models.files.io import LIMIT


def can_be_saved(learner: Any) -> bool:
    """Whether it has ``save`` and ``restored``, and so has what it may be made of."""
    inner = learner.inner if isinstance(learner, Wrapper) else None
    if inner is None and callable(getattr(learner, "example", None)):
        inner = learner.example()
    able = callable(getattr(learner, "save", None)) and callable(getattr(learner, "restored", None))
    return able and (inner is None or can_be_saved(inner))


def bytes_of(learner: Any) -> NDArray[np.uint8]:
    """The learner as it saves itself."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner.npz"
        with warnings.catch_warnings():  # how large the file is that it becomes a part of is said there
            warnings.simplefilter("ignore", LargeFileWarning)
            learner.save(path)
        return np.frombuffer(path.read_bytes(), np.uint8)


def restored_from(fresh: Any, data: NDArray[np.uint8], *, limit: int = LIMIT) -> Any:
    """A learner like ``fresh`` that goes on from the bytes, which came from a file that was read with this limit."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner.npz"
        path.write_bytes(data.tobytes())
        return with_limit(fresh.restored, path, limit)


def save_inner(learner: Any, path: str | PathLike[str], *, overwrite: bool) -> None:
    """``learner.save(path)`` of a learner inside another. One that knows no ``overwrite`` always does."""
    if overwrite and takes(learner.save, "overwrite"):
        learner.save(path, overwrite=True)
    else:
        learner.save(path)


def with_limit(read: Callable[..., Any], path: str | PathLike[str], limit: int) -> Any:
    """``read(path)``; a limit that is not the usual one is passed on to those that take one.

    >>> with_limit(lambda path: path, "learner.npz", 2**40)
    'learner.npz'
    >>> with_limit(lambda path, limit: limit, "learner.npz", 8)
    8
    """
    return read(path) if limit == LIMIT or not takes(read, "limit") else read(path, limit=limit)


def takes(function: Callable[..., Any], name: str) -> bool:
    """Whether a function, maybe of a third party, has a parameter of this name."""
    parameters = inspect.signature(function).parameters
    return name in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())
