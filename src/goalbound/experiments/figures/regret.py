"""Regret and known steps over episodes, and the terms of the regret."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from goalbound.experiments.bootstrap import Estimate
from goalbound.experiments.figures.style import (
    INK,
    SMALL,
    SOFT,
    LineStyle,
    is_column,
    label_ends,
    new_figure,
    power_of_ten,
    title,
)
from goalbound.experiments.summary import Curve, Group
from goalbound.experiments.text import number

GUIDES = ((0.5, r"$\sqrt{K}$", (-3.0, 0.0), "right"), (2.0 / 3.0, r"$K^{2/3}$", (2.0, -5.0), "left"))
"""Exponents, names, and the offsets of the names."""
BANDS = "Bands: 95% bootstrap over seeds."
DECADES = 6
"""The most that a logarithmic axis shows, as on the page of the report: what is below is rounding, or says nothing."""


def regret_figure(groups: Sequence[Group], styles: dict[str, LineStyle]) -> Any:
    """Cumulative expected regret of all learners, on plain and on logarithmic axes."""
    zero = [group.learner for group in groups if not group.has_regret]
    note = f"No regret, so not on logarithmic axes: {', '.join(zero)}." if zero else ""
    guide = _guided(groups)
    note_on_guides = f"Dotted: growth over the last tenfold of episodes, ending with {guide.learner}." if guide else ""
    rows = 2 if is_column() else 1
    figure = new_figure(2.7 * rows, groups, "Regret", _bands(groups), note_on_guides, note)
    plain, powers = figure.subplots(rows, 2 // rows)
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
        curves = [group.regret_curve for group in shown]
        if axes is powers:
            curves = _without_tiny(curves)
        for group, curve in zip(shown, curves, strict=True):
            draw(axes, curve, styles[group.learner])
        _limits(axes, curves)
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
    tested = [group for group, _ in shown]
    since = "The share of the steps that played a known pair, among those since the mark before."
    figure = new_figure(2.9, tested, "Known steps", _bands(tested), since)
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
    """A line with its band; markers at even distances, so that lines differ without colour."""
    episode = np.array(curve.episode)
    if curve.low is not None and curve.high is not None:
        axes.fill_between(episode, curve.low, curve.high, color=style.colour, alpha=0.16, linewidth=0)
    axes.plot(
        episode, curve.mean, color=style.colour, linestyle=style.dash, marker=style.marker, markevery=0.14,
        markerfacecolor="white", markeredgewidth=0.9, clip_on=False, zorder=3,
    )  # fmt: skip


def _bands(groups: Sequence[Group]) -> str:
    return BANDS if any(len(group.seeds) > 1 for group in groups) else "One seed: no bands."


def _without_tiny(curves: Sequence[Curve]) -> list[Curve]:
    """The curves without the values that are more than ``DECADES`` below the largest one."""
    least = max((max(curve.mean) for curve in curves), default=0.0) / 10.0**DECADES
    return [replace(curve, mean=tuple(one if one > least else math.nan for one in curve.mean)) for curve in curves]


def _limits(axes: Any, curves: Sequence[Curve]) -> None:
    ends = [np.array(curve.high or curve.mean) for curve in curves]
    top = max((float(np.nanmax(end)) for end in ends), default=1.0) or 1.0
    last = max((curve.episode[-1] for curve in curves), default=1)
    if axes.get_xscale() == "linear":
        axes.set_xlim(0, last)
        axes.set_ylim(0, 1.05 * top)
        return
    least = min((value for curve in curves for value in curve.mean if value > 0.0), default=0.1)
    axes.set_xlim(1, max(last, 2))
    axes.set_ylim(0.5 * least, 1.5 * top)


def _guided(groups: Sequence[Group]) -> Group | None:
    """The first learner with regret, if the run has a decade of episodes."""
    return next((group for group in groups if group.has_regret and group.episodes >= 10), None)


def _guides(axes: Any, curve: Curve) -> None:
    """Powers of the number of episodes over the last decade, through the end of the curve."""
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


def terms_figure(groups: Sequence[Group], styles: dict[str, LineStyle]) -> Any:
    """The terms of the regret decomposition and their sum, a panel per audited learner; None without one."""
    shown = [group for group in groups if group.decomposition]
    if not shown:
        return None
    columns = 1 if is_column() else min(len(shown), 3)
    rows = -(-len(shown) // columns)
    bands = "Whiskers: 95% bootstrap over seeds." if any(len(group.seeds) > 1 for group in shown) else ""
    figure = new_figure(
        0.95 + 1.75 * rows, shown, "Where the regret comes from", bands, "Each panel has its own scale."
    )
    panels = figure.subplots(rows, columns, squeeze=False, sharey=True).flat
    for axes, group in zip(panels, shown, strict=False):
        _bars(axes, {**group.decomposition, "realised regret": group.regret}, styles[group.learner])
        title(axes, group.learner)
    for axes in list(panels)[len(shown) :]:
        axes.set_visible(False)
    return figure


def _bars(axes: Any, terms: dict[str, Estimate], style: LineStyle) -> None:
    from matplotlib.ticker import MaxNLocator

    known = {name: term for name, term in terms.items() if term.mean is not None}
    means = np.array([term.mean for term in known.values()], dtype=np.float64)
    places = -np.arange(len(known), dtype=np.float64)
    places[-1] -= 0.35
    total = np.arange(len(known)) == len(known) - 1
    axes.barh(places[~total], means[~total], height=0.62, color="white", edgecolor=style.colour, hatch="////")
    axes.barh(places[total], means[total], height=0.62, color=style.colour)
    axes.axvline(0.0, color=SOFT, linewidth=0.6)
    axes.axhline(places[-1] + 0.68, color=SOFT, linewidth=0.6)
    for place, term in zip(places, known.values(), strict=True):
        ends = [term.mean, term.low, term.high]
        if term.low is not None:
            axes.plot([term.low, term.high], [place, place], color=INK, linewidth=0.9, marker="|", markersize=5)
        right = max(0.0, *(end for end in ends if end is not None))
        axes.annotate(
            number(term.mean), (right, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=SMALL
        )
    axes.set_yticks(places, list(known))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.margins(x=0.16)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.set_xlabel("regret")
