"""The figures: PNG and SVG, readable without colour, with the setting printed under each."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from guarantees.result import Result

STYLE = {
    "font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.3,
    "axes.titlesize": 10, "axes.titleweight": "bold", "legend.frameon": False, "legend.fontsize": 8,
    "svg.hashsalt": "goalbound",
}  # fmt: skip
MAX_SHOWN = 1.3
"""The largest exponent in the figure."""
INK, SOFT, BLUE, ORANGE, TEAL = "#1f2733", "#7a8496", "#1d5fae", "#c2410c", "#0c857b"


def draw(result: Result, folder: Path) -> None:
    """Write the figure of a part, if it has one, as ``<part>.png`` and ``<part>.svg``."""
    maker = FIGURES.get(result.part)
    if maker is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(STYLE):
        figure = maker(result)
        width = figure.get_figwidth()
        note = "\n".join(textwrap.wrap(result.setting, int(width * 18)))
        figure.text(0.012, 0.012, note, fontsize=7.5, color=SOFT, va="bottom")
        lines = note.count("\n") + 1
        figure.tight_layout(rect=(0.02, (0.13 * lines + 0.1) / figure.get_figheight(), 1.0, 1.0))
        figure.savefig(folder / f"{result.part}.png", dpi=150)
        figure.savefig(folder / f"{result.part}.svg", metadata={"Date": None})


def _regret(result: Result) -> Figure:
    """A panel for each problem with regret and bounds, and one with the exponents."""
    curves = result.curves
    shown = [name for name in curves if name in ("random 0", "easy")]
    figure = Figure(figsize=(11.0, 4.3))
    axes = figure.subplots(1, len(shown) + 1)
    for axis, name in zip(axes, shown, strict=False):
        _bounded(axis, name, curves[name])
    _exponents(axes[-1], curves)
    return figure


def _bounded(axis: Any, name: str, curve: dict[str, Any]) -> None:
    k = np.array(curve["episodes"])
    for key, label, style in (
        ("lemma", "bound: lemma", {"color": SOFT, "ls": ":"}),
        ("measured", "bound: measured widths", {"color": SOFT, "ls": "--"}),
        ("own", "bound: the learner's own", {"color": INK, "ls": "-."}),
        ("optimal", "optimal loss of all episodes", {"color": TEAL, "ls": "-", "lw": 1.0}),
        ("expected", "expected regret", {"color": BLUE, "ls": "-", "lw": 2.4}),
    ):
        axis.plot(k, curve[key], label=label, **style)
    realised = np.array(curve["realised"])
    good = realised > 0
    axis.plot(k[good], realised[good], "o", ms=3, mfc="white", color=BLUE, label="realised regret")
    late = k >= k[-1] / 100
    guide = curve["expected"][-1] * np.sqrt(k[late] / k[-1]) / 2.2
    axis.plot(k[late], guide, color=ORANGE, lw=1.2, ls=(0, (6, 2)), label="slope 1/2")
    axis.set(xscale="log", yscale="log", xlabel="episodes", title=f"{name}: regret and its bounds")
    axis.set_ylim(bottom=max(1.0, min(curve["expected"]) / 3))
    axis.legend(loc="upper left", labelspacing=0.25)


def _exponents(axis: Any, curves: dict[str, Any]) -> None:
    """Lines with marks of their own; what is far off, while regret is still next to nothing, is left out."""
    marks = [("-", "o"), ("--", "s"), ("-.", "^"), (":", "D"), ((0, (5, 1, 1, 1, 1, 1)), "v")] * 3
    for (name, curve), (style, marker) in zip(curves.items(), marks, strict=False):
        late = [
            (k, x if x <= MAX_SHOWN else np.nan)
            for k, x in zip(curve["episodes"], curve["exponent"], strict=True)
            if x is not None
        ]
        axis.plot(*zip(*late, strict=True), ls=style, marker=marker, ms=4, lw=1.2, label=name, color=INK, mfc="white")
    axis.axhline(0.5, color=ORANGE, lw=1.2)
    axis.text(
        0.01, 0.49, "the theorem's rate", color=ORANGE, fontsize=8, va="top", transform=axis.get_yaxis_transform()
    )
    axis.set(xscale="log", xlabel="episodes", title="growth exponent over the last decade", ylim=(0.0, MAX_SHOWN))
    axis.legend(loc="lower left")


def _coverage(result: Result) -> Figure:
    figure = Figure(figsize=(8.0, 0.34 * len(result.rows) + 1.6))
    axis = figure.subplots()
    for place, (contexts, widths, proven, covered, runs, _, lowest, _) in enumerate(result.rows):
        y = len(result.rows) - place
        axis.plot([lowest, covered / runs], [y, y], color=INK, lw=1.4)
        axis.plot(covered / runs, y, "o" if contexts == "Dirichlet" else "s", color=INK, ms=6,
                  mfc=INK if proven else "white")  # fmt: skip
        axis.text(1.03, y, f"{covered} / {runs}", va="center", fontsize=8)
        axis.text(-0.02, y, f"{widths}, {contexts}", va="center", ha="right", fontsize=8.5)
    axis.axvline(0.9, color=ORANGE, lw=1.2)
    axis.text(0.895, len(result.rows) + 0.75, "promised", color=ORANGE, ha="right", fontsize=8)
    axis.set(xlim=(-0.01, 1.02), ylim=(0.3, len(result.rows) + 1.1), yticks=[],
             xlabel="share of runs in which the truth never left the sets (line: down to the exact 99% limit; "
                    "filled: proven widths)")  # fmt: skip
    axis.set_title("coverage", loc="left")
    axis.spines["left"].set_visible(False)
    figure.subplots_adjust(left=0.25)
    return figure


def _endings(result: Result) -> Figure:
    figure = Figure(figsize=(8.0, 0.23 * len(result.rows) + 1.5))
    axis = figure.subplots()
    marks = {"one-hot": "o", "mixed": "s", "adversary": "^"}
    names = []
    for place, row in enumerate(result.rows):
        family, support, contexts, _, _, _, longest, last, optimal = row
        y = len(result.rows) - place
        axis.plot([last, longest], [y, y], color=SOFT, lw=0.8)
        axis.plot(longest, y, marks[contexts], color=INK, ms=5)
        axis.plot(last, y, marks[contexts], color=INK, ms=5, mfc="white")
        axis.plot(optimal, y, "|", color=ORANGE, ms=8, mew=1.6)
        names.append(f"{family}, {support} support, {contexts}")
    axis.axvline(1e6, color=ORANGE, lw=1.2, ls="--")
    axis.text(0.9e6, len(result.rows) + 0.9, "would be abandoned", color=ORANGE, ha="right", fontsize=8)
    axis.set_yticks(range(len(result.rows), 0, -1), names, fontsize=7.5)
    axis.set(xscale="log", ylim=(0.3, len(result.rows) + 1.6),
             xlabel="steps of an episode (filled: longest; open: mean of the last tenth; bar: T*)")  # fmt: skip
    axis.set_title("every episode ends", loc="left")
    return figure


def _environments(result: Result) -> Figure:
    figure = Figure(figsize=(3.7 * len(result.curves), 3.4))
    axes = np.atleast_1d(figure.subplots(1, len(result.curves)))
    for axis, (name, curve) in zip(axes, result.curves.items(), strict=True):
        axis.plot(curve["episodes"], curve["realised"], color=INK, label="realised regret")
        axis.plot(curve["episodes"], curve["expected"], color=BLUE, ls="--", label="expected regret")
        axis.set(xlabel="episodes", title=name, ylim=(0, None))
        if len(curve["episodes"]) < 10:
            axis.set_xticks(curve["episodes"])
        axis.legend(loc="lower right")
    return figure


def _sharp(result: Result) -> Figure:
    """The regret of each rule over that of the paper's widths, a mark for each problem."""
    rows = [row for row in result.rows if row[1]]
    figure = Figure(figsize=(8.0, 0.3 * len(rows) + 1.8))
    axis = figure.subplots()
    for place, row in enumerate(rows):
        y = len(rows) - place
        axis.axhline(y, color=SOFT, lw=0.4)
        for at, marker in zip(range(6, len(row), 2), "os^", strict=False):
            axis.plot(row[at], y, marker, color=INK, ms=6, mfc="white" if marker == "s" else INK)
    names = result.curves["races"]
    for name, marker in zip(names, "os^", strict=False):
        axis.plot([], [], marker, color=INK, ms=6, mfc="white" if marker == "s" else INK, label=name)
    axis.set_yticks(range(len(rows), 0, -1), [row[0] for row in rows], fontsize=8.5)
    axis.set(xscale="log", ylim=(0.3, len(rows) + 0.7), xlabel="expected regret over that with the paper's widths")
    axis.set_title("what each piece of the sharp widths brings", loc="left")
    axis.legend(loc="lower left")
    return figure


def _in_use(result: Result) -> Figure:
    """The excess of each learner and way, a mark for each run; and the bounds of the runbook beside the truth."""
    figure = Figure(figsize=(11.0, 4.0))
    left, right = figure.subplots(1, 2)
    shown = result.curves["excess"]
    for place, shares in enumerate(shown.values()):
        left.plot(shares, [len(shown) - place] * len(shares), "o", color=INK, ms=5, mfc="white")
    left.axvline(0.05, color=ORANGE, lw=1.2)
    left.set_yticks(range(len(shown), 0, -1), list(shown), fontsize=8)
    left.set(xlim=(0.0, None), ylim=(0.3, len(shown) + 0.7), xlabel="excess over the clairvoyant's loss (line: 5%)")
    left.set_title("new cases", loc="left")
    bounds = result.curves["bounds"]
    top = 3.0 * max(one for name in bounds for one in bounds[name]["upper"] if np.isfinite(one))
    for at, (name, colour) in enumerate((("runbook", INK), ("safest", BLUE))):
        curve = bounds[name]
        where, upper = np.arange(len(curve["truth"])) + 0.3 * at, np.array(curve["upper"])
        shown_to = np.minimum(upper, top)
        right.vlines(where, curve["lower"], shown_to, color=colour, lw=1.2, alpha=0.7, label=f"{name}: bounds")
        right.plot(where[np.isinf(upper)], shown_to[np.isinf(upper)], "^", color=colour, ms=5)
        right.plot(where, curve["truth"], "os"[at], color=colour, ms=4, mfc="white", label=f"{name}: truth")
    right.set(yscale="log", xlabel="contexts, by the runbook's loss (arrow: no upper bound)",
              ylabel="minutes until recovered", xticks=[], ylim=(4.0, 60.0 * top))  # fmt: skip
    right.set_title("bounds after the log", loc="left")
    right.legend(loc="upper center", ncols=2)
    return figure


def _likelihood(result: Result) -> Figure:
    """The failure rate of each rule in each case, with its exact limit, beside the delta that is allowed."""
    rules, runs = result.curves["delta"], result.curves["runs"]
    figure = Figure(figsize=(8.0, 0.2 * len(rules) * len(result.rows) + 1.8))
    axis = figure.subplots()
    for at, (rule, marker, fill) in enumerate(zip(rules, "oos", (INK, "white", TEAL), strict=True)):
        for place, row in enumerate(result.rows):
            failed, limit = row[2 + 2 * at : 4 + 2 * at]
            y = len(result.rows) - place - 0.22 * (at - 1)
            axis.plot([failed / runs, limit], [y, y], color=INK, lw=1.0)
            axis.plot(failed / runs, y, marker, color=INK, ms=5, mfc=fill, label=rule if place == 0 else None)
    for delta in sorted(set(rules.values())):
        axis.axvline(delta, color=ORANGE, lw=1.2)
        axis.text(delta, len(result.rows) + 0.55, f" delta = {delta:g}", color=ORANGE, fontsize=8)
    axis.set_yticks(range(len(result.rows), 0, -1), [f"{row[0]}, {row[1]}" for row in result.rows], fontsize=8.5)
    axis.set(xlim=(-0.01, 0.62), ylim=(0.3, len(result.rows) + 1.0),
             xlabel="share of runs in which the truth left a set (line: up to the exact 99% limit)")  # fmt: skip
    axis.set_title("failures, and what is allowed", loc="left")
    axis.legend(loc="lower center")
    return figure


FIGURES: dict[str, Callable[[Result], Figure]] = {
    "a": _regret,
    "b": _coverage,
    "c": _endings,
    "f": _environments,
    "g": _sharp,
    "h": _in_use,
    "i": _likelihood,
}
