"""The table of columns: what a record keeps of each episode, and what summaries and reports show of it.

A new column is one row of :data:`COLUMNS`, and the loop that fills it. Record, summary, CSV and report follow. The
columns that say of which run a row is are :data:`RUN_COLUMNS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goalbound.experiments import metrics
from goalbound.experiments.bootstrap import Estimate, estimate, proportion
from goalbound.experiments.metrics import OptionalNumber

if TYPE_CHECKING:
    from goalbound.experiments.records import RunRecord
    from goalbound.experiments.run_spec import RunSpec
    from goalbound.simulation import History

NUMBER, EXPONENT, SHARE, RUNS = "number", "exponent", "share", "runs"
"""Formats: about four digits; two or three decimals; percent; in how many runs something held."""

Aggregate = Callable[[Sequence[float | None], Sequence[str], int], Estimate]
"""Called with the number of each seed, the reasons for missing ones, and the seed of the bootstrap."""


def mean(values: Sequence[float | None], reasons: Sequence[str], seed: int) -> Estimate:
    """The mean over seeds with its bootstrap band."""
    return estimate(values, seed=seed, reasons=reasons)


def share_of_runs(values: Sequence[float | None], reasons: Sequence[str], seed: int) -> Estimate:
    """The share of the seeds where something held, with its exact band."""
    flags = [None if value is None else bool(value) for value in values]
    return proportion(flags, reason=next(filter(None, reasons), "not known"))


@dataclass(frozen=True)
class Column:
    """A column of a record, or a number that is computed from columns in a summary.

    Attributes:
        name: in records, in CSV and JSON.
        heading: in tables.
        meaning: one line.
        dtype: in records, of 8 bytes; None for numbers that are computed from other columns and not stored.
        values: [K] non-negative values of the episodes of a history; by default its column of this name.
        number: of a run; by default the sum over its episodes.
        aggregate: over seeds; None for columns that are in records only.
        format: of the number in tables.
        band: whether tables show the band over seeds.
        in_report: whether the report's table has it; the terminal's and the CSV have all.
        at_most: a column that its sums never exceed; empty if there is none.
    """

    name: str
    heading: str
    meaning: str
    dtype: type[np.generic] | None = None
    values: Callable[[History], NDArray[Any]] | None = None
    number: Callable[[RunRecord], OptionalNumber] | None = None
    aggregate: Aggregate | None = mean
    format: str = NUMBER
    band: bool = False
    in_report: bool = True
    at_most: str = ""

    def values_in(self, history: History) -> NDArray[Any]:
        """[K] the values of the episodes of a history, as a record sums them."""
        found = history.column(self.name) if self.values is None else self.values(history)
        return found.astype(self.dtype)

    def number_of(self, record: RunRecord) -> OptionalNumber:
        """The number of a run, or None and the reason."""
        return metrics.total(record, self.name) if self.number is None else self.number(record)


COLUMNS: tuple[Column, ...] = (
    Column("loss", "loss", "what was paid", np.float64, aggregate=None),
    Column("optimal_loss", "optimal loss", "optimal value of the first state", np.float64, aggregate=None),
    Column(
        "expected_regret", "expected regret", "the gaps of the pairs played, summed over the steps", np.float64,
        band=True,
    ),
    Column(
        "exponent", "exponent", "x with expected regret ~ episodes^x over the last decade",
        number=metrics.growth_exponent, format=EXPONENT, band=True,
    ),
    Column(
        "regret", "regret", "realised: the loss less the optimal one", number=metrics.realised_regret,
        band=True, in_report=False,
    ),
    Column("loss_share", "loss/optimal", "loss over optimal loss", number=metrics.loss_share, band=True),
    Column("steps", "steps", "steps of all episodes", np.int64),
    Column(
        "intervals", "intervals", "intervals of the learner", np.int64, number=metrics.intervals, in_report=False
    ),
    Column(
        "unknown_steps", "unknown steps", "steps that played an unknown pair; 0 without a known test", np.int64,
        aggregate=None, at_most="steps",
    ),
    Column(
        "known_share", "known steps", "the share of the steps that played a known pair; only with a known test",
        number=metrics.known_share, format=SHARE, band=True,
    ),
    Column(
        "covered", "covered runs", "the runs whose confidence sets held the truth throughout",
        number=metrics.covered, aggregate=share_of_runs, format=RUNS,
    ),
    Column(
        "coverage", "coverage", "the share of the intervals that began with the truth in all sets",
        number=metrics.coverage, format=SHARE, in_report=False,
    ),
    Column("abandoned", "abandoned", "episodes that the step limit ended", np.int64, at_most="episode"),
)  # fmt: skip
"""All columns, in the order of records and tables."""


@dataclass(frozen=True)
class RunColumn:
    """A column that says of which run a row is: the same in all rows of a record.

    Attributes:
        name: in records, data frames and CSV.
        meaning: one line.
        of: its value for a run.
        is_text: texts are dictionary-encoded; others are whole numbers.
    """

    name: str
    meaning: str
    of: Callable[[RunSpec], str | int]
    is_text: bool = True


RUN_COLUMNS: tuple[RunColumn, ...] = (
    RunColumn("problem", "label of the problem", lambda run: run.problem.label or run.problem.use),
    RunColumn("contexts", "label of the source of contexts", lambda run: run.contexts.label or run.contexts.use),
    RunColumn("learner", "label of the learner", lambda run: run.learner.label or run.learner.use),
    RunColumn("run", "id of the run: 16 hexadecimal digits", lambda run: run.id),
    RunColumn("seed", "seed of the run", lambda run: run.seed, is_text=False),
)
"""The columns of a record before ``episode``."""


def stored() -> list[Column]:
    """The columns of a record besides ``episode``, the number of episodes up to a row: sums over these episodes."""
    return [column for column in COLUMNS if column.dtype is not None]


def summarised() -> list[Column]:
    """What summaries, CSV and reports show."""
    return [column for column in COLUMNS if column.aggregate is not None]


def schema() -> dict[str, type[np.generic]]:
    """The names and types of a record's columns.

    >>> list(schema())
    ['episode', 'loss', 'optimal_loss', 'expected_regret', 'steps', 'intervals', 'unknown_steps', 'abandoned']
    """
    return {"episode": np.int64} | {column.name: column.dtype for column in stored() if column.dtype is not None}


def aggregated(records: Sequence[RunRecord], *, seed: int) -> dict[str, Estimate]:
    """The estimate over the seeds of each number that is summarised, by name."""
    found = {}
    for column in summarised():
        numbers = [column.number_of(record) for record in records]
        values, reasons = [value for value, _ in numbers], [reason for _, reason in numbers]
        if column.aggregate is not None:
            found[column.name] = column.aggregate(values, reasons, seed)
    return found
