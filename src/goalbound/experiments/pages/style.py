"""The one table of line styles: a learner looks the same on every page and in every figure of a paper.

Lines differ in dash and marker too, so that they can be told apart without colour. On pages each colour has a variant
for light and for dark; figures for papers take the light one.
"""

from __future__ import annotations

from typing import NamedTuple

LIGHT = ("#0b5fa5", "#c2410c", "#007a5a", "#8a3f8f", "#86640a", "#b3205b", "#3b5168", "#26748a")
"""Colours of lines; each has a contrast of 4.5 or more on white."""
DARK = ("#7db4f5", "#ff9a6b", "#56d0a6", "#d8a2e2", "#e6bf52", "#ff9cbd", "#b9c7da", "#7fd3e6")
"""The same on a dark page, place by place."""
DASHES: tuple[tuple[float, ...], ...] = ((), (6, 2), (2, 1.3), (7, 2, 1.5, 2), (9, 2, 3, 2))
"""Lengths of dashes and gaps, in multiples of the line's width; empty: solid."""
MARKERS = (
    ("o", "circle"), ("s", "square"), ("^", "triangle-up"), ("D", "diamond"), ("v", "triangle-down"), ("P", "cross"),
    ("X", "x"), ("<", "triangle-left"), (">", "triangle-right"),
)  # fmt: skip
"""Markers by their names in Matplotlib and in Plotly."""
SURFACES = {
    "page": ("#fbfaf7", "#14181f"), "card": ("#ffffff", "#1b212b"), "ink": ("#1f2733", "#e8e6e1"),
    "soft": ("#5a6577", "#a3acba"), "rule": ("#dad6cc", "#374050"), "strong": ("#8b8f98", "#7d8797"),
    "accent": ("#0b5fa5", "#7db4f5"), "warn": ("#fff1e4", "#3a2618"), "warn-ink": ("#8f3205", "#ffc09a"),
    "good": ("#0c6b62", "#5fd0c3"), "bad": ("#b23a06", "#ff9a6b"),
    "heat-low": ("#f3efe4", "#232a35"), "heat-high": ("#7a1f1f", "#ffb37a"),
}  # fmt: skip
"""Colours of a page that belong to no line: light, dark."""


class LineStyle(NamedTuple):
    """The style of a line, by places in the tables; 40 lines in a row differ in colour and dash."""

    colour: int
    dash: int
    marker: int

    @property
    def variable(self) -> str:
        """The colour on a page, light or dark."""
        return f"var(--c{self.colour})"

    @property
    def dash_lengths(self) -> str:
        """The dash in pixels, for a line two pixels wide, as Plotly and SVG write it; ``solid`` without gaps.

        >>> line_style(0).dash_lengths, line_style(1).dash_lengths
        ('solid', '12px,4px')
        """
        return ",".join(f"{2 * length:g}px" for length in DASHES[self.dash]) or "solid"

    @property
    def symbol(self) -> str:
        """The marker in Plotly."""
        return MARKERS[self.marker][1]


def line_style(place: int) -> LineStyle:
    """The style of the line at a place.

    >>> len({line_style(place)[:2] for place in range(40)})
    40
    """
    return LineStyle(place % len(LIGHT), place % len(DASHES), place % len(MARKERS))


def variables() -> str:
    """The colours as declarations of CSS variables, light and dark."""
    pairs = {**SURFACES, **{f"c{place}": pair for place, pair in enumerate(zip(LIGHT, DARK, strict=True))}}
    return " ".join(f"--{name}: light-dark({light}, {dark});" for name, (light, dark) in pairs.items())
