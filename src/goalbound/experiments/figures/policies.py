"""The optimal policy by context, and where the learned policy differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.experiments.figures.simplex import (
    ARROW,
    add_colorbar,
    lattice_cell,
    panel_grid,
    shaded_polygons,
    to_plane,
    triangle,
)
from goalbound.experiments.figures.style import (
    INK,
    SMALL,
    SOFT,
    LineStyle,
    component_names,
    label_ends,
    new_figure,
    power_of_ten,
    title,
)
from goalbound.experiments.records import RunRecord
from goalbound.experiments.report.map_charts import policy_names
from goalbound.experiments.report.simplex_maps import best_policies
from goalbound.experiments.report.tables import policy_changes
from goalbound.experiments.summary import Group

LIGHT = ("#ffffff", "#dfe9f2", "#f6e3d3", "#dcefe6", "#f3e0ec", "#f2ecd0", "#e4e4e4")
NOT_PROPER = "Crosses: the learned policy of a seed need not reach the goal."


class Best(NamedTuple):
    """The grid of contexts, the number of the best policy at each (1 for the P1 of the report), and a note on them."""

    contexts: NDArray[np.float64]
    optimal: NDArray[np.int64]
    note: str

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> Best:
        """Of a record that has policies."""
        best = best_policies(metadata)
        place = {policy: at for at, policy in enumerate(policy_names(best["best"]), start=1)}
        note = " ".join(
            ["Numbers: the best policies, P1 and so on in the report.", *policy_changes({"policies": best})]
        )
        return cls(np.array(best["contexts"]), np.array([place[one] for one in best["best"]]), note)


class Learned(NamedTuple):
    """Over the grid of contexts: the mean over seeds of the gap (NaN if some seed has none) and of the difference."""

    group: Group
    gap: NDArray[np.float64]
    differs: NDArray[np.float64]


def policies_figure(found: Sequence[tuple[Group, Sequence[RunRecord]]], styles: dict[str, LineStyle]) -> Any:
    """A strip for two components, triangles for three; None for others, or if no record has policies."""
    with_policies = [(group, [record for record in records if record.metadata["policies"]]) for group, records in found]
    with_policies = [(group, records) for group, records in with_policies if records]
    if not with_policies or with_policies[0][0].context_size not in (2, 3):
        return None
    metadata = with_policies[0][1][0].metadata
    learned = [_learned(group, records) for group, records in with_policies]
    best = Best.of(metadata)
    names = component_names(metadata["problem"])
    if with_policies[0][0].context_size == 2:
        return _strip(best, learned, styles, names)
    return _triangles(best, learned, names)


def _learned(group: Group, records: Sequence[RunRecord]) -> Learned:
    policies = [record.metadata["policies"] for record in records]
    gap = np.array([one["learned_gap"] for one in policies], dtype=np.float64)
    differs = np.array([one["differs"] for one in policies], dtype=np.float64)
    return Learned(group, gap.mean(axis=0), differs.mean(axis=0))


def _note(learned: Sequence[Learned]) -> str:
    return NOT_PROPER if any(np.isnan(one.gap).any() for one in learned) else ""


def _strip(best: Best, learned: Sequence[Learned], styles: dict[str, LineStyle], names: Sequence[str]) -> Any:
    order = np.argsort(best.contexts[:, 0], kind="stable")
    weight = best.contexts[order, 0]
    ordered = [Learned(one.group, one.gap[order], one.differs[order]) for one in learned]
    gaps = np.concatenate([one.gap for one in learned])
    most = float(gaps[np.isfinite(gaps)].max(initial=0.0)) or 1.0
    linear = 10.0 ** np.floor(np.log10(most / 50.0))
    note = f"Losses below {linear:g} are on a linear scale."
    figure = new_figure(4.6, [one.group for one in learned], "Policies by context", best.note, note, _note(learned))
    top, middle, lower = figure.subplots(3, 1, sharex=True, height_ratios=[0.35, 2.2, 1.4])
    _regions(top, weight, best.optimal[order])
    lower.set_xlim(0, 1)
    lower.set_xlabel(f"weight of {names[0]} (the rest is {names[1]})")
    lower.set_title("states where the learned action is not optimal", loc="left")
    lower.set_ylim(0, 1)
    lower.yaxis.set_major_formatter(lambda value, _: f"{100.0 * value:.0f}%")
    for one in ordered:
        _drawn(lower, weight, one.differs, styles[one.group.learner])
    middle.set_yscale("symlog", linthresh=linear)
    middle.set_ylim(0, 2.0 * most)
    middle.yaxis.set_major_formatter(power_of_ten)
    _gaps(middle, weight, ordered, styles)
    return figure


def _gaps(axes: Any, weight: NDArray[np.float64], learned: Sequence[Learned], styles: dict[str, LineStyle]) -> None:
    """The excess loss of the learned policies; crosses where the policy is not proper."""
    axes.set_title("loss of the learned policy above that of the best", loc="left")
    ends = []
    for one in learned:
        style, lost = styles[one.group.learner], np.isnan(one.gap)
        _drawn(axes, weight, one.gap, style)
        if lost.any():
            axes.plot(
                weight[lost], np.full(lost.sum(), 0.85 * axes.get_ylim()[1]), "x", color=style.colour, clip_on=False
            )
        if not lost.all():
            ends.append((one.group.learner, float(one.gap[~lost][-1]), style.colour))
    label_ends(axes, 1.0, ends, tall=1.6)


def _drawn(axes: Any, weight: NDArray[np.float64], values: NDArray[np.float64], style: LineStyle) -> None:
    if np.isfinite(values).any():  # a line without points breaks the layout
        axes.plot(weight, values, color=style.colour, linestyle=style.dash, marker=style.marker, markevery=4,
                  markerfacecolor="white", clip_on=False)  # fmt: skip


def _regions(axes: Any, weight: NDArray[np.float64], optimal: NDArray[np.int64]) -> None:
    """A strip cut where the best policy changes, half-way between the contexts of the grid."""
    changes = np.flatnonzero(np.diff(optimal)) + 1
    bounds = np.concatenate([[0.0], (weight[changes - 1] + weight[changes]) / 2.0, [1.0]])
    for place, start in enumerate(np.concatenate([[0], changes])):
        low, high = bounds[place], bounds[place + 1]
        axes.axvspan(low, high, facecolor=LIGHT[(optimal[start] - 1) % len(LIGHT)], edgecolor=SOFT, linewidth=0.5)
        if high - low > 0.02:
            axes.text((low + high) / 2, 0.5, str(optimal[start]), ha="center", va="center", fontsize=SMALL)
    axes.set_ylim(0, 1)
    axes.set_title("best policy", loc="left")
    axes.set_yticks([])
    axes.tick_params(axis="both", length=0, labelbottom=False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _triangles(best: Best, learned: Sequence[Learned], names: Sequence[str]) -> Any:
    contexts, optimal = best.contexts, best.optimal
    rows, columns, height = panel_grid(1 + len(learned))
    dots = "Dots grow with the share of states where the actions differ."
    figure = new_figure(
        height, [one.group for one in learned], "Policies by context", best.note, dots,
        ARROW, _note(learned),
    )  # fmt: skip
    panels = figure.subplots(rows, columns, squeeze=False).flat
    points = to_plane(contexts)
    spacing = float(contexts[contexts > 1e-9].min())
    corners = [to_plane(lattice_cell(context, spacing)) for context in contexts]
    first, *others = list(panels)
    for corner, point, policy in zip(corners, points, optimal, strict=True):
        first.fill(*corner.T, facecolor=LIGHT[(policy - 1) % len(LIGHT)], edgecolor="white", linewidth=0.4)
        first.text(*point, str(policy), ha="center", va="center", fontsize=5)
    title(first, "best policy", pad=12.0)
    triangle(first, names)
    for axes, one in zip(others, learned, strict=False):
        shades = shaded_polygons(axes, corners, one.gap, np.ones(len(corners)))
        axes.scatter(
            *points.T, s=14.0 * np.nan_to_num(one.differs), color="white", edgecolor=INK, linewidth=0.4, zorder=3
        )
        lost = np.isnan(one.gap)
        axes.scatter(*points[lost].T, s=14.0, marker="x", color=INK, linewidth=0.8, zorder=4)
        triangle(axes, names)
        title(axes, one.group.learner, pad=12.0)
        add_colorbar(figure, shades, axes, "loss above optimal")
    for axes in others[len(learned) :]:
        axes.set_visible(False)
    return figure
