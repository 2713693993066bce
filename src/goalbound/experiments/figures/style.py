"""What all figures share: style, captions, labels of lines, and reproducible files."""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from goalbound.errors import ArgumentError
from goalbound.experiments.pages.style import DASHES, LIGHT, MARKERS, line_style
from goalbound.experiments.summary import Group
from goalbound.models.files.io import atomic_write
from goalbound.models.validation import check_float
from goalbound.plotting import escape_label
from goalbound.terminal import one_line, pluralize

WIDTH = 7.2
"""Inches; a page of a journal."""
COLUMN = 5.0
"""Narrower figures have one column of panels."""
FONT, FONT_SIZE = "DejaVu Sans", 8.0
"""The font, which comes with Matplotlib, and its size in points."""
WIDTHS, FONT_SIZES = (2.0, 40.0), (3.0, 40.0)
"""The least and the largest: beyond them labels leave no room, or the unit is another one."""
SMALL = "small"
"""The size of labels inside of axes: five sixths of the font's."""
_SMALL_SHARE = 0.833
_width: ContextVar[float] = ContextVar("width", default=WIDTH)
INK, SOFT, PALE = "#1f2733", "#6b7280", "#d9dce1"
SHADES = "cividis"
"""Lightness grows with the value, so it is readable in grey and with colour blindness."""
RC: dict[Any, Any] = {
    "axes.titlesize": "medium", "axes.labelsize": "medium",
    "xtick.labelsize": "small", "ytick.labelsize": "small", "text.color": INK, "axes.labelcolor": INK,
    "axes.edgecolor": SOFT,
    "xtick.color": SOFT, "ytick.color": SOFT, "xtick.labelcolor": INK, "ytick.labelcolor": INK, "axes.linewidth": 0.6,
    "axes.spines.top": False, "axes.spines.right": False, "lines.linewidth": 1.4, "lines.markersize": 3.6,
    "hatch.linewidth": 0.4, "pdf.fonttype": 42, "svg.fonttype": "path", "svg.hashsalt": "goalbound",
    "figure.dpi": 100.0, "savefig.dpi": 200.0,
}  # fmt: skip
NO_DATE: dict[str, dict[str, None]] = {
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
    "ps": {"CreationDate": None},
    "eps": {"CreationDate": None},
}


class LineStyle(NamedTuple):
    """The line style of a learner as Matplotlib has it, from the table that pages share."""

    colour: str
    dash: Any
    marker: str


def styles(learners: Sequence[str]) -> dict[str, LineStyle]:
    """A line style for each learner, the same in all figures and on the page of the report."""
    found = {learner: line_style(place) for place, learner in enumerate(dict.fromkeys(learners))}
    return {
        learner: LineStyle(
            LIGHT[one.colour], (0, DASHES[one.dash]) if DASHES[one.dash] else "-", MARKERS[one.marker][0]
        )
        for learner, one in found.items()
    }


@contextmanager
def figure_style(*, width: float = WIDTH, font: str = FONT, font_size: float = FONT_SIZE) -> Iterator[None]:
    """Matplotlib settings, independent of the user's, which are restored afterwards.

    Args:
        width: of figures, in inches; in narrow ones panels are below each other.
        font: a family that Matplotlib finds.
        font_size: in points; small labels are five sixths of it.

    Raises:
        ArgumentError: if a size is out of range, or the font is not found.
    """
    import matplotlib

    _check_size(width, "width", "inches (86 mm are 3.39)", WIDTHS)
    _check_size(font_size, "font_size", "points", FONT_SIZES)
    _check_font(font)
    token = _width.set(width)
    try:
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update({**RC, "font.family": font, "font.size": font_size})
            yield
    finally:
        _width.reset(token)


def _check_size(value: float, name: str, unit: str, ends: tuple[float, float]) -> None:
    least, most = ends
    meaning = f"a number of {unit} from {least:g} to {most:g}"
    if not least <= check_float(value, name, meaning) <= most:
        raise ArgumentError(f"{name} is {value:g}; it is {meaning}")


def _check_font(font: str) -> None:
    """Matplotlib itself draws in another font, with a warning for each text."""
    from matplotlib.font_manager import findfont, get_font_names

    try:
        findfont(font, fallback_to_default=False)
    except ValueError:
        near = get_close_matches(font, get_font_names(), n=3, cutoff=0.5) or [FONT, "serif", "monospace"]
        raise ArgumentError(
            f"font is {one_line(font)!r}, which Matplotlib does not find; install it, or take one that is there, such "
            f"as {', '.join(map(repr, near))}"
        ) from None


def is_column() -> bool:
    """Whether figures are too narrow for panels beside each other: those of a column."""
    return _width.get() < COLUMN


def new_figure(height: float, groups: Sequence[Group], title: str, *notes: str) -> Any:
    """A figure without a title: its label is the caption, with the constants of all learners and other notes."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = Figure(figsize=(_width.get(), height), layout=ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.05))
    first = groups[0]
    where = f"{first.problem}, contexts {first.contexts}, {pluralize(first.episodes, 'episode')}"
    figure.set_label(f"{title}: {where}. {caption(groups, *notes)}")
    return figure


def caption(groups: Sequence[Group], *notes: str) -> str:
    """The caption of a figure: the constants of each learner, the number of seeds, and the notes."""
    by_constants: dict[str, list[str]] = {}
    for group in groups:
        by_constants.setdefault(group.constants, []).append(group.learner)
    parts = [f"{', '.join(learners)}: {constants}." for constants, learners in by_constants.items()]
    most = max(len(group.seeds) for group in groups)
    fewer = "; some learners have fewer" if any(len(group.seeds) < most for group in groups) else ""
    parts.append("One seed." if most == 1 else f"Mean over {most} seeds{fewer}.")
    return " ".join([*parts, *(note for note in (groups[0].cap_sentence, *notes) if note)])


def save_figure(figure: Any, folder: Path, name: str, formats: Sequence[str]) -> list[Path]:
    """Write a figure in each format; the same figure gives the same bytes."""
    paths = []
    figure.get_layout_engine().execute(figure)
    figure.set_layout_engine("none")  # the layout is computed once for all formats
    for kind in formats:
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, metadata=NO_DATE.get(kind))
        paths.append(folder / f"{name}.{kind}")
        with atomic_write(paths[-1]) as file:
            file.write(buffer.getvalue())
    return paths


def wrap_label(label: str, width: int = 20) -> str:
    """A label wrapped to short lines; a bracket begins a new one.

    >>> wrap_label("LR-CSSP (scale 0.1, delta 0.05)").split("\\n")
    ['LR-CSSP', '(scale 0.1, delta', '0.05)']
    """
    if len(label) <= width:
        return escape_label(label)
    before, bracket, rest = label.partition(" (")
    lines = textwrap.wrap(before, width) + textwrap.wrap(f"({rest}" if bracket else "", width)
    return escape_label("\n".join(lines) or label)


def slug(*labels: str) -> str:
    """Labels as a file name.

    >>> slug("regret", "dense random", "Dirichlet (alpha 0.1)")
    'regret-dense-random-dirichlet-alpha-0.1'
    """
    words = (re.sub(r"[^a-z0-9.]+", "-", label.lower()).strip("-.") for label in labels)
    return "-".join(word for word in words if word)[:120]


def power_of_ten(value: float, _: int | None = None) -> str:
    """The label of a tick of a logarithmic axis, without a formula: those take long to draw.

    >>> power_of_ten(0.001), power_of_ten(1.0), power_of_ten(10000.0), power_of_ten(5.0)
    ('10⁻³', '1', '10⁴', '')
    """
    exponent = round(math.log10(value)) if value > 0.0 else 0
    if value != 10.0**exponent:
        return "0" if value == 0.0 else ""
    return {0: "1", 1: "10"}.get(exponent) or "10" + str(exponent).translate(
        str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    )


def component_names(metadata: dict[str, Any]) -> list[str]:
    """The names of the components of a context, for axes."""
    size = int(metadata["context_size"])
    names = metadata.get("component_names")
    return [escape_label(str(name)) for name in names] if names else [f"component {one + 1}" for one in range(size)]


def title(axes: Any, text: str, *, pad: float = 4.0) -> None:
    """A name above axes, at the left."""
    axes.set_title(wrap_label(text, 17 if is_column() else 34), loc="left", pad=pad)


class EndLabel(NamedTuple):
    """A label at the right end of a line; ``x`` and ``y`` in parts of the axes."""

    text: str
    x: float
    y: float
    colour: str


def label_ends(axes: Any, x: float, ends: Sequence[tuple[str, float, str]], *, tall: float) -> None:
    """Name each line where it ends, at the right of the axes (about ``tall`` inches high), without overlaps."""
    import matplotlib

    place = axes.transScale + axes.transLimits
    found = []
    for text, y, colour in ends:
        right, up = place.transform((x, y))
        found.append(EndLabel(wrap_label(text, 14 if is_column() else 20), float(right), float(up), colour))
    found.sort(key=lambda end: end.y)
    line = 1.3 * _SMALL_SHARE * matplotlib.rcParams["font.size"] / 72.0 / tall
    heights = [line * (1 + end.text.count("\n")) for end in found]
    # No label is below the axis, where the ticks have theirs.
    wanted = [max(end.y, sum(heights[:at]) + heights[at] / 2.0) for at, end in enumerate(found)]
    for end, y in zip(found, spread_labels(wanted, heights), strict=True):
        axes.plot(
            [end.x + 0.006, 1.035], [end.y, y], transform=axes.transAxes, color=SOFT, linewidth=0.5, clip_on=False
        )
        axes.text(1.045, y, end.text, transform=axes.transAxes, color=end.colour, fontsize=SMALL, va="center")


def spread_labels(wanted: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Places near the wanted ones (rising), so that neighbours of these heights do not overlap.

    Neighbours that would overlap are stacked around the middle of what they want, by isotonic regression.

    >>> [round(one, 2) for one in spread_labels([0.5, 0.5, 0.9], [0.1, 0.1, 0.1])]
    [0.45, 0.55, 0.9]
    """
    from scipy.optimize import isotonic_regression

    if not wanted:
        return []
    offsets = np.cumsum(heights) - np.array(heights) / 2.0
    places: list[float] = (isotonic_regression(np.array(wanted) - offsets).x + offsets).tolist()
    return places
