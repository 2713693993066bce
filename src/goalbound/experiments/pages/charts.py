"""Charts of a page as plain values: traces and a layout of Plotly, without any code.

Colours are variables of the page's style, which change with light and dark; ``pages/charts.js`` resolves them. What a
trace has under ``meta`` tells the page when to show it: its learner, its role (a line, a band, a seed, ...).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from goalbound.experiments.pages.style import LineStyle

Trace = dict[str, Any]
Values = Sequence[float | None]
INK, SOFT, PAGE = "var(--ink)", "var(--soft)", "var(--page)"
HEAT = [[0.0, "var(--heat-low)"], [1.0, "var(--heat-high)"]]
"""One hue, from the page's colour to a strong one: readable in grey."""
BAND = "band"
"""The role of the traces between two ends: a pair of lines, of which the second is filled down to the first."""


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A chart of a page.

    Attributes:
        name: unique in the page; also the name of the files that it can be saved to.
        title: what it shows, in words: its accessible name.
        traces: of Plotly.
        layout: of Plotly, without colours and fonts, which are those of the page.
        height: in pixels; rows of ``rows`` charts have a height of their own.
        columns: the headings of its numbers when they are saved as CSV; the first is the name of a series.
        options: ``panel`` (shown only with it), ``rows`` (one learner per row, least first), ``scales`` (follows the
            switch of the axes), ``units`` (follows the unit of the x-axis), ``seeds``.
    """

    name: str
    title: str
    traces: Sequence[Trace]
    layout: Mapping[str, Any] = field(default_factory=dict)
    height: int = 360
    columns: Sequence[str] = ("series", "x", "y")
    options: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """What the page reads."""
        return {
            "title": self.title, "traces": list(self.traces), "layout": dict(self.layout), "height": self.height,
            "columns": list(self.columns), "options": dict(self.options),
        }  # fmt: skip


def plain(text: str) -> str:
    """A label as literal text: Plotly reads some tags, so they are escaped.

    >>> plain("<b>a</b> & b")
    '&lt;b&gt;a&lt;/b&gt; &amp; b'
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def axis(title: str, *, log: bool = False, **more: Any) -> dict[str, Any]:
    """An axis with a title and ticks; ``more`` is passed to Plotly."""
    shape: dict[str, Any] = {"title": {"text": plain(title)}, "exponentformat": "SI", "automargin": True}
    if log:
        shape |= {"type": "log", "minor": {"ticks": "outside", "ticklen": 3}}
    return {**shape, **more}


def line(
    name: str, x: Values | str, y: Values, style: LineStyle, *, markers: bool = True, **meta: Any
) -> Trace:  # fmt: skip
    """A line; ``x`` may be the name of an array of the page. Markers are at a few points only."""
    trace: Trace = {
        "type": "scatter", "mode": "lines+markers" if markers else "lines", "name": plain(name), "x": x, "y": list(y),
        "line": {"color": style.variable, "dash": style.dash_lengths, "width": 2.2},
        "meta": {"role": "line", **meta},
    }  # fmt: skip
    if markers:
        trace["marker"] = {"symbol": style.symbol, "size": 8, "color": style.variable, "maxdisplayed": 7}
    return trace


def band(name: str, x: Values | str, low: Values, high: Values, style: LineStyle, **meta: Any) -> list[Trace]:
    """The area between two ends, without a place in the legend."""
    shared: Trace = {
        "type": "scatter", "mode": "lines", "x": x, "line": {"width": 0, "color": style.variable}, "showlegend": False,
        "hoverinfo": "skip", "name": plain(name),
    }  # fmt: skip
    ends = ({"y": list(low), "meta": {"role": BAND, "end": "low", **meta}},
            {"y": list(high), "fill": "tonexty", "fillcolor": f"{style.variable} 0.16",
             "meta": {"role": BAND, "end": "high", **meta}})  # fmt: skip
    return [{**shared, **end} for end in ends]


def reference(name: str, x: Values | str, y: Values, *, dash: str = "2px,4px", **meta: Any) -> Trace:
    """A thin line to compare with."""
    return {
        "type": "scatter", "mode": "lines", "name": name, "x": x, "y": list(y), "hoverinfo": "skip",
        "line": {"color": SOFT, "dash": dash, "width": 1.4}, "meta": {"role": "guide", **meta},
    }  # fmt: skip


def point(
    name: str, x: float | None, y: float | str, style: LineStyle, *, low: float | None = None,
    high: float | None = None, text: str = "", **meta: Any,
) -> Trace:  # fmt: skip
    """A dot with its interval along x, if it has one; ``text`` is what pointing at it says."""
    trace: Trace = {
        "type": "scatter", "mode": "markers", "name": plain(name), "x": [x], "y": [y], "showlegend": False,
        "marker": {"symbol": style.symbol, "size": 11, "color": style.variable},
        "hovertemplate": f"{plain(text or name)}<extra></extra>", "meta": {"role": "point", **meta},
    }  # fmt: skip
    if x is not None and low is not None and high is not None:
        trace["error_x"] = {
            "type": "data", "symmetric": False, "array": [high - x], "arrayminus": [x - low],
            "color": style.variable, "thickness": 1.8, "width": 5,
        }  # fmt: skip
    return trace


def bars(name: str, x: Sequence[Any], y: Sequence[Any], colour: str, *, horizontal: bool = False, **more: Any) -> Trace:
    """Bars; ``more`` is passed to Plotly."""
    return {
        "type": "bar", "name": plain(name), "x": list(x), "y": list(y), "orientation": "h" if horizontal else "v",
        "marker": {"color": colour, "line": {"color": INK, "width": 0.8}}, "meta": {"role": "bar"}, **more,
    }  # fmt: skip
