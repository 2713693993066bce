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

SHOWN = 40
"""Rows of a chart that are shown."""
HEIGHT_OF_ROW = 0.26
"""Inches."""


def new_axes(axes: Any = None, *, rows: int | None = None) -> Any:
    """The axes to draw into: those given, or new ones, high enough for so many rows of names."""
    if axes is not None:
        if not hasattr(axes, "plot") or not hasattr(axes, "set_xlabel"):
            raise ArgumentError(f"axes is a {type(axes).__name__}; give axes of Matplotlib, or leave it out")
        return axes
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ArgumentError(f"to plot needs matplotlib: {install_command(EXTRAS['matplotlib'])}") from None
    size = None if rows is None else (6.4, max(1.8, 1.0 + HEIGHT_OF_ROW * rows))
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def escape_label(label: str) -> str:
    """A label as literal text: no mathtext and no control characters.

    >>> escape_label("5$ a day")
    '5\\\\$ a day'
    """
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in label).replace("$", r"\$")


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


def draw_rows(rows: Rows, *, label: str, point: str = "", axes: Any = None) -> Any:
    """Intervals and points beside names: one row each, at most 40.

    Args:
        rows: what to draw.
        label: of the numbers.
        point: what the points are, for a legend; empty: no legend.
        axes: where; new ones if None.
    """
    count, shown = len(rows.names), min(len(rows.names), SHOWN)
    axes = new_axes(axes, rows=shown)
    low, high, points = (_numbers(values, count)[:shown] for values in (rows.low, rows.high, rows.point))
    places = np.arange(shown)
    edge = _right_edge(low, high, points)
    bounded = np.isfinite(low) & np.isfinite(high)
    axes.hlines(places[bounded], low[bounded], high[bounded], linewidth=4, alpha=0.35, color="C0", label="_interval")
    open_ones = np.isfinite(low) & np.isposinf(high)
    axes.hlines(places[open_ones], low[open_ones], edge, linewidth=4, alpha=0.35, color="C0", label="_interval")
    axes.plot(np.full(open_ones.sum(), edge), places[open_ones], ">", color="C0", clip_on=False, label="_infinite")
    axes.plot(points, places, "o", color="C0", label=point or "_point")
    axes.set_yticks(places, [escape_label(name) for name in rows.names[:shown]])
    axes.set_ylim(shown - 0.5, -0.5)
    more = "" if count == shown else f" ({count - shown} more rows are not shown)"
    axes.set_xlabel(escape_label(label) + more)
    for place, word in enumerate(rows.words[:shown]):
        axes.annotate(
            escape_label(word), (1.0, place), xycoords=("axes fraction", "data"), xytext=(8, 0),
            textcoords="offset points", va="center", annotation_clip=False,
        )  # fmt: skip
    if point and np.isfinite(points).any() and bounded.any():
        axes.legend(frameon=False, loc="best")
    return axes


def _numbers(values: ArrayLike | None, count: int) -> NDArray[np.float64]:
    return np.full(count, np.nan) if values is None else np.asarray(values, dtype=np.float64)


def _right_edge(*columns: NDArray[np.float64]) -> float:
    """Where arrows to infinity end: a little beyond all that is finite."""
    numbers = np.concatenate(columns)
    largest = float(np.max(numbers[np.isfinite(numbers)], initial=0.0))
    return 1.15 * largest if largest > 0.0 else 1.0
