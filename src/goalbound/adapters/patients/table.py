"""From a patient table to a problem that ends with discharge only, and how death is modelled in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.adapters.patients.arrays import DEATH, DISCHARGE, LIVE, Arrays, read_arrays
from goalbound.adapters.patients.names import Names, published_names
from goalbound.errors import ModelError
from goalbound.models import LinearCSSP
from goalbound.models.files.io import as_format_errors
from goalbound.models.triples import from_triples
from goalbound.models.validation import check_float, check_list, check_names, check_size, check_type, set_readonly

LIMIT = 2**30
"""The most bytes of a file and of its arrays, unless the caller allows more."""


@dataclass(frozen=True)
class DeathPolicy:
    """How death is modelled; made by :func:`readmission` or :func:`death_state`.

    Attributes:
        loss: what a death loses in all, in [0, 1].
        own_state: whether the dead have a state of their own.
    """

    loss: float
    own_state: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", check_float(self.loss, "the loss of a death", "in [0, 1]"))
        if not 0.0 <= self.loss <= 1.0:
            raise ModelError(f"the loss of a death, {self.loss}, is not in [0, 1]; a loss of 1 is the largest there is")


def readmission(*, loss: float = 1.0) -> DeathPolicy:
    """A step into death loses this, and leads to where patients of the group begin: the bed goes to the next one.

    The mean loss of a pair then depends on its chance of death, and a pair that may kill has many next states.
    """
    return DeathPolicy(loss, False)


def death_state(*, loss: float = 1.0) -> DeathPolicy:
    """The dead are a state, the last, where all one can do is to readmit (action 0).

    A step into it loses what every step loses, and the readmission the rest of ``loss``. So all losses are known, and
    death is one next state: there is less to learn. Values in each group are those of :func:`readmission`; under a
    mixture of groups the readmission is mixed anew, by the context. Episodes have one step more for each death.
    """
    return DeathPolicy(loss, True)


@dataclass(frozen=True, eq=False)
class PatientTable:
    """A patient table as a problem: discharge is the goal, groups are components.

    Attributes:
        problem: L live states (and, with :func:`death_state`, the dead as the last state), A actions, d groups.
        file_states: [S] the file's number of each state; -1 for the dead.
        shares: [d] the share of each group among patients, None where the file does not say it.
        correction: the largest |sum - 1| of a row of the file; rows were divided by their sums.
    """

    problem: LinearCSSP
    file_states: NDArray[np.int64]
    shares: NDArray[np.float64] | None
    correction: float

    def __str__(self) -> str:
        support = self.problem.support
        groups = ", ".join(self.problem.component_names or ())
        named = "have names" if support.state_names else "are numbers"
        return (
            f"{self.problem.context_size} groups ({groups}), {np.count_nonzero(self.file_states >= 0)} live states, "
            f"{support.actions} treatments\n"
            f"rows summed to 1 within {self.correction:.1e}; states and actions {named}"
        )


def read_patients(
    path: str | PathLike[str],
    *,
    groups: Sequence[str] = ("not diabetic", "diabetic"),
    step_loss: float = 0.05,
    on_death: DeathPolicy | None = None,
    limit: int = LIMIT,
) -> PatientTable:
    """Read a patient table. What cannot be is a FileFormatError that names the array and the place; nothing is run.

    Args:
        path: an ``.npz`` file with ``tx_mat`` [d, A, n, n], ``reward_of_next_state`` [n] (-1 death, 1 discharge, else
            0), ``p_initial_state`` [d, n] and perhaps ``p_mixture`` [d]. Rows may sum to 1 within 1e-4 (they are stored
            as float32) and are divided by their sums; how far off they were is in ``correction``. Only rows of live
            states are used.
        groups: d names of the components, in the order of the file.
        step_loss: what a step loses that does not end in death.
        on_death: :func:`readmission` if left out, or :func:`death_state`.
        limit: the most bytes that the file, and its arrays together, may have; a compressed array counts eight times.

    A pair may lead where it does in any group. States and actions have names if the file has the layout of the
    published simulator, and are numbers if not.
    """
    death = (
        readmission() if on_death is None else check_type(on_death, DeathPolicy, "on_death", "give readmission(...)")
    )
    named = check_list(groups, "groups", "a sequence of names, one for each group")
    step_loss = check_float(step_loss, "step_loss", "what a step loses, in [0, 1]")
    limit = check_size(limit, "limit", "it is the most bytes of the file", most=2**62)
    _check_losses(step_loss, death)
    with as_format_errors(path, "patient table"):
        arrays = read_arrays(path, limit=limit)
        if len(named) != len(arrays.rows):
            raise ModelError(f"tx_mat has {len(arrays.rows)} groups, and {len(named)} are named; give groups=[...]")
        check_names(named, len(named), "groups", None)
        problem = _problem(arrays, named, step_loss, death)
    shown = np.append(arrays.live, -1) if death.own_state else arrays.live
    return PatientTable(
        problem, set_readonly(shown), None if arrays.shares is None else set_readonly(arrays.shares), arrays.correction
    )


def _check_losses(step_loss: float, death: DeathPolicy) -> None:
    if not 0.0 <= step_loss <= 1.0:
        raise ModelError(f"step_loss {step_loss} is not in [0, 1]; losses are")
    if death.own_state and death.loss < step_loss:
        raise ModelError(
            f"a death loses {death.loss:g}, less than the {step_loss:g} of a step; with death_state() it loses at "
            "least as much: raise its loss, or lower step_loss"
        )


class _Triples(NamedTuple):
    """K triples, unsorted."""

    state: NDArray[np.int64]
    action: NDArray[np.int64]
    following: NDArray[np.int64]
    chance: NDArray[np.float64]
    """[K, d]"""

    @classmethod
    def joined(cls, *parts: _Triples) -> _Triples:
        return cls._make(np.concatenate(columns) for columns in zip(*parts, strict=True))


def _problem(arrays: Arrays, groups: Sequence[str], step_loss: float, death: DeathPolicy) -> LinearCSSP:
    live = len(arrays.live)
    states = live + death.own_state
    deaths = np.minimum(arrays.rows[..., arrays.kind == DEATH].sum(axis=-1), 1.0)  # [d, A, L]; sums round
    pair_losses = np.full((live * arrays.rows.shape[1], len(groups)), step_loss)
    if death.own_state:
        triples = _Triples.joined(
            _live_transitions(arrays, states),
            _transitions_to_death_state(deaths, live),
            _transitions_from_death_state(arrays),
        )
        pair_losses = np.vstack((pair_losses, np.full((1, len(groups)), death.loss - step_loss)))
        start = np.pad(arrays.start, ((0, 0), (0, 1)))
    else:
        triples = _Triples.joined(_live_transitions(arrays, states), _transitions_to_readmission(arrays, deaths))
        by_pair = deaths.transpose(2, 1, 0).reshape(-1, len(groups))
        pair_losses = (1.0 - by_pair) * step_loss + by_pair * death.loss
        start = arrays.start
    built = from_triples(*triples, states=states, names=_names(arrays, death))
    return LinearCSSP(built.support, pair_losses, built.probabilities, start.T, tuple(groups))


def _live_transitions(arrays: Arrays, goal: int) -> _Triples:
    """Transitions between live states, and discharges."""
    number = np.full(len(arrays.kind), goal)
    number[arrays.live] = np.arange(len(arrays.live))
    onward = np.isin(arrays.kind, (LIVE, DISCHARGE))
    action, state, after = np.nonzero((arrays.rows > 0.0).any(axis=0) & onward)
    return _Triples(state, action, number[after], arrays.rows[:, action, state, after].T)


def _transitions_to_death_state(deaths: NDArray[np.float64], dead: int) -> _Triples:
    """Deaths [d, A, L], as transitions to the death state."""
    action, state = np.nonzero((deaths > 0.0).any(axis=0))
    return _Triples(state, action, np.full(len(state), dead), deaths[:, action, state].T)


def _transitions_from_death_state(arrays: Arrays) -> _Triples:
    """The only row of the death state: where patients begin."""
    begin = np.flatnonzero(arrays.start.any(axis=0))
    dead = np.full(len(begin), len(arrays.live))
    return _Triples(dead, np.zeros_like(begin), begin, arrays.start[:, begin].T)


def _transitions_to_readmission(arrays: Arrays, deaths: NDArray[np.float64]) -> _Triples:
    """Deaths [d, A, L], as transitions to where patients of the group begin."""
    action, state = np.nonzero((deaths > 0.0).any(axis=0))
    begin = np.flatnonzero(arrays.start.any(axis=0))
    chance = deaths[:, action, state, None] * arrays.start[:, None, begin]  # [d, pairs, begins]
    return _Triples(
        np.repeat(state, len(begin)), np.repeat(action, len(begin)), np.tile(begin, len(state)),
        chance.reshape(len(chance), -1).T,
    )  # fmt: skip


def _names(arrays: Arrays, death: DeathPolicy) -> tuple[Sequence[str] | None, Sequence[str] | None]:
    names: Names | None = published_names(arrays)
    if names is None:
        return None, None
    states = [names.states[state] for state in arrays.live] + ["dead"] * death.own_state
    return states, names.actions
