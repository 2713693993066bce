"""All figures of an experiment, as files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goalbound.errors import ArgumentError
from goalbound.experiments.figures import style
from goalbound.experiments.figures.curves import known_figure, regret_figure
from goalbound.experiments.figures.policies import policies_figure
from goalbound.experiments.figures.simplex import simplex_figures
from goalbound.experiments.figures.terms import terms_figure
from goalbound.experiments.groups import group_runs

if TYPE_CHECKING:
    from goalbound.experiments.records import RunRecord
    from goalbound.experiments.spec import RunSpec
    from goalbound.experiments.summary import Group, Summary


def write_figures(
    summary: Summary,
    records: Iterable[RunRecord],
    folder: str | PathLike[str],
    *,
    formats: Sequence[str] = ("pdf", "svg"),
    runs: Sequence[RunSpec] | None = None,
) -> list[Path]:
    """Draw an experiment: for each problem and source of contexts the regret, its terms, what is known, and maps.

    The same records give the same bytes (for one version of matplotlib). Under each figure stand the constants of the
    learners in it.

    Args:
        summary: of the records.
        records: the maps of the simplex and of policies are theirs.
        folder: made if it is not there; files of the same names are replaced.
        formats: as matplotlib names them: pdf, svg, png, ...
        runs: the same as :func:`~goalbound.experiments.summary.summarize` got, if it got any.

    Returns:
        The files, in the order in which they were written.
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    by_group = {group.labels: list(group.records.values()) for group in group_runs(records, runs)}
    strange = [group for group in summary.groups if not by_group.get(group.labels)]
    if strange:
        raise ArgumentError(
            f"the summary has {', '.join(strange[0].labels)}, of which there is no record; give the records, and the "
            "runs, that it was made of"
        )
    styles = style.styles([group.learner for group in summary.groups])
    paths: list[Path] = []
    names: set[str] = set()
    tasks = list(dict.fromkeys((group.problem, group.contexts) for group in summary.groups))
    with style.figure_style():
        for task in tasks:
            groups = [group for group in summary.groups if (group.problem, group.contexts) == task]
            found = [(group, by_group[group.labels]) for group in groups]
            for kind, figure in _figures(found, styles):
                name = _unused(style.slug(kind, *task), names)
                paths += style.save_figure(figure, target, name, formats)
    return paths


def _figures(
    found: Sequence[tuple[Group, Sequence[RunRecord]]], styles: dict[str, style.LineStyle]
) -> Iterator[tuple[str, Any]]:
    """Name and figure of all that there is to draw about one problem and source of contexts, one at a time."""
    groups = [group for group, _ in found]
    yield "regret", regret_figure(groups, styles)
    for name, draw in (("terms", terms_figure), ("known", known_figure)):
        if (figure := draw(groups, styles)) is not None:
            yield name, figure
    yield from simplex_figures(found, styles).items()
    if (figure := policies_figure(found, styles)) is not None:
        yield "policies", figure


def _unused(name: str, names: set[str]) -> str:
    """The name, or the name with a number where different labels make the same one."""
    chosen, number = name, 2
    while chosen in names:
        chosen, number = f"{name}-{number}", number + 1
    names.add(chosen)
    return chosen
