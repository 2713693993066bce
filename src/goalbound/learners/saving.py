"""Learners inside other files: as the bytes of their own.

A learner that can be saved has ``save(path)``, and ``resumed(path)``: one made alike that goes on from the file. The
second is a method of a fresh learner, so that functions and streams it was made with need not be in the file.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def can_be_saved(learner: Any) -> bool:
    """Whether it has ``save`` and ``resumed``, and so has what it may be made of."""
    inner = getattr(learner, "learner", None)
    if inner is None and callable(getattr(learner, "example", None)):
        inner = learner.example()
    able = callable(getattr(learner, "save", None)) and callable(getattr(learner, "resumed", None))
    return able and (inner is None or can_be_saved(inner))


def bytes_of(learner: Any) -> NDArray[np.uint8]:
    """The learner as it saves itself."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner.npz"
        learner.save(path)
        return np.frombuffer(path.read_bytes(), np.uint8)


def resumed_from(fresh: Any, data: NDArray[np.uint8]) -> Any:
    """A learner like ``fresh`` that goes on from the bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner.npz"
        path.write_bytes(data.tobytes())
        return fresh.resumed(path)
