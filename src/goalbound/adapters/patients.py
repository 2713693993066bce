"""Tables of treatments, one for each group of patients, as a contextual problem: groups are components.

The files are those of the sepsis simulator of Oberst and Sontag (clinicalml/gumbel-max-scm, MIT licence). None is
shipped: give the path of yours to :func:`read_patients`. A table that we made up, in the same format, is written by
:func:`goalbound.adapters.synthetic_patients.write_synthetic_patients`.

>>> import tempfile
>>> import numpy as np
>>> from pathlib import Path
>>> sick, dead, home = 0, 1, 2  # one treatment; it works in one group of two
>>> works, fails = [[[0.1, 0.1, 0.8], [0, 1, 0], [0, 0, 1]]], [[[0.6, 0.3, 0.1], [0, 1, 0], [0, 0, 1]]]
>>> with tempfile.TemporaryDirectory() as folder:
...     path = Path(folder) / "table.npz"
...     np.savez(path, tx_mat=[works, fails], reward_of_next_state=[0, -1, 1], p_initial_state=[[1, 0, 0], [1, 0, 0]])
...     print(read_patients(path, groups=["young", "old"]))
2 groups (young, old), 1 live states, 1 treatments
rows summed to 1 within 1.1e-16; states and actions are numbers
"""

from __future__ import annotations

import io
import math
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError, ModelError
from goalbound.models import LinearCSSP
from goalbound.models.files.io import UNPACKED_WEIGHT, as_format_errors, read_bytes
from goalbound.models.triples import from_triples
from goalbound.models.validation import (
    check_array,
    check_float,
    check_list,
    check_names,
    check_size,
    check_type,
    set_readonly,
)

LIMIT = 2**30
"""The most bytes of a file and of its arrays, unless the caller allows more."""
SLACK = 1e-4
"""How far a row may sum from 1; the files hold float32. Rows are divided by their sums."""

DEATH, LIVE, DISCHARGE = -1.0, 0.0, 1.0

_NEEDED = {
    "tx_mat": "[d, A, n, n], the chances of next states for each group, action and state",
    "reward_of_next_state": "[n], -1 for death, 1 for discharge, 0 for all others",
    "p_initial_state": "[d, n], where patients of each group begin",
}
_SHARES = "p_mixture"
_STATE_NAMES, _ACTION_NAMES = "state_names", "action_names"
_LAST_CHARACTER, _SURROGATES = 0x10FFFF, 0xD800  # the 2048 codes from the second on are halves of characters
_VITALS = (
    ("heart rate", ("low", "normal", "high")),
    ("blood pressure", ("low", "normal", "high")),
    ("oxygen", ("low", "normal")),
    ("glucose", ("very low", "low", "normal", "high", "very high")),
)
_IN_STATES = ("antibiotics", "vasopressors", "ventilation")
_IN_ACTIONS = ("antibiotics", "ventilation", "vasopressors")
_SIZES = (*(len(levels) for _, levels in _VITALS), 2, 2, 2)
_DEADLY = 3  # this many abnormal vital signs


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
            0), ``p_initial_state`` [d, n] and perhaps ``p_mixture`` [d], ``state_names`` [n] and ``action_names`` [A].
            Rows may sum to 1 within 1e-4 (they are stored as float32) and are divided by their sums; how far off they
            were is in ``correction``. Only rows of live states are used.
        groups: d names of the components, in the order of the file.
        step_loss: what a step loses that does not end in death.
        on_death: :func:`readmission` if left out, or :func:`death_state`.
        limit: the most bytes that the file, and its arrays together, may have; a compressed array counts eight times.

    A pair may lead where it does in any group. States and actions have names if the file gives them, or if it has the
    layout of the published simulator, and are numbers if not.
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
    names = published_names(arrays) if arrays.names is None else arrays.names
    if names is None:
        return None, None
    states = [names.states[state] for state in arrays.live] + ["dead"] * death.own_state
    return states, names.actions


class Arrays(NamedTuple):
    """What a file says, checked: d groups, A actions, n states of which L are live."""

    rows: NDArray[np.float64]
    """[d, A, L, n] chances of next states from live states; sums are 1 up to rounding"""
    kind: NDArray[np.float64]
    """[n] DEATH, LIVE or DISCHARGE"""
    start: NDArray[np.float64]
    """[d, L]"""
    shares: NDArray[np.float64] | None
    """[d] how many of the patients are of each group, where the file says it"""
    correction: float
    """the largest |sum - 1| of a row before it was divided by its sum"""
    names: Names | None
    """of states and actions, where the file says them"""

    @property
    def live(self) -> NDArray[np.int64]:
        """[L] the file's numbers of the live states."""
        return np.flatnonzero(self.kind == LIVE)


def read_arrays(path: str | PathLike[str], *, limit: int) -> Arrays:
    """The arrays of a file, checked; to be called inside :func:`~goalbound.models.files.io.as_format_errors`."""
    found = _load(path, limit)
    table = check_array(found["tx_mat"], "tx_mat", (None, None, None, None), _NEEDED["tx_mat"])
    groups, _, states, _ = table.shape
    if 0 in table.shape or table.shape[3] != states:
        raise FileFormatError(f"tx_mat has shape {table.shape}; it needs {_NEEDED['tx_mat']}")
    kind = _kinds(found["reward_of_next_state"], states)
    live = np.flatnonzero(kind == LIVE)
    rows, off = _normalised(table[:, :, live], lambda at: f"tx_mat[{at[0]}, {at[1]}, {live[at[2]]}]")
    start = check_array(found["p_initial_state"], "p_initial_state", (groups, states), _NEEDED["p_initial_state"])
    start, off_start = _normalised(start, lambda at: f"p_initial_state[{at[0]}]")
    _check_live(start, kind)
    shares = None
    if _SHARES in found:
        shares = check_array(found[_SHARES], _SHARES, (groups,), f"[d] = ({groups},), the share of each group")
        shares, _ = _normalised(shares, lambda at: _SHARES)
    return Arrays(rows, kind, start[:, live], shares, max(off, off_start), _given_names(found, states, table.shape[1]))


def _load(path: str | PathLike[str], limit: int) -> dict[str, NDArray[Any]]:
    """The arrays that we know, by name. Sizes are checked before memory is asked for; nothing else is opened."""
    found: dict[str, NDArray[Any]] = {}
    with zipfile.ZipFile(io.BytesIO(read_bytes(path, limit))) as archive:
        members = {name.removesuffix(".npy"): name for name in archive.namelist()}
        for name, meaning in _NEEDED.items():
            if name not in members:
                has = ", ".join(sorted(members)) or "nothing"
                raise FileFormatError(f"{name} is missing (the file has {has}); it is {meaning}")
        remaining = limit
        for name in (*_NEEDED, _SHARES, _STATE_NAMES, _ACTION_NAMES):
            if name not in members:
                continue
            info = archive.getinfo(members[name])
            size, compression = info.file_size, info.compress_type
            if compression not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise FileFormatError(
                    f"{name} is compressed in a way that NumPy does not; save it again with numpy.savez"
                )
            remaining -= size if compression == zipfile.ZIP_STORED else UNPACKED_WEIGHT * size
            if remaining < 0:
                raise FileFormatError(
                    f"{name} has {size} bytes; with the others that is above {limit}: raise it with limit="
                )
            with archive.open(members[name]) as file:
                found[name] = _array(name, file, size)
    return found


def _array(name: str, file: Any, size: int) -> NDArray[Any]:
    """One array of numbers or of names; what would need Python objects is refused, not unpickled."""
    shape, by_column, dtype = _header(name, file)
    if name in (_STATE_NAMES, _ACTION_NAMES):
        if dtype.kind != "U" or dtype.itemsize == 0:
            raise FileFormatError(f"{name} holds {dtype}; it needs names, as text")
    elif dtype.kind not in "fiu":
        raise FileFormatError(f"{name} holds {dtype}; it needs plain numbers")
    left = size - file.tell()
    if math.prod(shape) * dtype.itemsize != left:
        raise FileFormatError(f"{name} claims shape {shape} of {dtype}, and {left} bytes follow; save the file again")
    data = file.read(left)
    if dtype.kind == "U":
        codes = np.frombuffer(data, np.dtype(np.uint32).newbyteorder(dtype.byteorder))
        if ((codes > _LAST_CHARACTER) | ((codes >> 11) == _SURROGATES >> 11)).any():
            raise FileFormatError(f"{name} holds codes that are no characters; save the file again")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if by_column else "C")


def _header(name: str, file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and type of an array. NumPy parses the header as a Python literal, with any error of a parser."""
    try:
        with warnings.catch_warnings():  # of a parser about the text of a header
            warnings.simplefilter("ignore")
            version = np.lib.format.read_magic(file)
            if version == (1, 0):
                return np.lib.format.read_array_header_1_0(file)
            if version == (2, 0):
                return np.lib.format.read_array_header_2_0(file)
    except (zipfile.BadZipFile, zlib.error, EOFError):
        raise
    except Exception as error:
        raise FileFormatError(
            f"the npy header of {name} is damaged ({type(error).__name__}); save the file again"
        ) from None
    raise FileFormatError(f"{name} is of npy version {version}; save it again with numpy.savez")


def _given_names(found: dict[str, NDArray[Any]], states: int, actions: int) -> Names | None:
    """The names in a file, all different; a file has those of states and of actions, or none."""
    given = [name for name in (_STATE_NAMES, _ACTION_NAMES) if name in found]
    if not given:
        return None
    if len(given) == 1:
        raise FileFormatError(f"the file has {given[0]} alone; give {_STATE_NAMES} and {_ACTION_NAMES}, or none")
    for name, size in ((_STATE_NAMES, states), (_ACTION_NAMES, actions)):
        if found[name].shape != (size,):
            raise FileFormatError(f"{name} has shape {found[name].shape}; it needs ({size},), one name for each")
        check_names(found[name].tolist(), size, name, None)
    return Names(tuple(found[_STATE_NAMES].tolist()), tuple(found[_ACTION_NAMES].tolist()))


def _kinds(given: NDArray[Any], states: int) -> NDArray[np.float64]:
    name = "reward_of_next_state"
    kind = check_array(given, name, (states,), _NEEDED[name])
    odd = np.flatnonzero(~np.isin(kind, (DEATH, LIVE, DISCHARGE)))
    if len(odd):
        raise FileFormatError(f"{name}[{odd[0]}] is {kind[odd[0]]}; it is -1 (death), 1 (discharge) or 0 (neither)")
    for what, value in (("live state (0)", LIVE), ("discharge (1)", DISCHARGE)):
        if not (kind == value).any():
            raise FileFormatError(f"{name} has no {what}; a table needs at least one")
    return kind


def _normalised(values: NDArray[np.float64], place: Any) -> tuple[NDArray[np.float64], float]:
    """Distributions along the last axis, divided by their sums, and how far the worst sum was from 1."""
    good = (values >= 0.0) & (values <= 1.0 + SLACK)  # false for NaN
    if not good.all():
        at = tuple(int(i) for i in np.argwhere(~good)[0])
        raise FileFormatError(f"{place(at)}, entry {at[-1]}: {values[at]} is not a probability; it needs 0 to 1")
    sums = values.sum(axis=-1)
    off = np.abs(sums - 1.0)
    if off.max() > SLACK:
        at = tuple(int(i) for i in np.argwhere(off > SLACK)[0])
        raise FileFormatError(
            f"{place(at)} sums to {sums[at]:.9g}, not 1; what is off by up to {SLACK:g} is divided by its sum, and "
            "this is more: correct the table"
        )
    return values / sums[..., None], float(off.max())


def _check_live(start: NDArray[np.float64], kind: NDArray[np.float64]) -> None:
    wrong = np.argwhere((start > 0.0) & (kind != LIVE))
    if len(wrong):
        group, state = (int(i) for i in wrong[0])
        end = "death" if kind[state] == DEATH else "discharge"
        raise ModelError(
            f"p_initial_state[{group}, {state}] is {start[group, state]:g}, but state {state} is a {end}; patients "
            "begin in live states: move that share to one"
        )


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
