"""All figures of an experiment, as files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goalbound.errors import ArgumentError
from goalbound.experiments.figures import style
from goalbound.experiments.figures.policies import policies_figure
from goalbound.experiments.figures.regret import known_figure, regret_figure, terms_figure
from goalbound.experiments.figures.simplex import simplex_figures
from goalbound.experiments.summary import group_runs
from goalbound.models.files.io import atomic_write

if TYPE_CHECKING:
    from goalbound.experiments.records import RunRecord
    from goalbound.experiments.run_spec import RunSpec
    from goalbound.experiments.summary import Group, Summary

CAPTIONS = "captions.txt"
"""The file of the captions: the name of a figure, and under it its caption."""


def write_figures(
    summary: Summary,
    records: Iterable[RunRecord],
    folder: str | PathLike[str],
    *,
    formats: Sequence[str] = ("pdf", "svg"),
    runs: Sequence[RunSpec] | None = None,
    width: float = style.WIDTH,
    font: str = style.FONT,
    font_size: float = style.FONT_SIZE,
) -> list[Path]:
    """Draw an experiment: for each problem and context source the regret, its terms, known steps, and maps.

    The same records give the same bytes (for one version of matplotlib). Figures have no title; ``captions.txt``, which
    is written beside them, has a caption for each, which names the constants of its learners.

    Args:
        summary: of the records.
        records: of the runs; they hold the maps.
        folder: created if missing; files of the same names are replaced.
        formats: as matplotlib names them: pdf, svg, png, ...
        runs: the ``runs`` that :func:`~goalbound.experiments.summary.summarize` was called with.
        width: of all figures, in inches: that of the text or of a column.
        font: a family that matplotlib finds.
        font_size: in points.

    Returns:
        The files of the figures, in the order in which they were written.
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
    captions: list[str] = []
    with style.figure_style(width=width, font=font, font_size=font_size):
        for task in tasks:
            groups = [group for group in summary.groups if (group.problem, group.contexts) == task]
            found = [(group, by_group[group.labels]) for group in groups]
            for kind, figure in _figures(found, styles):
                name = _unused(style.slug(kind, *task), names)
                paths += style.save_figure(figure, target, name, formats)
                captions.append(f"{name}\n{figure.get_label()}\n")
    with atomic_write(target / CAPTIONS) as file:
        file.write("\n".join(captions).encode())
    return paths


def _figures(
    found: Sequence[tuple[Group, Sequence[RunRecord]]], styles: dict[str, style.LineStyle]
) -> Iterator[tuple[str, Any]]:
    """Name and figure of each drawing of one problem and context source."""
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
