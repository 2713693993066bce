"""Steps that were checked, in the order of time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.adapters.covariates import CovariateMap
from goalbound.errors import ArgumentError
from goalbound.logs.columns import LogColumns
from goalbound.logs.contexts import digest_of, read_contexts
from goalbound.logs.report import LogReport, log_report
from goalbound.logs.tables import Table
from goalbound.logs.values import LogTimes
from goalbound.models import Step, Support
from goalbound.models.amounts import HasUnit
from goalbound.models.validation import check_int, restore_readonly, set_readonly, short_repr
from goalbound.terminal import pluralize

SUPPORT_INFERRED = "the support was inferred from the log"
"""How the caveat of an inferred support begins."""


class SkippedRow(NamedTuple):
    """A row that was left out, and why.

    Attributes:
        row: its place in the table, from 0.
        line: the line of a CSV file on which it begins, or None.
        column: the column that is to blame; "" for the whole row.
        reason: with the value.
        outcome: whether it was left out because of its loss or its next state. What is learned from the others is then
            biased: such rows should be repaired.
    """

    row: int
    line: int | None
    column: str
    reason: str
    outcome: bool

    def __str__(self) -> str:
        line = "" if self.line is None else f" (line {self.line})"
        column = f', column "{self.column}"' if self.column else ""
        return f"row {self.row}{line}{column}: {self.reason}"


class LogArrays(NamedTuple):
    """K steps as arrays."""

    contexts: NDArray[np.float64]
    """[K, d]"""
    pairs: NDArray[np.int64]
    """[K] the pair of each step"""
    next_places: NDArray[np.int64]
    """[K] the place of its next state among the M triples of the support"""
    losses: NDArray[np.float64]
    """[K] in [0, 1]"""


@dataclass(frozen=True, eq=False, repr=False)
class Log(HasUnit):
    """K steps of a log in the order of time; made by :func:`~goalbound.logs.read_log`.

    Iterating gives ``(context, Step)``, which is what learners learn from.

    Attributes:
        steps: contexts, pairs, next places and losses.
        support: given, or inferred from the log.
        support_inferred: whether it was inferred: pairs and next states that the log does not hold are not in it.
        case_of: [K] the case of each step, from 0.
        rows: [K] the row of the table that each step is from.
        probabilities: [K] how likely each action was chosen, or None.
        cases: how many cases there are.
        open_cases: how many of them do not end at the goal.
        skipped: the rows that were left out, in the order of the table.
        clipped: how many losses were above the cap and count as the cap.
        component_names: d names, or None.
        map_digest: of the map that made the contexts (:func:`~goalbound.adapters.covariates.map_digest`); None: the
            contexts are columns of the table, there are none, or the map has no digest.
        time_column: when each action was chosen, as the column of times says; None: there is no such column.
        covariates: the columns of covariates, of all rows of the table; None: there are none.
    """

    steps: LogArrays
    support: Support
    support_inferred: bool
    case_of: NDArray[np.int64]
    rows: NDArray[np.int64]
    probabilities: NDArray[np.float64] | None
    cases: int
    open_cases: int
    skipped: tuple[SkippedRow, ...]
    clipped: int
    component_names: tuple[str, ...] | None
    map_digest: str | None = None
    time_column: LogTimes | None = None
    covariates: Table | None = None

    __setstate__ = restore_readonly

    @property
    def context_size(self) -> int:
        """d, the length of a context."""
        return self.steps.contexts.shape[1]

    @property
    def unit(self) -> str:
        """The unit of the losses; empty where they were in [0, 1] already."""
        return super().unit or ""

    @property
    def cap(self) -> float:
        """What a loss of 1 is in the unit."""
        return self._cap

    @property
    def times(self) -> NDArray[Any] | None:
        """[K] when each action was chosen: numbers, or dates as ``datetime64[us]``, in UTC where they have a zone; None
        without a column of times."""
        return None if self.time_column is None else self.time_column.values

    @property
    def validity_breaks(self) -> tuple[str, ...]:
        """Why nothing that is learned from this log is proven; empty if the log itself shows no such reason.

        ``learner.learn_log(log)`` keeps them as :attr:`~goalbound.learners.base.LearnerBase.caveats`.
        """
        found = []
        if self.support_inferred:
            found.append(f"{SUPPORT_INFERRED} (what it does not hold counts as impossible)")
        chosen = sum(one.outcome for one in self.skipped)
        if chosen:
            found.append(
                f"{pluralize(chosen, 'row')} of the log skipped because of the loss or the next state (the others are "
                "selected by their outcome)"
            )
        return tuple(found)

    def arrays(self) -> LogArrays:
        """All steps as arrays; read-only."""
        return self.steps

    def window(self, first: int | None = None, last: int | None = None, *, since: Any = None, until: Any = None) -> Log:
        """Some of the steps: those since a change, or of a month.

        Args:
            first, last: by number: the steps from ``first`` on, from 0, and before ``last``; left out: all.
            since, until: by time: the steps whose time is ``since`` or later, and before ``until``. A date as ISO 8601
                writes it, a ``datetime``, or a number, as the column of times has them; with a zone where they have.

        A step belongs to the window by its own time, whenever its case began: cases that began before are cut, and
        begin where the window does; those that go on after it are open. ``skipped`` and ``clipped`` are those of the
        whole log. A window that was chosen by what came of its steps breaks proofs: tell learners by
        :meth:`~goalbound.learners.base.LearnerBase.add_caveat`.
        """
        if since is not None or until is not None:
            if first is not None or last is not None:
                raise ArgumentError("a window is by number (first, last) or by time (since, until); give one of them")
            first, last = self._places_in_time(since, until)
        elif first is None and last is None:
            raise ArgumentError("the window has no ends; give first or last, numbers of steps, or since or until")
        first = 0 if first is None else check_int(first, "first", least=0, most=len(self))
        last = len(self) if last is None else check_int(last, "last", least=first, most=len(self))
        return self._part(slice(first, last))

    def of_cases(self, chosen: NDArray[np.bool_]) -> Log:
        """The steps of the cases that are ``chosen`` [cases], numbered as ``case_of`` has them."""
        return self._part(np.flatnonzero(chosen[self.case_of]))

    def with_map(self, map: CovariateMap | None) -> Log:
        """The same steps under the contexts that another map makes of the covariates; None: without contexts."""
        if map is None:
            contexts, names = np.ones((len(self), 1)), None
        elif self.covariates is None:
            raise ArgumentError(
                "the log was read without covariates, so no map can make contexts; name them: "
                "read_log(..., columns=LogColumns(covariates=[...]), covariate_map=...)"
            )
        else:
            read = read_contexts(self.covariates, LogColumns(covariates=tuple(self.covariates.columns)), map)
            contexts, names = read.rows[self.rows], read.names
            rejected = np.flatnonzero(np.isnan(contexts).any(axis=1))
            if len(rejected):
                row = int(self.rows[rejected[0]])
                raise ArgumentError(f'row {row}, column "{read.column(row)}": {read.reason(row)}')
        steps = self.steps._replace(contexts=set_readonly(contexts))
        return replace(self, steps=steps, component_names=names, map_digest=digest_of(map))

    def _part(self, places: slice | NDArray[np.int64]) -> Log:
        """Some of the steps, in the order of time."""
        cases, case_of = np.unique(self.case_of[places], return_inverse=True)
        steps = LogArrays(*(set_readonly(column[places].copy()) for column in self.steps))
        arrived = np.zeros(len(cases), dtype=np.bool_)
        arrived[case_of[self.support.next_state[steps.next_places] == self.support.states]] = True
        times = self.time_column
        return replace(
            self,
            steps=steps,
            case_of=set_readonly(case_of.astype(np.int64)),
            rows=set_readonly(self.rows[places].copy()),
            probabilities=None if self.probabilities is None else set_readonly(self.probabilities[places].copy()),
            cases=len(cases),
            open_cases=int((~arrived).sum()),
            time_column=None if times is None else times._replace(values=set_readonly(times.values[places].copy())),
        )

    def _places_in_time(self, since: Any, until: Any) -> tuple[int, int]:
        """The number of the first step that is not before ``since``, and of the first that is not before ``until``."""
        times = self.time_column
        if times is None:
            raise ArgumentError(
                "the log has no times: it was read without a column of them; give first=, the number of a step, or "
                "read it with LogColumns(time=...)"
            )
        ends = [
            otherwise if time is None else int(np.searchsorted(times.values, times.place(time, name)))
            for time, name, otherwise in ((since, "since", 0), (until, "until", len(self)))
        ]
        if ends[1] < ends[0]:
            raise ArgumentError(f"until, {short_repr(until)}, is before since, {short_repr(since)}")
        return ends[0], ends[1]

    def report(self) -> LogReport:
        """What the log holds, and what it cannot show."""
        return log_report(self)

    def summary(self) -> str:
        """The report as text."""
        return str(self.report())

    def __len__(self) -> int:
        return len(self.steps.pairs)

    def __iter__(self) -> Iterator[tuple[NDArray[np.float64], Step]]:
        states = self.support.pair_state[self.steps.pairs].tolist()
        actions = self.support.pair_action[self.steps.pairs].tolist()
        following = self.support.next_state[self.steps.next_places].tolist()
        made = map(Step, states, actions, self.steps.losses.tolist(), following)
        return zip(self.steps.contexts, made, strict=True)

    def __repr__(self) -> str:
        sizes = f"{pluralize(self.support.states, 'state')}, {pluralize(self.support.pairs, 'pair')}"
        inferred = "; support inferred" if self.support_inferred else ""
        skipped = f"; {pluralize(len(self.skipped), 'row')} skipped" if self.skipped else ""
        return f"Log({pluralize(len(self), 'step')}, {pluralize(self.cases, 'case')}, {sizes}{inferred}{skipped})"
