"""What ``.plot()`` methods draw: the door to Matplotlib for all but figures of papers.

They draw into the axes that are given, or into new ones of ``matplotlib.pyplot``, in the style that the user has set;
figures of experiments have a style of their own (:mod:`goalbound.experiments.figures`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ArgumentError
from goalbound.extras import EXTRAS, install_command
from goalbound.terminal import one_line

SHOWN = 40
"""Rows of a chart that are shown."""
HEIGHT_OF_ROW, WIDTH_OF_LETTER = 0.26, 0.08
"""Inches."""


def new_axes(axes: Any = None, *, names: Sequence[str] | None = None) -> Any:
    """The axes to draw into: those given, or new ones, large enough for a row of each of the names."""
    if axes is not None:
        if not hasattr(axes, "plot") or not hasattr(axes, "set_xlabel"):
            raise ArgumentError(f"axes is a {type(axes).__name__}; give axes of Matplotlib, or leave it out")
        return axes
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ArgumentError(f"to plot needs matplotlib: {install_command(EXTRAS['matplotlib'])}") from None
    size = None
    if names is not None:
        width = 6.4 + WIDTH_OF_LETTER * max(0, max(map(len, names), default=0) - 20)
        size = (min(width, 12.0), max(1.8, 1.0 + HEIGHT_OF_ROW * len(names)))
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def escape_label(label: str) -> str:
    """A label as literal text: no mathtext and no control characters.

    >>> escape_label("5$ a day")
    '5\\\\$ a day'
    """
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in label).replace("$", r"\$")


def literal(name: str) -> str:
    """A name on one line, as literal text."""
    return escape_label(one_line(name))


class Rows(NamedTuple):
    """Rows of a chart, from top to bottom: a name, an interval, a point, and words at the right end.

    ``low``, ``high`` and ``point`` are arrays [n]; NaN, or None for all, where there is none. An infinite ``high`` is
    drawn as an arrow.
    """

    names: Sequence[str]
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    point: ArrayLike | None = None
    words: Sequence[str] = ()


def draw_rows(rows: Rows, *, label: str, axes: Any = None) -> Any:
    """Intervals and points beside names: one row each, at most 40.

    Args:
        rows: what to draw.
        label: of the numbers; it says what points and lines are.
        axes: where; new ones if None.
    """
    count, shown = len(rows.names), min(len(rows.names), SHOWN)
    axes = new_axes(axes, names=rows.names[:shown])
    low, high, points = (_numbers(values, count)[:shown] for values in (rows.low, rows.high, rows.point))
    places = np.arange(shown)
    edge = _right_edge(low, high, points)
    bounded = np.isfinite(low) & np.isfinite(high)
    axes.hlines(places[bounded], low[bounded], high[bounded], linewidth=4, alpha=0.35, color="C0", label="_interval")
    open_ones = np.isfinite(low) & np.isposinf(high)
    axes.hlines(places[open_ones], low[open_ones], edge, linewidth=4, alpha=0.35, color="C0", label="_interval")
    axes.plot(np.full(open_ones.sum(), edge), places[open_ones], ">", color="C0", clip_on=False, label="_infinite")
    axes.plot(points, places, "o", color="C0", label="_point")
    axes.set_yticks(places, [literal(name) for name in rows.names[:shown]])
    axes.set_ylim(shown - 0.5, -0.5)
    more = "" if count == shown else f" ({count - shown} more rows are not shown)"
    axes.set_xlabel(literal(label) + more)
    for place, word in enumerate(rows.words[:shown]):
        axes.annotate(
            literal(word), (1.0, place), xycoords=("axes fraction", "data"), xytext=(8, 0),
            textcoords="offset points", va="center", annotation_clip=False,
        )  # fmt: skip
    return axes


def _numbers(values: ArrayLike | None, count: int) -> NDArray[np.float64]:
    return np.full(count, np.nan) if values is None else np.asarray(values, dtype=np.float64)


def _right_edge(*columns: NDArray[np.float64]) -> float:
    """Where arrows to infinity end: a little beyond all that is finite."""
    numbers = np.concatenate(columns)
    largest = float(np.max(numbers[np.isfinite(numbers)], initial=0.0))
    return 1.15 * largest if largest > 0.0 else 1.0
