"""Bars: the terms of the regret decomposition of audited learners."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from goalbound.experiments.bootstrap import Estimate
from goalbound.experiments.figures.curves import title
from goalbound.experiments.figures.style import INK, SMALL, SOFT, LineStyle, new_figure
from goalbound.experiments.summary import Group
from goalbound.experiments.text import number


def terms_figure(groups: Sequence[Group], styles: dict[str, LineStyle]) -> Any:
    """The terms of the regret decomposition and their sum, a panel per audited learner; None without one."""
    shown = [group for group in groups if group.decomposition]
    if not shown:
        return None
    columns = min(len(shown), 3)
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
    axes.xaxis.set_major_locator(_few_ticks())
    axes.set_xlabel("regret")


def _few_ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(4)
