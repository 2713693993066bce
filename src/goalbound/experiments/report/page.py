"""The page of a report, from its data alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goalbound.experiments.pages.page import render
from goalbound.experiments.report.charts import page_state, report_charts
from goalbound.experiments.report.data import report_data
from goalbound.experiments.report.sections import sections
from goalbound.models.files.io import atomic_write

if TYPE_CHECKING:
    from goalbound.experiments.records import RunRecord
    from goalbound.experiments.run_spec import RunSpec
    from goalbound.experiments.spec import ExperimentSpec
    from goalbound.experiments.summary import Summary


def write_report(
    path: str | PathLike[str],
    spec: ExperimentSpec,
    summary: Summary,
    records: Iterable[RunRecord],
    *,
    failures: Iterable[Mapping[str, Any]] = (),
    times: Iterable[Mapping[str, Any]] = (),
    runs: Sequence[RunSpec] | None = None,
) -> Path:
    """Write the report: one HTML file without external resources. Atomic; the same results give the same bytes."""
    page = report_page(report_data(spec, summary, records, failures=failures, times=times, runs=runs))
    with atomic_write(path) as file:
        file.write(page.encode())
    return Path(path)


def report_page(data: Mapping[str, Any]) -> str:
    """The page that shows :func:`goalbound.experiments.report.report_data`."""
    values = sections(data)
    state = page_state(data, fold=values["many"] and bool(data["panels"]))
    return render("report.html", values, package="goalbound.experiments.report", charts=report_charts(data), data=state)
