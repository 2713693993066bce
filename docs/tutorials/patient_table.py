"""Tables of treatments as problems, and a table that we made up: what the tutorial about patients needs.

The arrays are named as in the tables of the sepsis simulator of Oberst and Sontag (clinicalml/gumbel-max-scm, MIT
licence), which is not shipped: ``np.load`` reads yours. The made-up table stands for no illness, no drug and no
patient: nothing in it is medical.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound import LinearCSSP, Support

Floats = NDArray[np.float64]

DEATH, LIVE, DISCHARGE = -1, 0, 1
GROUPS = ("type A", "type B")
"""The groups of the made-up table."""
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


def patient_problem(
    tables: Mapping[str, Any],
    groups: Sequence[str] = GROUPS,
    *,
    step_loss: float = 0.05,
    death_loss: float = 1.0,
    death_state: bool = True,
) -> LinearCSSP:
    """A table as a problem: discharge is the goal, groups are components.

    After a death the bed goes to the next patient, who begins where patients of the group begin.

    Args:
        tables: ``tx_mat`` [d, A, n, n], the chances of next states; ``reward_of_next_state`` [n], -1 for death, 1 for
            discharge, else 0; ``p_initial_state`` [d, n]; and perhaps ``state_names`` [n] and ``action_names`` [A].
            Rows are divided by their sums, as the published table is stored as float32.
        groups: d names of the components.
        step_loss: what a step loses that does not end in death.
        death_loss: what a death loses in all.
        death_state: the dead are the last state, where all one can do is to readmit (action 0), which loses the rest
            of ``death_loss``: so all losses are known. If False, the step into death leads to the next patient itself.
            The values of each group are the same.
    """
    kind = np.asarray(tables["reward_of_next_state"])
    live = np.flatnonzero(kind == LIVE)
    rows = _normalised(np.asarray(tables["tx_mat"])[:, :, live]).transpose(0, 2, 1, 3)  # [d, L, A, n]
    start = _normalised(np.asarray(tables["p_initial_state"]))[:, live]
    deaths = np.minimum(rows[..., kind == DEATH].sum(axis=-1), 1.0)  # [d, L, A]; sums round
    size, count, actions, _ = rows.shape
    states = count + death_state
    transitions = np.zeros((size, states, actions, states + 1))
    transitions[:, :count, :, :count] = rows[..., live]
    transitions[:, :count, :, -1] = rows[..., kind == DISCHARGE].sum(axis=-1)
    losses = np.full((size, states, actions), step_loss)
    if death_state:
        transitions[:, :count, :, count] = deaths
        transitions[:, count, 0, :count] = start
        losses[:, count] = death_loss - step_loss
    else:
        transitions[:, :count, :, :count] += deaths[..., None] * start[:, None, None]
        losses = (1.0 - deaths) * step_loss + deaths * death_loss
    names = {name: np.asarray(tables[name]) for name in ("state_names", "action_names") if name in tables}
    if "state_names" in names:
        names["state_names"] = np.append(names["state_names"][live], ["dead"] * death_state)
    there = (transitions > 0.0).any(axis=0)  # [S, A, S + 1]
    pairs = there.any(axis=-1)
    support = Support.from_pairs(
        [{a: np.flatnonzero(there[s, a]).tolist() for a in np.flatnonzero(pairs[s]).tolist()} for s in range(states)],
        **{name: found.tolist() for name, found in names.items()},
    )
    start = np.pad(start, ((0, 0), (0, states - count)))
    return LinearCSSP(support, losses[:, pairs].T, transitions[:, there].T, start.T, tuple(groups))


def _normalised(values: NDArray[Any]) -> Floats:
    """Distributions along the last axis, divided by their sums."""
    rows = values.astype(np.float64)
    sums = rows.sum(axis=-1, keepdims=True)
    off = float(np.abs(sums - 1.0).max())
    if not off <= 1e-4:
        raise ValueError(f"a row of the table sums to 1 within {off:.2g} only; correct the table")
    return rows / sums


class _Rates(NamedTuple):
    """[A, 4] for one group: the chances, in a step, that a vital sign moves by one level."""

    heals: Floats
    """towards normal, where it is not"""
    worsens: Floats
    """away from normal, if there is a level further away; from normal, half of it to each side"""


def made_up_table(*, seed: int = 0) -> dict[str, NDArray[Any]]:
    """A made-up table: two groups, 135 states of which 78 are live, six treatments.

    A state has the levels of four vital signs. With all of them normal a patient goes home; with four levels away from
    normal in all, a patient is dead. In a step at most one sign moves, by one level. Each drug helps one sign and harms
    another; untreated signs get worse now and then. The drug that helps the sugar of one group harms that of the other,
    and of the four drugs one helps the same sign in both. Intensive care keeps all signs from getting worse and heals
    them slowly, but in type B it does not move the sugar at all: who gives it until the sugar is normal waits for ever.
    For seeds 0 to 19, which are tested, the best treatments differ in 60 or more of the live states, and the policy
    that is best for the average of both groups never ends in type B.
    """
    rng = np.random.default_rng(seed)
    levels = np.array(np.unravel_index(np.arange(np.prod(_SIZES)), _SIZES)).T  # [n, 4]
    severity = np.abs(levels - _NORMAL).sum(axis=1)
    kind = np.where(severity == 0, DISCHARGE, np.where(severity >= _DEADLY, DEATH, LIVE))
    start = rng.uniform(0.5, 1.5, (len(GROUPS), len(kind))) * np.isin(severity, _ADMITTED)
    return {
        "tx_mat": np.stack([_table(levels, kind, rates) for rates in _draw_rates(rng)]),
        "reward_of_next_state": kind,
        "p_initial_state": start / start.sum(axis=1, keepdims=True),
        "state_names": np.array([_state_name(code) for code in levels]),
        "action_names": np.array(_ACTIONS),
    }


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


def _table(levels: NDArray[np.int64], kind: Floats, rates: _Rates) -> Floats:
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


def _moves(sign: int, level: int, rates: _Rates) -> list[tuple[int, Floats]]:
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
