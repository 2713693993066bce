"""Lines over episodes: regret, and how much is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from goalbound.experiments.figures.style import SMALL, SOFT, LineStyle, new_figure, power_of_ten, wrap_label
from goalbound.experiments.summary import Curve, Group

GUIDES = ((0.5, r"$\sqrt{K}$", (-3.0, 0.0), "right"), (2.0 / 3.0, r"$K^{2/3}$", (2.0, -5.0), "left"))
"""Exponents, names, and the offsets of the names."""
BANDS = "Bands: 95% bootstrap over seeds."


class EndLabel(NamedTuple):
    """A label at the right end of a line; ``x`` and ``y`` in parts of the axes."""

    text: str
    x: float
    y: float
    colour: str


def regret_figure(groups: Sequence[Group], styles: dict[str, LineStyle]) -> Any:
    """Cumulative expected regret of all learners, on plain and on logarithmic axes."""
    zero = [group.learner for group in groups if not group.has_regret]
    note = f"No regret, so not on logarithmic axes: {', '.join(zero)}." if zero else ""
    guide = _guided(groups)
    note_on_guides = f"Dotted: growth over the last tenfold of episodes, ending with {guide.learner}." if guide else ""
    figure = new_figure(3.3, groups, "Regret", _bands(groups), note_on_guides, note)
    plain, powers = figure.subplots(1, 2)
    for axes in (plain, powers):
        axes.set_xlabel("episodes")
        axes.set_ylabel("cumulative expected regret")
    powers.set_xscale("log")
    powers.set_yscale("log")
    for axis in (powers.xaxis, powers.yaxis):
        axis.set_major_formatter(power_of_ten)
        axis.set_minor_formatter(lambda value, _: "")
    for axes in (plain, powers):
        shown = [group for group in groups if axes is plain or group.learner not in zero]
        for group in shown:
            draw(axes, group.regret_curve, styles[group.learner])
        _limits(axes, [group.regret_curve for group in shown])
        ends = [(group.learner, group.regret_curve.mean[-1], styles[group.learner].colour) for group in shown]
        if guide:
            _guides(axes, guide.regret_curve)
        label_ends(axes, groups[0].episodes, ends, tall=2.1)
    return figure


def known_figure(groups: Sequence[Group], styles: dict[str, LineStyle]) -> Any:
    """The share of the steps that played a known pair; None if no learner has a known test."""
    shown = [(group, group.known_curve) for group in groups if group.known_curve is not None]
    if not shown:
        return None
    note_on_guides = [group for group, _ in shown]
    since = "The share of the steps that played a known pair, among those since the mark before."
    figure = new_figure(2.9, note_on_guides, "Known steps", _bands(note_on_guides), since)
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(power_of_ten)
    axes.xaxis.set_minor_formatter(lambda value, _: "")
    axes.set_xlabel("episodes")
    axes.set_ylabel("known steps")
    for group, curve in shown:
        draw(axes, curve, styles[group.learner])
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlim(1, max(shown[0][1].episode[-1], 2))
    axes.yaxis.set_major_formatter(lambda value, _: f"{100.0 * value:.0f}%")
    ends = [(group.learner, curve.mean[-1], styles[group.learner].colour) for group, curve in shown]
    label_ends(axes, groups[0].episodes, ends, tall=1.9)
    return figure


def draw(axes: Any, curve: Curve, style: LineStyle) -> None:
    """A line with its band; markers at even distances, so that lines are told apart without colour."""
    episode = np.array(curve.episode)
    if curve.low is not None and curve.high is not None:
        axes.fill_between(episode, curve.low, curve.high, color=style.colour, alpha=0.16, linewidth=0)
    axes.plot(
        episode, curve.mean, color=style.colour, linestyle=style.dash, marker=style.marker, markevery=0.14,
        markerfacecolor="white", markeredgewidth=0.9, clip_on=False, zorder=3,
    )  # fmt: skip


def label_ends(axes: Any, x: float, ends: Sequence[tuple[str, float, str]], *, tall: float) -> None:
    """Name each line where it ends, at the right of the axes (about ``tall`` inches high), without overlaps."""
    place = axes.transScale + axes.transLimits
    found = []
    for text, y, colour in ends:
        right, up = place.transform((x, y))
        found.append(EndLabel(wrap_label(text), float(right), float(up), colour))
    found.sort(key=lambda end: end.y)
    line = 1.3 * SMALL / 72.0 / tall
    heights = [line * (1 + end.text.count("\n")) for end in found]
    for end, y in zip(found, spread_labels([end.y for end in found], heights), strict=True):
        axes.plot(
            [end.x + 0.006, 1.035], [end.y, y], transform=axes.transAxes, color=SOFT, linewidth=0.5, clip_on=False
        )
        axes.text(1.045, y, end.text, transform=axes.transAxes, color=end.colour, fontsize=SMALL, va="center")


def spread_labels(wanted: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Places near the wanted ones (rising), so that neighbours of these heights do not overlap.

    Neighbours that would overlap are stacked around the middle of what they want (as in isotonic regression).

    >>> [round(one, 2) for one in spread_labels([0.5, 0.5, 0.9], [0.1, 0.1, 0.1])]
    [0.45, 0.55, 0.9]
    """
    offsets = [sum(heights[:at]) + heights[at] / 2.0 for at in range(len(heights))]
    blocks: list[list[float]] = []  # of wanted places less their offsets; one mean per block, rising
    for place, offset in zip(wanted, offsets, strict=True):
        blocks.append([place - offset])
        while len(blocks) > 1 and np.mean(blocks[-2]) > np.mean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    level = [float(np.mean(block)) for block in blocks for _ in block]
    return [base + offset for base, offset in zip(level, offsets, strict=True)]


def _bands(groups: Sequence[Group]) -> str:
    return BANDS if any(len(group.seeds) > 1 for group in groups) else "One seed: no bands."


def _limits(axes: Any, curves: Sequence[Curve]) -> None:
    ends = [np.array(curve.high or curve.mean) for curve in curves]
    top = max((float(end.max()) for end in ends), default=1.0) or 1.0
    last = max((curve.episode[-1] for curve in curves), default=1)
    if axes.get_xscale() == "linear":
        axes.set_xlim(0, last)
        axes.set_ylim(0, 1.05 * top)
        return
    least = min((value for curve in curves for value in curve.mean if value > 0.0), default=0.1)
    axes.set_xlim(1, max(last, 2))
    axes.set_ylim(0.5 * least, 1.5 * top)


def _guided(groups: Sequence[Group]) -> Group | None:
    """The first learner that has regret, if there is a decade to guide."""
    return next((group for group in groups if group.has_regret and group.episodes >= 10), None)


def _guides(axes: Any, curve: Curve) -> None:
    """Powers of the number of episodes over the last decade, which end where the curve ends."""
    last = float(curve.episode[-1])
    episode = np.geomspace(last / 10.0, last, 50)
    for exponent, name, (right, up), aligned in GUIDES:
        values = curve.mean[-1] * (episode / last) ** exponent
        axes.plot(episode, values, color=SOFT, linewidth=0.8, linestyle=(0, (1, 1.5)), zorder=4)
        axes.annotate(
            name, (episode[0], values[0]), xytext=(right, up), textcoords="offset points", fontsize=SMALL, color=SOFT,
            ha=aligned, va="center", zorder=5,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85},
        )  # fmt: skip


def title(axes: Any, text: str, *, pad: float = 4.0) -> None:
    """A name above axes, at the left."""
    axes.set_title(wrap_label(text, 34), loc="left", pad=pad)
