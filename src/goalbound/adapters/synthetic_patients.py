"""A small patient table that we made up, in the format of :func:`~goalbound.adapters.patients.read_patients`.

It is for examples and tests, and stands for no illness, no drug and no patient: nothing in it is medical. Two groups
have the same states and treatments, and differ in which drug helps which vital sign.

>>> import tempfile
>>> from pathlib import Path
>>> from goalbound.adapters.patients import read_patients
>>> with tempfile.TemporaryDirectory() as folder:
...     path = write_synthetic_patients(Path(folder) / "patients.npz")
...     print(read_patients(path, groups=GROUPS))
2 groups (type A, type B), 78 live states, 6 treatments
rows summed to 1 within 2.2e-16; states and actions have names
"""

from __future__ import annotations

import tempfile
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.adapters.patients import (
    DEATH,
    DISCHARGE,
    LIVE,
    DeathPolicy,
    PatientTable,
    death_state,
    read_patients,
)
from goalbound.models.files.io import atomic_write
from goalbound.models.validation import check_int

GROUPS = ("type A", "type B")
"""The names of the groups, in the order of the file."""
SHARES = (0.8, 0.2)

_THREE = ("low", "normal", "high")
_VITALS = (
    ("blood pressure", _THREE),
    ("pulse", _THREE),
    ("temperature", _THREE),
    ("sugar", ("very low", "low", "normal", "high", "very high")),
)
_SUGAR = 3
_SIZES = tuple(len(levels) for _, levels in _VITALS)
_NORMAL = np.array([levels.index("normal") for _, levels in _VITALS])
_ACTIONS = ("nothing", "drug 1", "drug 2", "drug 3", "drug 4", "intensive care")
_DRUGS = 4
_DEADLY = 4  # so many levels away from normal, over all signs
_ADMITTED = (2, 3)  # so many, when patients begin


class _Rates(NamedTuple):
    """[A, 4] for one group: the chances, in a step, that a vital sign moves by one level."""

    heals: NDArray[np.float64]
    """towards normal, where it is not"""
    worsens: NDArray[np.float64]
    """away from normal, if there is a level further away; from normal, half of it to each side"""


def synthetic_tables(*, seed: int = 0) -> dict[str, NDArray[Any]]:
    """The arrays of a made-up table: two groups, 135 states of which 78 are live, six treatments.

    A state has the levels of four vital signs. With all of them normal a patient goes home; with four levels away from
    normal in all, a patient is dead. In a step at most one sign moves, by one level. Each drug helps one sign and harms
    another; untreated signs get worse now and then. The drug that helps the sugar of one group harms that of the other,
    and of the four drugs one helps the same sign in both. Intensive care keeps all signs from getting worse and heals
    them slowly, but in type B it does not move the sugar at all: who gives it until the sugar is normal waits for ever.
    For seeds 0 to 19, which are tested, the best treatments differ in 60 or more of the live states, and the policy
    that is best for the average of both groups never ends in type B.

    Args:
        seed: which drug helps what, how well, and where patients begin. The same seed gives the same arrays.

    >>> tables = synthetic_tables(seed=3)
    >>> tables["tx_mat"].shape  # groups, treatments, states, next states
    (2, 6, 135, 135)
    """
    rng = np.random.default_rng(check_int(seed, "seed", least=0))
    levels = np.array(np.unravel_index(np.arange(np.prod(_SIZES)), _SIZES)).T  # [n, 4]
    severity = np.abs(levels - _NORMAL).sum(axis=1)
    kind = np.where(severity == 0, DISCHARGE, np.where(severity >= _DEADLY, DEATH, LIVE))
    start = rng.uniform(0.5, 1.5, (len(GROUPS), len(kind))) * np.isin(severity, _ADMITTED)
    return {
        "tx_mat": np.stack([_table(levels, kind, rates) for rates in _draw_rates(rng)]),
        "reward_of_next_state": kind,
        "p_initial_state": start / start.sum(axis=1, keepdims=True),
        "p_mixture": np.array(SHARES),
        "state_names": np.array([_state_name(code) for code in levels]),
        "action_names": np.array(_ACTIONS),
    }


def write_synthetic_patients(path: str | PathLike[str], *, seed: int = 0) -> Path:
    """Write :func:`synthetic_tables` to an ``.npz`` file, and return its path. A file of that name is replaced."""
    arrays: dict[str, Any] = synthetic_tables(seed=seed)
    with atomic_write(path) as file:
        np.savez_compressed(file, **arrays)
    return Path(path)


def synthetic_patients(*, seed: int = 0, on_death: DeathPolicy | None = None) -> PatientTable:
    """The made-up table as :func:`~goalbound.adapters.patients.read_patients` reads it from its file.

    Args:
        seed: of :func:`synthetic_tables`.
        on_death: :func:`~goalbound.adapters.patients.death_state` if left out: all losses are then known, and without
            noise.

    >>> synthetic_patients().problem
    LinearCSSP(2 components, 79 states, 469 pairs, 2238 next states)
    """
    with tempfile.TemporaryDirectory() as folder:
        path = write_synthetic_patients(Path(folder) / "patients.npz", seed=seed)
        return read_patients(path, groups=GROUPS, on_death=death_state() if on_death is None else on_death)


def _draw_rates(rng: np.random.Generator) -> list[_Rates]:
    """The rates of each group. For each drug those in a step sum to at most 0.45 + 0.35 + 0.1 + 2 * 0.03 < 1."""
    helped = rng.permutation(_DRUGS)  # [4] the sign that a drug helps in type A
    by_sugar = int(np.flatnonzero(helped == _SUGAR)[0])
    changing = np.concatenate(([by_sugar], rng.permutation(np.delete(np.arange(_DRUGS), by_sugar))[:2]))
    other = helped.copy()
    other[changing] = helped[np.roll(changing, 1)]  # three drugs swap what they help; one is the same in both groups
    sugar_drugs = (by_sugar, int(np.flatnonzero(other == _SUGAR)[0]))
    groups = []
    for group, order in enumerate((helped, other)):
        heals, worsens = np.zeros((2, len(_ACTIONS), len(_VITALS)))
        heals[0] = 0.04
        worsens[:-1] = rng.uniform(0.02, 0.03, (len(_ACTIONS) - 1, len(_VITALS)))
        for drug, sign in enumerate(order):
            heals[1 + drug, sign] = rng.uniform(0.35, 0.45)
            worsens[1 + drug, sign] = 0.0
            worsens[1 + drug, (sign + 1) % _SUGAR] = rng.uniform(0.05, 0.1)
        worsens[1 + sugar_drugs[1 - group], _SUGAR] = rng.uniform(0.25, 0.35)
        heals[-1] = rng.uniform(0.06, 0.1, len(_VITALS))
        heals[-1, _SUGAR] = (rng.uniform(0.2, 0.25), 0.0)[group]
        groups.append(_Rates(heals, worsens))
    return groups


def _table(levels: NDArray[np.int64], kind: NDArray[np.float64], rates: _Rates) -> NDArray[np.float64]:
    """[A, n, n] the chances of next states; the dead and those at home stay where they are."""
    table = np.zeros((len(_ACTIONS), len(kind), len(kind)))
    for state, code in enumerate(levels):
        if kind[state] == LIVE:
            for sign, level in enumerate(code):
                for after, chances in _moves(sign, int(level), rates):
                    moved = np.where(np.arange(len(code)) == sign, after, code)
                    table[:, state, np.ravel_multi_index(tuple(moved), _SIZES)] += chances
        table[:, state, state] += 1.0 - table[:, state].sum(axis=1)
    return table


def _moves(sign: int, level: int, rates: _Rates) -> list[tuple[int, NDArray[np.float64]]]:
    """Where a vital sign may move to from a level, with the chance [A] of each."""
    away = level - int(_NORMAL[sign])
    if away == 0:
        return [(level + side, rates.worsens[:, sign] / 2.0) for side in (-1, 1)]
    side = 1 if away > 0 else -1
    further = [(level + side, rates.worsens[:, sign])] if 0 <= level + side < _SIZES[sign] else []
    return [(level - side, rates.heals[:, sign]), *further]


def _state_name(code: NDArray[np.int64]) -> str:
    """The vital signs that are not normal: ``pulse low, sugar high``."""
    signs = [
        f"{name} {levels[level]}"
        for (name, levels), level in zip(_VITALS, code, strict=True)
        if levels[level] != "normal"
    ]
    return ", ".join(signs) or "all normal"
