"""Maps of regret over the simplex of contexts, and the geometry of the triangle for three components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.experiments.figures.style import (
    PALE,
    SHADES,
    SMALL,
    SOFT,
    LineStyle,
    component_names,
    is_column,
    label_ends,
    new_figure,
    title,
)
from goalbound.experiments.records import RunRecord
from goalbound.experiments.report.simplex_maps import fold_edges
from goalbound.experiments.summary import Group

PER_EPISODE = "expected regret per episode"
ARROW = "An arrow at a scale: 1% lies above it."
Floats = NDArray[np.float64]
CORNERS = np.array([[0.5, np.sqrt(0.75)], [0.0, 0.0], [1.0, 0.0]])
"""Positions of the three components, as in the report: top, lower left, lower right."""


class RegretMap(NamedTuple):
    """A group and the sums of its runs by cell: ``met`` contexts and their ``regret``, [pairs, bins, bins]."""

    group: Group
    met: NDArray[np.float64]
    regret: NDArray[np.float64]
    metadata: dict[str, Any]

    @property
    def per_episode(self) -> NDArray[np.float64]:
        """[pairs, bins, bins] NaN where there was no context."""
        return _ratio(self.regret, self.met)


def simplex_figures(found: Sequence[tuple[Group, Sequence[RunRecord]]], styles: dict[str, LineStyle]) -> dict[str, Any]:
    """By name: a line for two components, triangles for three, above that a grid of all pairs for each learner."""
    shown = [_summed(group, records) for group, records in found]
    size = shown[0].group.context_size
    shown = [one for one in shown if one.group.has_regret]
    if size < 2 or not shown:
        return {}
    if size == 2:
        return {"simplex": _line(shown, styles)}
    if size == 3:
        return {"simplex": _triangles(shown)}
    return {f"simplex-{one.group.learner}": _pairs(one) for one in shown}


def _summed(group: Group, records: Sequence[RunRecord]) -> RegretMap:
    maps = [record.metadata["simplex"] for record in records]
    bins = int(maps[0]["bins"])
    met, regret = (
        np.array([one[name] for one in maps], dtype=np.float64).sum(axis=0).reshape(-1, bins, bins)
        for name in ("count", "expected_regret")
    )
    return RegretMap(group, met, regret, records[0].metadata)


def _line(shown: Sequence[RegretMap], styles: dict[str, LineStyle]) -> Any:
    figure = new_figure(3.6, [one.group for one in shown], "Regret by context", "By twelfths of the weight.")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    bins = shown[0].met.shape[1]
    middle = (np.arange(bins) + 0.5) / bins
    same = all(np.array_equal(one.met, shown[0].met) for one in shown)
    ends, top = [], 0.0
    for one in shown:
        style = styles[one.group.learner]
        count, regret = one.met[0].sum(axis=1), one.regret[0].sum(axis=1)
        each = _ratio(regret, count)
        upper.plot(middle, each, color=style.colour, linestyle=style.dash, marker=style.marker, markerfacecolor="white")
        if not same or one is shown[0]:
            lower.stairs(count / count.sum(), np.linspace(0.0, 1.0, bins + 1), fill=same,
                         color=PALE if same else style.colour, linestyle="-" if same else style.dash)  # fmt: skip
        ends.append((one.group.learner, float(each[np.isfinite(each)][-1]), style.colour))
        top = max(top, float(np.nanmax(each)))
    upper.set_ylim(0, 1.08 * top)
    title(upper, PER_EPISODE)
    lower.set_ylim(bottom=0)
    title(lower, "share of the episodes")
    lower.set_xlim(0, 1)
    names = component_names(shown[0].metadata["problem"])
    lower.set_xlabel(f"weight of {names[0]} (the rest is {names[1]})")
    label_ends(upper, float(middle[-1]), ends, tall=1.6)
    return figure


def _triangles(shown: Sequence[RegretMap]) -> Any:
    rows, columns, height = panel_grid(len(shown))
    scales = "Each panel has its own scale." if len(shown) > 1 else ""
    unseen = "Hatched: no such context was met."
    figure = new_figure(height, [one.group for one in shown], "Regret by context", scales, unseen, ARROW)
    panels = figure.subplots(rows, columns, squeeze=False)
    for axes, one in zip(panels.flat, shown, strict=False):
        bins = one.met.shape[1]
        table = _ratio(fold_edges(one.regret[0]), fold_edges(one.met[0]))
        cells = [(row, column) for row in range(bins) for column in range(bins - row)]
        corners = [to_plane(cell(row, column, bins)) for row, column in cells]
        met = np.array([fold_edges(one.met[0])[at] for at in cells])
        shades = shaded_polygons(axes, corners, np.array([table[at] for at in cells]), met)
        triangle(axes, component_names(one.metadata["problem"]))
        title(axes, one.group.learner, pad=12.0)
        add_colorbar(figure, shades, axes, PER_EPISODE)
    for axes in panels.flat[len(shown) :]:
        axes.set_visible(False)
    return figure


def _pairs(one: RegretMap) -> Any:
    """A grid with the i-th component to the right and the j-th upwards, for all pairs that were kept."""
    pairs = [tuple(pair) for pair in one.metadata["simplex"]["pairs"]]
    names = component_names(one.metadata["problem"])
    size = max(max(pair) for pair in pairs)
    note = f"The first {len(pairs)} pairs." if size + 1 < one.group.context_size else ""
    grey = "Grey: no such context was met."
    title_ = f"Regret by context, {one.group.learner}"
    figure = new_figure(0.9 + min(6.3 / size, 2.0) * size, [one.group], title_, grey, ARROW, note)
    grid = figure.add_gridspec(size, size)
    top = robust_maximum(one.per_episode, one.met)
    edges = np.linspace(0.0, 1.0, one.met.shape[1] + 1)
    shades = None
    for (i, j), table in zip(pairs, one.per_episode, strict=True):
        axes = figure.add_subplot(grid[j - 1, i])
        axes.set_facecolor(PALE)
        axes.set_aspect("equal")
        shades = axes.pcolormesh(edges, edges, np.ma.masked_invalid(table.T), cmap=SHADES, vmin=0.0, vmax=top)
        axes.set_xticks([0, 1])
        axes.set_yticks([0, 1])
        axes.tick_params(labelbottom=j == size, labelleft=i == 0)
        if j == size:
            axes.set_xlabel(names[i], fontsize=SMALL)
        if i == 0:
            axes.set_ylabel(names[j], fontsize=SMALL)
    add_colorbar(figure, shades, figure.axes, PER_EPISODE, location="right", shrink=0.6)
    return figure


def panel_grid(count: int) -> tuple[int, int, float]:
    """Rows, columns and the height of a figure with ``count`` triangles."""
    if is_column():
        columns = min(count, 2)
        rows = -(-count // columns)
        return rows, columns, 0.3 + (2.1 if columns == 2 else 2.8) * rows
    columns = count if count < 4 else 2 if count == 4 else 3
    rows = -(-count // columns)
    return rows, columns, 0.75 + (2.2 if columns == 3 else 2.6) * rows


def triangle(axes: Any, names: Sequence[str]) -> None:
    """The edges of the triangle and the names of its corners."""
    axes.plot(*np.vstack([CORNERS, CORNERS[:1]]).T, color=SOFT, linewidth=0.8, clip_on=False)
    for (x, y), name, side in zip(CORNERS, names, ("bottom", "top", "top"), strict=True):
        axes.text(x, y + (0.03 if side == "bottom" else -0.03), name, ha="center", va=side, fontsize=SMALL)
    axes.set_aspect("equal")
    axes.set_axis_off()


def shaded_polygons(
    axes: Any, corners: Sequence[NDArray[np.float64]], values: NDArray[np.float64], weights: NDArray[np.float64]
) -> Any:
    """Polygons coloured by value from 0 to :func:`robust_maximum`; those without a value are hatched."""
    from matplotlib.collections import PolyCollection

    known = np.isfinite(values)
    gone = [corner for corner, there in zip(corners, known, strict=True) if not there]
    axes.add_collection(PolyCollection(gone, facecolor="white", edgecolor=PALE, hatch="//////", linewidth=0))
    there = [corner for corner, there in zip(corners, known, strict=True) if there]
    shades = PolyCollection(there, array=values[known], cmap=SHADES, edgecolor="face", linewidth=0.3)
    shades.set_clim(0.0, robust_maximum(values, weights))
    axes.add_collection(shades)
    return shades


def robust_maximum(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """The weighted 99% quantile, so that one rare context does not dominate the colour scale; not 0."""
    known = np.isfinite(values) & (weights > 0.0)
    if not known.any():
        return 1.0
    return float(np.quantile(values[known], 0.99, weights=weights[known], method="inverted_cdf")) or 1.0


def add_colorbar(
    figure: Any, shades: Any, axes: Any, label: str, *, location: str = "bottom", shrink: float = 0.75
) -> None:
    """The scale of the shades."""
    above = "max" if np.ma.max(shades.get_array()) > shades.get_clim()[1] else "neither"
    scale = figure.colorbar(shades, ax=axes, location=location, shrink=shrink, aspect=24, pad=0.02, extend=above)
    scale.set_label(label, fontsize=SMALL)
    scale.ax.tick_params(labelsize=SMALL)
    scale.outline.set_linewidth(0.4)


def _ratio(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    """NaN where the whole is 0."""
    return np.divide(part, whole, out=np.full(whole.shape, np.nan), where=whole > 0.0)


def to_plane(contexts: Any) -> Floats:
    """Contexts [..., 3] as points [..., 2] of the triangle."""
    return np.asarray(contexts, dtype=np.float64) @ CORNERS


def cell(row: int, column: int, bins: int) -> Floats:
    """The corners [n, 3] of the contexts whose first component is in part ``row``, the second in ``column``.

    Four corners, or three where the third component ends at 0. ``row + column < bins``.
    """
    square = [(row, column), (row + 1, column), (row + 1, column + 1), (row, column + 1)]
    return np.array([(i, j, bins - i - j) for i, j in square if i + j <= bins]) / bins


def lattice_cell(context: Sequence[float], spacing: float) -> Floats:
    """The corners [n, 3] of the part of the triangle that is nearest to a point of a lattice: a hexagon, cut off."""
    turns = [(2, -1, -1), (1, 1, -2), (-1, 2, -1), (-2, 1, 1), (-1, -1, 2), (1, -2, 1)]
    corners = np.asarray(context, dtype=np.float64) + spacing / 3.0 * np.array(turns)
    for component in range(3):
        corners = _cut(corners, component)
    return corners


def _cut(corners: Floats, component: int) -> Floats:
    """The part of a convex polygon where a component is non-negative."""
    kept = []
    for one, two in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        a, b = one[component], two[component]
        if a >= 0.0:
            kept.append(one)
        if (a > 0.0 > b) or (a < 0.0 < b):
            kept.append(one + a / (a - b) * (two - one))
    return np.array(kept)
