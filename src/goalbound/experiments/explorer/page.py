"""The explorer as one page that needs nothing else. Names are escaped, never trusted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from goalbound import __version__
from goalbound.errors import ArgumentError
from goalbound.experiments.explorer.layout import GRID, Layout, make_layout, mean_moves
from goalbound.experiments.explorer.learner_views import LearnerCourse
from goalbound.experiments.explorer.optimum import (
    bounds_json,
    certified_contexts,
    certified_json,
    is_solved_in_page,
    model_json,
)
from goalbound.experiments.pages.charts import Chart, axis
from goalbound.experiments.pages.page import render
from goalbound.models import LinearCSSP
from goalbound.terminal import pluralize

SCRIPTS = (
    "solver.js", "regions.js", "pictures.js", "simplex.js", "context.js", "tables.js", "policies.js", "explorer.js",
)  # fmt: skip
MOST_PAGE_STATES = 20_000
"""States that a table of the page still lists."""
SECONDS = 10.0
"""For the bounds over all contexts."""


def explorer_page(
    problem: LinearCSSP, *, title: str, courses: Sequence[LearnerCourse] = (), layout: Layout | None = None,
    estimated: bool = False, seconds: float = SECONDS,
) -> str:  # fmt: skip
    """The whole page.

    Args:
        problem: the truth; or, with ``estimated``, what a learner takes for it.
        title: of the page, such as the name of the problem.
        courses: learners, at one time or along a run.
        layout: where states are drawn; None: :func:`~goalbound.experiments.explorer.layout.make_layout`.
        estimated: whether the problem is an estimate, so that nothing about it is certain.
        seconds: the most that the search for B* and T* may take.
    """
    if problem.support.states > MOST_PAGE_STATES:
        raise ArgumentError(
            f"the problem has {problem.support.states:,} states; a page shows at most {MOST_PAGE_STATES:,}. "
            "goalbound solve prints any of them"
        )
    exact = is_solved_in_page(problem)
    contexts = certified_contexts(problem, exact=exact)
    data: dict[str, Any] = {
        "explorer": {
            "model": model_json(problem, exact=exact), "exact": exact, "estimated": estimated,
            "certified": certified_json(problem, contexts),
            "layout": _layout_json(layout or make_layout(problem.support), problem, exact=exact),
            "bounds": None if estimated else bounds_json(problem, seconds=seconds),
            "courses": [course.as_json() for course in courses],
        }
    }  # fmt: skip
    support = problem.support
    values = {
        "title": title, "exact": exact, "estimated": estimated, "version": __version__, "courses": courses,
        "size": f"{pluralize(support.states, 'state')}, {pluralize(support.pairs, 'pair')}, "
                f"{pluralize(problem.context_size, 'component')}",
        "components": data["explorer"]["model"]["components"], "certified": len(contexts),
        "along": any(len(course.views) > 1 for course in courses),
    }  # fmt: skip
    charts = [time_chart()] if values["along"] else []
    scripts = [_script(name) for name in SCRIPTS]
    return render(
        "explorer.html", values, package="goalbound.experiments.explorer", charts=charts, data=data, scripts=scripts
    )  # fmt: skip


def _layout_json(layout: Layout, problem: LinearCSSP, *, exact: bool) -> dict[str, Any]:
    drifts = {} if exact or layout.kind != GRID else {"drifts": mean_moves(layout, problem)}
    return layout.as_json() | drifts


def time_chart() -> Chart:
    """What the learner's policy loses by its own account along the episodes; the page fills it in."""
    return Chart(
        name="course", title="What the learner expects to lose, along the episodes", traces=[], height=300,
        layout={"xaxis": axis("episodes"), "yaxis": axis("expected loss until the goal", rangemode="tozero"),
                "showlegend": True},
        columns=("series", "episodes", "expected loss"),
    )  # fmt: skip


@cache
def _script(name: str) -> str:
    return files("goalbound.experiments.explorer").joinpath(name).read_text(encoding="utf-8").rstrip("\n")
