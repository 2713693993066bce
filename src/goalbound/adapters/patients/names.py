"""Names of states and actions of the sepsis simulator, for files that have its layout."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.adapters.patients.arrays import DEATH, DISCHARGE, Arrays

_VITALS = (
    ("heart rate", ("low", "normal", "high")),
    ("blood pressure", ("low", "normal", "high")),
    ("oxygen", ("low", "normal")),
    ("glucose", ("very low", "low", "normal", "high", "very high")),
)
_IN_STATES = ("antibiotics", "vasopressors", "ventilation")
_IN_ACTIONS = ("antibiotics", "ventilation", "vasopressors")
_SIZES = (*(len(levels) for _, levels in _VITALS), 2, 2, 2)
_DEADLY = 3  # so many vital signs out of order


class Names(NamedTuple):
    """Of all n states and A actions of a file."""

    states: tuple[str, ...]
    actions: tuple[str, ...]


def published_names(arrays: Arrays) -> Names | None:
    """The names, if the file has the simulator's layout; None if not.

    Three things must hold: 720 states and 8 actions; the deaths are the states with three or more vital signs that are
    not normal, and the discharge is the one with none and no treatment; each action leads only to states with its
    treatments. Which of two vital signs is which, and that 0 is low, no table can show: it is taken from the simulator.
    """
    if len(arrays.kind) != np.prod(_SIZES) or arrays.rows.shape[1] != 2 ** len(_IN_ACTIONS):
        return None
    code = np.array(np.unravel_index(np.arange(len(arrays.kind)), _SIZES))  # [7, n]
    vitals, treated = code[: len(_VITALS)], code[len(_VITALS) :]
    normal = np.array([levels.index("normal") for _, levels in _VITALS])
    abnormal = (vitals != normal[:, None]).sum(axis=0)
    dead, home = arrays.kind == DEATH, arrays.kind == DISCHARGE
    if not np.array_equal(dead, abnormal >= _DEADLY) or not np.array_equal(home, (abnormal == 0) & ~treated.any(0)):
        return None
    given = np.array(np.unravel_index(np.arange(8), (2, 2, 2)))[[_IN_ACTIONS.index(name) for name in _IN_STATES]]
    elsewhere = (given[:, :, None] != treated[:, None, :]).any(axis=0)  # [A, n]
    if (arrays.rows.any(axis=(0, 2)) & elsewhere).any():
        return None
    return Names(tuple(map(_state_name, code.T)), tuple(_join_treatments(given[:, a], "nothing") for a in range(8)))


def _state_name(code: NDArray[np.int64]) -> str:
    """The vital signs that are not normal, and the treatments: ``glucose high; on antibiotics``."""
    signs = [
        f"{name} {levels[level]}"
        for (name, levels), level in zip(_VITALS, code[: len(_VITALS)], strict=True)
        if levels[level] != "normal"
    ]
    treated = code[len(_VITALS) :]
    return (", ".join(signs) or "all normal") + (f"; on {_join_treatments(treated, '')}" if treated.any() else "")


def _join_treatments(treated: NDArray[np.int64], nothing: str) -> str:
    return " and ".join(name for name, given in zip(_IN_STATES, treated, strict=True) if given) or nothing
