"""A page from a template and its charts: one HTML file that runs nothing but what is in it and asks for nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from goalbound.experiments.pages.charts import Chart
from goalbound.experiments.pages.style import line_style, variables

PLOTLY = "plotly/plotly-cartesian.min.js"
"""The library of the charts, as it was published; ``tests/unit/experiments/pages/test_page.py`` has its digest."""


def render(
    template: str,
    values: Mapping[str, Any],
    *,
    package: str,
    charts: Sequence[Chart] = (),
    data: Mapping[str, Any] | None = None,
    scripts: Sequence[str] = (),
) -> str:
    """A page.

    Args:
        template: its name in the ``templates`` of the package; it extends ``page.html``.
        values: for the template; what is text is escaped there.
        package: that has the template.
        charts: the template shows one by the macro ``figure`` of ``macros.html``, as ``charts["name"]``.
        data: for the switches of the page: ``learners``, ``panels``, ``arrays``, ``fold``; and for scripts of its own.
        scripts: of the page's own; they come after ``charts.js`` and may use its functions.
    """
    shared_scripts = [_asset("charts.js")] if charts or scripts else []
    scripts = [*([_asset(PLOTLY)] if charts else []), *shared_scripts, *scripts]
    embedded = {"learners": [], "panels": [], "arrays": {}, "fold": False, **(data or {})}
    embedded["charts"] = {chart.name: chart.as_json() for chart in charts}
    shared = {
        "policy": content_policy(scripts),
        "style": Markup(f":root {{ color-scheme: light dark; {variables()} }}\n{_asset('page.css')}"),
        "scripts": [Markup(script) for script in scripts],
        "data": Markup(script_safe(embedded)),
        "charts": {chart.name: chart for chart in charts},
        "line_style": line_style,
    }
    return _environment(package).get_template(template).render(**shared, **values)


def script_safe(data: Mapping[str, Any]) -> str:
    """JSON for a script element: it can neither end the element nor open a comment.

    >>> script_safe({"label": "</script><!--"})
    '{"label":"\\\\u003c/script>\\\\u003c!--"}'
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace("&", "\\u0026")


def content_policy(scripts: Sequence[str]) -> str:
    """The content security policy: these scripts only, and no requests."""
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; script-src {allowed}"


@cache
def _environment(package: str) -> Environment:
    return Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("goalbound.experiments.pages")]),
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip


@cache
def _asset(name: str) -> str:
    return files("goalbound.experiments.pages").joinpath(name).read_text(encoding="utf-8").rstrip("\n")
