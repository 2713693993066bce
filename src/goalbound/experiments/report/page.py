"""The page of a report, from its data alone."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goalbound.experiments.report.data import report_data
from goalbound.experiments.report.sections import SECTIONS
from goalbound.models.files.io import atomic_write

if TYPE_CHECKING:
    from goalbound.experiments.records import RunRecord
    from goalbound.experiments.run_spec import RunSpec
    from goalbound.experiments.spec import ExperimentSpec
    from goalbound.experiments.summary import Summary

SCRIPTS = ("drawing.js", "curves.js", "simplex_maps.js", "report.js")


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
    script = "\n".join(_asset(name) for name in SCRIPTS)
    parts = {
        "title": escape(data["question"] or data["name"]),
        "policy": _policy(script),
        "style": _asset("report.css"),
        "data": script_safe(data),
        "script": script,
        **{name: section(data) for name, section in SECTIONS.items()},
    }
    # One pass, so that placeholders inside of labels are not replaced.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], _asset("report.html"))


def script_safe(data: Mapping[str, Any]) -> str:
    """JSON for a script element: it can neither end the element nor open a comment.

    >>> script_safe({"label": "</script><!--"})
    '{"label":"\\\\u003c/script>\\\\u003c!--"}'
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace("&", "\\u0026")


def _policy(script: str) -> str:
    """The content security policy: this script only, and no requests."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"


@cache
def _asset(name: str) -> str:
    return files("goalbound.experiments.report").joinpath(name).read_text(encoding="utf-8").rstrip("\n")
