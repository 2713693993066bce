"""From a table to a log: every row is checked, and an error names its row, its column and its value."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.adapters.covariates import CovariateMap
from goalbound.adapters.covariates.covariate_map import check_map
from goalbound.errors import ArgumentError, FileFormatError, InputError
from goalbound.logs.columns import LogColumns
from goalbound.logs.contexts import Contexts, digest_of, read_contexts
from goalbound.logs.log import Log, LogArrays, SkippedRow
from goalbound.logs.tables import Table, read_table
from goalbound.logs.values import LogTimes, read_names, read_numbers, read_times
from goalbound.models import GOAL, LossScale, Support
from goalbound.models.support import SUPPORT_REMEDY
from goalbound.models.triples import from_triples
from goalbound.models.validation import check_type, set_readonly, short_repr

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

UNKNOWN, AT_GOAL = -1, -2
"""In place of the number of a state: no such state, and the goal."""
SUMMED_UP = 5
"""How many names an error lists."""


def read_log(
    table: Any,
    *,
    columns: LogColumns | None = None,
    goal: str = GOAL,
    support: Support | None = None,
    covariate_map: CovariateMap | None = None,
    loss_scale: LossScale | None = None,
    errors: Literal["raise", "skip"] = "raise",
) -> Log:
    """The checked steps of a table.

    Args:
        table: a pandas or polars data frame, an Arrow table, whatever has ``__arrow_c_stream__``, a dict of columns, a
            list of records, or the path of a CSV (UTF-8, first line the names) or Parquet file. Reading needs pyarrow.
        columns: the names of the columns.
        goal: what the log calls the goal. It is kept as the ``goal_name`` of the support. With a support its
            ``goal_name`` and ``"goal"`` are the goal too.
        support: which pairs there are and where they may lead. Left out, it is inferred: exactly what the log holds,
            states in the order of their names, and actions as these states have them: logs of the same pairs have the
            same numbers.
        covariate_map: makes the context of ``columns.covariates``.
        loss_scale: the unit of the losses; left out, they are in [0, 1].
        errors: "raise": a wrong row is an error. "skip": it is left out and listed in ``log.skipped``.

    Steps are sorted by time; equal times keep the order of the table. Within a case the next state of a row must be the
    state of the case's next row. Where it is not, a row between them is missing or one of the two is wrong: the
    former one counts as wrong, its outcome being in doubt.
    """
    columns = LogColumns() if columns is None else check_type(columns, LogColumns, "columns", "give LogColumns(...)")
    request = _Request(columns, goal, support, covariate_map, loss_scale)
    _check_request(request)
    if not isinstance(errors, str) or errors not in ("raise", "skip"):
        raise ArgumentError(f'errors is {short_repr(errors)}; it is "raise" or "skip"')
    found = read_table(table, columns.named)
    try:
        return _log(found, request, Faults(found, errors == "raise"))
    except InputError as error:
        if found.path is None:
            raise
        raise FileFormatError(f"{found.path}: {error}") from None


class _Request(NamedTuple):
    """What a table is to be read as."""

    columns: LogColumns
    goal: str
    support: Support | None
    map: CovariateMap | None
    scale: LossScale | None


def _check_request(request: _Request) -> None:
    columns, goal, support, map, scale = request
    if not isinstance(goal, str) or not goal:
        raise ArgumentError(f"goal is {short_repr(goal)}; it is what the log calls the goal, a text")
    if support is not None:
        check_type(support, Support, "support", SUPPORT_REMEDY)
    if scale is not None:
        check_type(scale, LossScale, "loss_scale", 'give LossScale("min", cap=60)')
    if map is not None:
        try:
            check_map(map)
        except InputError as error:
            raise ArgumentError(f"covariate_map: {error}") from None
        if not columns.covariates:
            raise ArgumentError("covariate_map is given, and no covariates; name them: LogColumns(covariates=[...])")
    elif columns.covariates:
        raise ArgumentError("covariates are named, and there is no covariate_map to make contexts of them; give one")


@dataclass
class Faults:
    """The rows that are wrong, each with its first fault.

    Attributes:
        table: whose rows they are.
        raising: whether the first one is an error.
        bad: [rows] which are wrong.
        repeated: [rows] which of them are repetitions of another row.
        found: the faults, by row.
    """

    table: Table
    raising: bool
    bad: Flags = field(init=False)
    repeated: Flags = field(init=False)
    found: dict[int, SkippedRow] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.bad = np.zeros(self.table.rows, dtype=np.bool_)
        self.repeated = np.zeros(self.table.rows, dtype=np.bool_)

    def add(
        self, wrong: Flags, column: str | Callable[[int], str], reason: Callable[[int], str], *, outcome: bool = False
    ) -> None:
        """These rows are wrong too, because of a column (that of each row, where it is a function; "": the whole row).
        Where the first fault is raised, only the first is described."""
        rows = np.flatnonzero(wrong & ~self.bad).tolist()
        lines = self.table.lines
        for row in rows[:1] if self.raising else rows:
            line = None if lines is None else int(lines[row])
            name = column if isinstance(column, str) else column(row)
            self.found[row] = SkippedRow(row, line, name, reason(row), outcome)
        self.bad |= wrong

    def check(self) -> None:
        """Raise the first fault, if they are to be raised."""
        if self.raising and self.found:
            raise ArgumentError(f'{self.found[min(self.found)]} (errors="skip" leaves such rows out and lists them)')

    def skipped(self) -> tuple[SkippedRow, ...]:
        """In the order of the table."""
        return tuple(self.found[row] for row in sorted(self.found))


class _Cells(NamedTuple):
    """All rows, as far as they can be read."""

    case: Ints
    time: NDArray[Any]
    state: Ints
    action: Ints
    following: Ints
    losses: NDArray[np.float64]
    probabilities: NDArray[np.float64] | None
    contexts: Contexts
    placed: Flags
    """[rows] whether the case and the time are known"""
    state_names: Sequence[str]
    action_names: Sequence[str]
    times: LogTimes | None


def _log(table: Table, request: _Request, faults: Faults) -> Log:
    if not table.rows:
        raise ArgumentError("the log has no rows; a log has at least one step")
    ragged = table.ragged or {}
    faults.add(np.isin(np.arange(table.rows), list(ragged)), "", lambda row: ragged[row])
    cells, clipped = _read_cells(table, request, faults)
    _check_repeats(cells, request.columns, faults)
    _check_chains(cells, request.columns, faults)
    faults.check()
    support = request.support
    if support is None:
        _check_actions_known(cells, request, faults)
        _check_left(faults)
        support, cells = _inferred(cells, np.flatnonzero(~faults.bad), request.goal)
    elif support.goal_name == GOAL and request.goal not in (support.state_names or ()):
        support = replace(support, goal_name=request.goal)
    pairs, places = _places(cells, support, request.columns, faults)
    _check_left(faults)
    rows = np.flatnonzero(~faults.bad)
    rows = rows[np.argsort(cells.time[rows], kind="stable")]
    _, case_of = np.unique(cells.case[rows], return_inverse=True)
    return Log(
        LogArrays(*map(set_readonly, (cells.contexts.rows[rows], pairs[rows], places[rows], cells.losses[rows]))),
        support, request.support is None, set_readonly(case_of.astype(np.int64)), set_readonly(rows),
        None if cells.probabilities is None else set_readonly(cells.probabilities[rows]),
        cases=int(case_of.max()) + 1, open_cases=_open_cases(cells, faults), skipped=faults.skipped(),
        clipped=int(np.count_nonzero(clipped[rows])), loss_scale=request.scale, component_names=cells.contexts.names,
        map_digest=digest_of(request.map),
        time_column=None if cells.times is None else cells.times._replace(
            values=set_readonly(cells.times.values[rows].copy())
        ),
        covariates=_covariates(table, request),
    )  # fmt: skip


def _covariates(table: Table, request: _Request) -> Table | None:
    """The columns that the map reads."""
    names = request.columns.covariates
    return replace(table, columns={name: table.columns[name] for name in names}) if names else None


def _check_left(faults: Faults) -> None:
    """Raise the first fault if they are to be raised, or if no row is left."""
    faults.check()
    if faults.bad.all():
        raise ArgumentError(f"no row is left; all {len(faults.bad)} are wrong, the first one: {faults.skipped()[0]}")


def _read_cells(table: Table, request: _Request, faults: Faults) -> tuple[_Cells, Flags]:
    """All rows, and which losses were clipped."""
    columns = request.columns
    case = read_names(table.columns[columns.case])
    faults.add(case.codes < 0, columns.case, case.reason)
    if columns.time is None:
        time: NDArray[Any] = np.arange(table.rows)
        log_times = None
        timed = np.ones(table.rows, dtype=np.bool_)
    else:
        times = read_times(table.columns[columns.time])
        faults.add(~times.known, columns.time, times.reason)
        time, timed = times.values, times.known
        log_times = times.of_log()
    state, following, state_names = _read_states(table, request, faults)
    action, action_names = _read_actions(table, request, faults)
    losses, clipped = _read_losses(table, request, faults)
    contexts = read_contexts(table, columns, request.map)
    faults.add(np.asarray(np.isnan(contexts.rows).any(axis=1)), contexts.column, contexts.reason)
    probabilities = None if columns.probability is None else _read_probabilities(table, columns.probability, faults)
    cells = _Cells(
        case.codes, time, state, action, following, losses, probabilities, contexts, (case.codes >= 0) & timed,
        state_names, action_names, log_times,
    )  # fmt: skip
    return cells, clipped


def _read_states(table: Table, request: _Request, faults: Faults) -> tuple[Ints, Ints, Sequence[str]]:
    """[rows] states, [rows] next states, in one numbering, and their names."""
    columns, goal = request.columns, request.goal
    now, after = read_names(table.columns[columns.state]), read_names(table.columns[columns.next_state])
    numbers, names, why = _numbering({*now.names, *after.names}, request.support, "state", goal)
    state, following = _looked_up(now, numbers), _looked_up(after, numbers)
    at_goal = np.asarray(state == AT_GOAL)
    faults.add(state == UNKNOWN, columns.state, lambda row: now.reason(row) or why[now.names[now.codes[row]]])
    faults.add(at_goal, columns.state, lambda row: f"{short_repr(goal)} is the goal, where nothing can be done")
    faults.add(
        following == UNKNOWN, columns.next_state,
        lambda row: after.reason(row) or why[after.names[after.codes[row]]], outcome=True,
    )  # fmt: skip
    return state, following, names


def _read_actions(table: Table, request: _Request, faults: Faults) -> tuple[Ints, Sequence[str]]:
    column = request.columns.action
    done = read_names(table.columns[column])
    numbers, names, why = _numbering(done.names, request.support, "action", None)
    action = _looked_up(done, numbers)
    faults.add(action == UNKNOWN, column, lambda row: done.reason(row) or why[done.names[done.codes[row]]])
    return action, names


def _looked_up(read: Any, numbers: dict[str, int]) -> Ints:
    """The number of the name in each row; that of no name is unknown."""
    table = np.array([*(numbers[name] for name in read.names), UNKNOWN], dtype=np.int64)
    return np.asarray(table[read.codes])


def _numbering(
    names: Iterable[str], support: Support | None, what: str, goal: str | None
) -> tuple[dict[str, int], Sequence[str], dict[str, str]]:
    """The number of each name, the names by number, and for names without number the reason.

    Without a support they are numbered as they are sorted.
    """
    numbers: dict[str, int] = {}
    known: list[str] = []
    why: dict[str, str] = {}
    own = None if support is None else (support.state_names if what == "state" else support.action_names)
    size = 0 if support is None else (support.states if what == "state" else support.actions)
    goals = set() if goal is None else {goal} if support is None else {goal, GOAL, support.goal_name}
    place_of = {} if own is None else {name: place for place, name in enumerate(own)}
    for name in sorted(names, key=_sort_key):
        if name in goals:
            numbers[name] = AT_GOAL
        elif support is None:
            fault = _unfit(name, goal)
            numbers[name] = UNKNOWN if fault else len(known)
            if fault:
                why[name] = fault
            else:
                known.append(name)
        elif name in place_of:
            numbers[name] = place_of[name]
        elif own is None and name.isascii() and name.isdigit() and len(name) < 10 and int(name) < size:
            numbers[name] = int(name)
        else:
            numbers[name] = UNKNOWN
            why[name] = f"{short_repr(name)} is no {what} of the support{_nearest(name, own, size)}"
    if support is None:
        return numbers, known, why
    return numbers, own if own is not None else tuple(map(str, range(size))), why


def _sort_key(name: str) -> tuple[bool, int, str]:
    """Numbers come first and by their size, then texts."""
    is_number = name.isascii() and name.isdigit() and len(name) < 19
    return (not is_number, int(name) if is_number else 0, name)


def _unfit(name: str, goal: str | None) -> str | None:
    """Why a name that was found in a log cannot be one of a support, or None."""
    if name == GOAL and goal is not None:
        return f'"{GOAL}" is reserved for the goal, which this log calls {short_repr(goal)}; name that state otherwise'
    if name[0] in "=+@\t\r" or (name[0] == "-" and not name[1:].isdigit()):
        return f"{short_repr(name)} begins as formulas of spreadsheets do; name it otherwise"
    return None


def _nearest(name: str, own: Sequence[str] | None, size: int) -> str:
    if own is None:
        return f"; it has no names, only the numbers 0 to {size - 1}"
    close = difflib.get_close_matches(name, own, n=1)
    if close:
        return f'; did you mean "{close[0]}"?'
    return f"; there are {', '.join(own[:SUMMED_UP])}{', ...' if len(own) > SUMMED_UP else ''}"


def _read_losses(table: Table, request: _Request, faults: Faults) -> tuple[NDArray[np.float64], Flags]:
    """[rows] losses in [0, 1], and which were clipped."""
    columns, scale = request.columns, request.scale
    numbers, reason = read_numbers(table.columns[columns.loss])
    faults.add(np.isnan(numbers), columns.loss, reason, outcome=True)
    faults.add(np.isinf(numbers), columns.loss, lambda row: f"the loss {numbers[row]} is not finite", outcome=True)
    faults.add(
        numbers < 0.0, columns.loss, lambda row: f"the loss {numbers[row]:g} is negative; losses are not", outcome=True
    )
    usable = np.where(np.isfinite(numbers) & (numbers >= 0.0), numbers, 0.0)
    if scale is None:
        remedy = 'say what their unit is with loss_scale=LossScale("min", cap=60)'
        faults.add(
            usable > 1.0,
            columns.loss,
            lambda row: f"the loss {numbers[row]:g} is not in [0, 1]; {remedy}",
            outcome=True,
        )
        return usable, np.zeros(table.rows, dtype=np.bool_)
    high = scale.beyond_cap(usable)
    if scale.beyond == "refuse":
        faults.add(high, columns.loss, lambda row: scale.refusal(float(numbers[row])), outcome=True)
    losses = np.minimum(usable / scale.cap, 1.0)
    return losses, high


def _read_probabilities(table: Table, column: str, faults: Faults) -> NDArray[np.float64]:
    numbers, reason = read_numbers(table.columns[column])
    faults.add(np.isnan(numbers), column, reason)
    faults.add(
        ~((numbers > 0.0) & (numbers <= 1.0)), column,
        lambda row: f"{numbers[row]:g} is not a probability of an action that was chosen; it is above 0 and at most 1",
    )  # fmt: skip
    return numbers


def _check_repeats(cells: _Cells, columns: LogColumns, faults: Faults) -> None:
    """A row that is the same step as a row before it would count twice."""
    if columns.time is None:
        return
    keys = (cells.losses, cells.following, cells.action, cells.state, cells.time, cells.case)
    rows = np.flatnonzero(cells.placed & ~faults.bad)
    order = rows[np.lexsort((rows, *(key[rows] for key in keys)))]
    same = np.ones(max(len(order) - 1, 0), dtype=np.bool_)
    for key in keys:
        same &= key[order][1:] == key[order][:-1]
    before = np.full(len(faults.bad), -1)
    before[order[1:][same]] = order[:-1][same]
    faults.repeated = before >= 0
    faults.add(
        before >= 0, "",
        lambda row: f"the same case, time, state, action, loss and next state as row {before[row]}: it is counted once",
    )  # fmt: skip


def _check_chains(cells: _Cells, columns: LogColumns, faults: Faults) -> None:
    """The next state of a row is the state of the case's next row; repeated rows are no rows."""
    rows = np.flatnonzero(cells.placed & ~faults.repeated)
    order = rows[np.lexsort((rows, cells.time[rows], cells.case[rows]))]
    here, then = order[:-1], order[1:]
    follows = cells.case[here] == cells.case[then]
    known = (cells.following[here] != UNKNOWN) & (cells.state[then] >= 0)
    broken = follows & known & (cells.following[here] != cells.state[then])
    after = np.full(len(faults.bad), -1)
    after[here[broken]] = then[broken]

    def reason(row: int) -> str:
        begins = cells.state_names[cells.state[after[row]]]
        if cells.following[row] == AT_GOAL:
            return (
                f"the case reaches the goal, but goes on in row {after[row]}, in {short_repr(begins)}; give a new "
                "episode its own case"
            )
        return (
            f"the next row of the case, row {after[row]}, is in {short_repr(begins)}, not where this one leads; a row "
            "between them is missing, or one of the two is wrong"
        )

    faults.add(after >= 0, columns.next_state, reason, outcome=True)


def _check_actions_known(cells: _Cells, request: _Request, faults: Faults) -> None:
    """Where the support is inferred, some action must be known in every next state."""
    while True:
        left = ~faults.bad
        begun = np.zeros(len(cells.state_names) + 1, dtype=np.bool_)
        begun[cells.state[left]] = True
        stuck = left & (cells.following >= 0) & ~begun[cells.following]
        if not stuck.any():
            return
        faults.add(
            stuck, request.columns.next_state,
            lambda row: f"no row begins in {short_repr(cells.state_names[cells.following[row]])}, so no action is "
            f"known there; if it is the goal, say goal= (now {short_repr(request.goal)}), or give a support",
            outcome=True,
        )  # fmt: skip
        if faults.raising:
            return


def _inferred(cells: _Cells, rows: Ints, goal: str) -> tuple[Support, _Cells]:
    """Exactly the pairs and next states of these rows, and the cells numbered as the support does it."""
    if not (cells.following[rows] == AT_GOAL).any():
        raise ArgumentError(f"no row leads to the goal, {short_repr(goal)}; say with goal= what the log calls it")
    states = np.unique(cells.state[rows])
    pairs = np.unique(cells.state[rows] * len(cells.action_names) + cells.action[rows])
    of_pairs = pairs % len(cells.action_names)
    actions = of_pairs[np.sort(np.unique(of_pairs, return_index=True)[1])]  # as Support.from_names does
    state_at = np.full(len(cells.state_names) + 2, UNKNOWN)
    state_at[states] = np.arange(len(states))
    state_at[AT_GOAL] = AT_GOAL
    action_at = np.full(len(cells.action_names) + 1, UNKNOWN)
    action_at[actions] = np.arange(len(actions))
    numbered = cells._replace(
        state=state_at[cells.state], following=state_at[cells.following], action=action_at[cells.action]
    )
    built = from_triples(
        numbered.state[rows], numbered.action[rows],
        np.where(numbered.following[rows] == AT_GOAL, len(states), numbered.following[rows]),
        np.ones(len(rows)), states=len(states),
        names=([cells.state_names[one] for one in states], [cells.action_names[one] for one in actions]),
    )  # fmt: skip
    return replace(built.support, goal_name=goal), numbered


def _places(cells: _Cells, support: Support, columns: LogColumns, faults: Faults) -> tuple[Ints, Ints]:
    """[rows] the pair and the place of the next state among the triples; -1 where there is none."""
    goal = support.states
    following = np.where(cells.following == AT_GOAL, goal, cells.following)
    of_pair = support.pair_state.astype(np.int64) * support.actions + support.pair_action
    pairs = _found(of_pair, cells.state * support.actions + cells.action)
    of_triple = np.repeat(np.arange(support.pairs), np.diff(support.next_start)) * (goal + 1) + support.next_state
    places = _found(of_triple, pairs * (goal + 1) + following)

    def no_pair(row: int) -> str:
        state = int(cells.state[row])
        has = ", ".join(
            support.action_name(int(one))
            for one in support.pair_action[support.pair_start[state] : support.pair_start[state + 1]]
        )
        return f"{support.state_name(state)} has no {support.action_name(int(cells.action[row]))}; it has {has}"

    def no_place(row: int) -> str:
        return (
            f"{support.pair_name(int(pairs[row]))} never leads to {support.state_name(int(following[row]))} by the "
            "support; add it to the support, or correct the row"
        )

    faults.add(pairs < 0, columns.action, no_pair)
    faults.add(places < 0, columns.next_state, no_place, outcome=True)
    return pairs, places


def _found(keys: Ints, wanted: Ints) -> Ints:
    """The places of the wanted ones among ascending keys, -1 where they are not there."""
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, place, UNKNOWN)


def _open_cases(cells: _Cells, faults: Faults) -> int:
    """Cases with a step that is used whose last row is not at the goal, or was skipped."""
    rows = np.flatnonzero(cells.placed & ~faults.repeated)
    order = rows[np.lexsort((rows, cells.time[rows], cells.case[rows]))]
    last = order[np.append(cells.case[order][1:] != cells.case[order][:-1], True)]
    used = np.unique(cells.case[~faults.bad])
    last = last[np.isin(cells.case[last], used)]
    ends = (cells.following[last] == AT_GOAL) & ~faults.bad[last]
    return int(np.count_nonzero(~ends))
