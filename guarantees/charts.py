"""The charts of the parts: readable without colour, on the page that :mod:`guarantees.page` writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite, log10
from typing import Any

from goalbound.experiments.pages.charts import INK, Chart, Trace, axis, line, plain, reference
from goalbound.experiments.pages.style import line_style
from guarantees.result import Result

MAX_SHOWN = 1.3
"""The largest exponent in the chart."""
LIMIT = "var(--c1)"
"""The colour of what is promised or allowed."""


def result_charts(result: Result) -> list[Chart]:
    """The charts of a part; empty if it has none."""
    maker = CHARTS.get(result.part)
    return maker(result) if maker else []


def _finite(values: Sequence[float | None]) -> list[float | None]:
    return [None if one is None or not isfinite(one) else one for one in values]


def _dots(name: str, x: Sequence[float | None], y: Sequence[float], symbol: str, colour: str = INK) -> Trace:
    return {
        "type": "scatter", "mode": "markers", "name": plain(name), "x": _finite(x), "y": list(y),
        "marker": {"symbol": symbol, "size": 9, "color": colour, "line": {"width": 1.6, "color": colour}},
        "hovertemplate": f"{plain(name)}: %{{x:,.4~r}}<extra></extra>", "meta": {"role": "point"},
    }  # fmt: skip


def _reach(up: Sequence[float], down: Sequence[float], colour: str) -> dict[str, Any]:
    """How far intervals reach from their dots."""
    return {
        "type": "data",
        "symmetric": False,
        "array": list(up),
        "arrayminus": list(down),
        "color": colour,
        "width": 3,
    }


def _upright(value: float, text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A vertical line at what is promised or allowed, and its name above it."""
    shape = {"type": "line", "x0": value, "x1": value, "y0": 0, "y1": 1, "yref": "paper",
             "line": {"color": LIMIT, "width": 1.6}}  # fmt: skip
    note = {"x": value, "y": 1.0, "yref": "paper", "yanchor": "bottom", "text": text, "showarrow": False,
            "font": {"color": LIMIT}}  # fmt: skip
    return shape, note


def _row_chart(
    name: str, title: str, rows: Sequence[str], traces: Sequence[Trace], across: dict[str, Any],
    limits: Sequence[tuple[dict[str, Any], dict[str, Any]]] = (),
) -> Chart:  # fmt: skip
    """A chart with a named row for each place of y, the first on top."""
    names = {"tickvals": list(range(len(rows))), "ticktext": [plain(row) for row in rows]}
    layout: dict[str, Any] = {
        "xaxis": across, "yaxis": {"automargin": True, "autorange": "reversed", **names}, "showlegend": True,
        "shapes": [shape for shape, _ in limits], "annotations": [note for _, note in limits],
    }  # fmt: skip
    if across.get("type") == "log":  # annotations of a logarithmic axis are placed by the exponent
        layout["annotations"] = [{**note, "x": log10(note["x"])} for note in layout["annotations"]]
    columns = ("series", across["title"]["text"], "row", "low", "high")
    return Chart(name=name, title=title, traces=traces, layout=layout | {"margin": {"t": 30}},
                 height=110 + 26 * len(rows), columns=columns)  # fmt: skip


def _regret(result: Result) -> list[Chart]:
    """A chart for some problems with regret and bounds, and one with the exponents."""
    shown = [name for name in result.curves if name in ("random 0", "easy")]
    return [*(_bounded(name, result.curves[name]) for name in shown), _exponents(result.curves)]


def _bounded(name: str, curve: dict[str, Any]) -> Chart:
    k, late = curve["episodes"], [one for one in curve["episodes"] if one >= curve["episodes"][-1] / 100]
    kinds = (
        ("expected", "expected regret"), ("optimal", "optimal loss of all episodes"),
        ("own", "bound: the learner's own"), ("measured", "bound: measured widths"), ("lemma", "bound: lemma"),
    )  # fmt: skip
    traces = [line(label, k, _positive(curve[key]), line_style(at)) for at, (key, label) in enumerate(kinds)]
    realised = _dots("realised regret", k, [], "circle-open", "var(--c0)")
    realised |= {"y": _positive(curve["realised"]), "hovertemplate": "realised regret: %{y:,.4~r}<extra></extra>"}
    guide = [curve["expected"][-1] * (one / k[-1]) ** 0.5 / 2.2 for one in late]
    return Chart(
        name=f"bounds-{name.replace(' ', '-')}", title=f"{name}: regret and its bounds",
        traces=[*traces, realised, reference("slope 1/2", late, guide)], height=420,
        layout={"xaxis": axis("episodes", log=True), "yaxis": axis("regret, bounds", log=True), "showlegend": True},
        columns=("series", "episodes", "value"), options={"scales": True},
    )  # fmt: skip


def _positive(values: Sequence[float | None]) -> list[float | None]:
    """What a logarithmic axis can show."""
    return [one if one is not None and isfinite(one) and one > 0.0 else None for one in values]


def _exponents(curves: dict[str, Any]) -> Chart:
    """What is far off, while regret is still next to nothing, is left out."""
    traces = []
    for at, (name, curve) in enumerate(curves.items()):
        kept = [None if x is None or x > MAX_SHOWN else x for x in curve["exponent"]]
        traces.append(line(name, curve["episodes"], kept, line_style(at)))
    ends = [min(curve["episodes"][0] for curve in curves.values()), max(c["episodes"][-1] for c in curves.values())]
    return Chart(
        name="exponents", title="Growth exponent over the last decade", height=380,
        traces=[*traces, reference("the theorem's rate", ends, [0.5, 0.5], dash="6px,3px")],
        layout={"xaxis": axis("episodes", log=True), "yaxis": axis("growth exponent", range=[0.0, MAX_SHOWN]),
                "showlegend": True},
        columns=("problem", "episodes", "exponent"),
    )  # fmt: skip


def _coverage(result: Result) -> list[Chart]:
    traces = []
    for proven, name in ((True, "proven widths"), (False, "not proven")):
        at = [place for place, row in enumerate(result.rows) if bool(row[2]) == proven]
        share = [result.rows[place][3] / result.rows[place][4] for place in at]
        trace = _dots(name, share, at, "circle" if proven else "circle-open")
        down = [one - result.rows[place][6] for one, place in zip(share, at, strict=True)]
        trace["error_x"] = _reach([0.0] * len(at), down, INK)
        traces.append(trace)
    names = [f"{widths}, {contexts}: {covered} / {runs}" for contexts, widths, _, covered, runs, *_ in result.rows]
    across = axis("share of runs in which the truth never left the sets", range=[-0.02, 1.04])
    title = "Coverage; the line goes down to the exact 99% limit"
    return [_row_chart("coverage", title, names, traces, across, [_upright(0.9, "promised")])]


def _endings(result: Result) -> list[Chart]:
    rows = range(len(result.rows))
    traces = [
        _dots("longest episode", [row[6] for row in result.rows], rows, "circle"),
        _dots("mean of the last tenth", [row[7] for row in result.rows], rows, "circle-open", "var(--c0)"),
        _dots("T*", [row[8] for row in result.rows], rows, "line-ns-open", LIMIT),
    ]
    names = [f"{family}, {support} support, {contexts}" for family, support, contexts, *_ in result.rows]
    across = axis("steps of an episode", log=True)
    limit = _upright(1e6, "would be abandoned")
    return [_row_chart("endings", "Every episode ends", names, traces, across, [limit])]


def _environments(result: Result) -> list[Chart]:
    charts = []
    for place, (name, curve) in enumerate(result.curves.items(), start=1):
        traces = [
            line("realised regret", curve["episodes"], _finite(curve["realised"]), line_style(0)),
            line("expected regret", curve["episodes"], _finite(curve["expected"]), line_style(1)),
        ]
        charts.append(Chart(
            name=f"environment-{place}", title=f"{name}: regret", traces=traces, height=320,
            layout={"xaxis": axis("episodes"), "yaxis": axis("regret", rangemode="tozero"), "showlegend": True},
            columns=("series", "episodes", "regret"),
        ))  # fmt: skip
    return charts


def _sharp(result: Result) -> list[Chart]:
    """The regret of each rule over that of the paper's widths, a mark for each problem."""
    rows = [row for row in result.rows if row[1]]
    marks = ("circle", "square-open", "triangle-up", "diamond-open")
    traces = [
        _dots(name, [row[6 + 2 * at] for row in rows], range(len(rows)), marks[at % len(marks)], f"var(--c{at % 8})")
        for at, name in enumerate(result.curves["races"])
    ]
    across = axis("expected regret over that with the paper's widths", log=True)
    return [_row_chart("sharp", "What each piece of the sharp widths brings", [row[0] for row in rows], traces, across)]


def _in_use(result: Result) -> list[Chart]:
    """The excess of each learner and way, a mark for each run; and the bounds of the runbook beside the truth."""
    shown = result.curves["excess"]
    points = [(share, place) for place, shares in enumerate(shown.values()) for share in shares]
    runs = _dots("a run", [share for share, _ in points], [place for _, place in points], "circle-open")
    across = axis("excess over the clairvoyant's loss", rangemode="tozero")
    excess = _row_chart("excess", "New cases", list(shown), [runs], across, [_upright(0.05, "5%")])
    return [excess, _runbook(result.curves["bounds"])]


def _runbook(bounds: dict[str, Any]) -> Chart:
    """Lower and upper bounds as bars around the truth; where there is no upper bound, none is drawn."""
    traces = []
    for at, name in enumerate(("runbook", "safest")):
        curve, style = bounds[name], line_style(at)
        where = [place + 0.3 * at for place in range(len(curve["truth"]))]
        up = [u - t if isfinite(u) else 0.0 for u, t in zip(curve["upper"], curve["truth"], strict=True)]
        trace = _dots(f"{name}: truth, with its bounds", where, curve["truth"], style.symbol, style.variable)
        down = [t - low for t, low in zip(curve["truth"], curve["lower"], strict=True)]
        trace["error_y"] = _reach(up, down, style.variable)
        trace["hovertemplate"] = f"{name}: %{{y:,.4~r}}<extra></extra>"
        traces.append(trace)
        without = [place for place, u in zip(where, curve["upper"], strict=True) if not isfinite(u)]
        if without:
            none = _dots(f"{name}: no upper bound", without, [], "triangle-up-open", style.variable)
            traces.append(none | {"y": [curve["truth"][int(place)] * 2.0 for place in without]})
    return Chart(
        name="runbook", title="Bounds after the log, and the truth", traces=traces, height=380,
        layout={"xaxis": axis("contexts, by the runbook's loss", showticklabels=False), "showlegend": True,
                "yaxis": axis("minutes until recovered", log=True, dtick=1)},
        columns=("series", "context", "minutes", "low", "high"),
    )  # fmt: skip


def _likelihood(result: Result) -> list[Chart]:
    """The failure rate of each rule in each case, with its exact limit, beside the delta that is allowed."""
    rules, runs = result.curves["delta"], result.curves["runs"]
    traces = []
    for at, (rule, symbol) in enumerate(zip(rules, ("circle", "circle-open", "square"), strict=True)):
        failed = [row[2 + 2 * at] / runs for row in result.rows]
        trace = _dots(rule, failed, [place + 0.22 * (at - 1) for place in range(len(result.rows))], symbol,
                      f"var(--c{at})")  # fmt: skip
        limits = [row[3 + 2 * at] - share for row, share in zip(result.rows, failed, strict=True)]
        trace["error_x"] = _reach(limits, [0.0] * len(limits), f"var(--c{at})")
        traces.append(trace)
    names = [f"{row[0]}, {row[1]}" for row in result.rows]
    across = axis("share of runs in which the truth left a set, up to the exact 99% limit", range=[-0.01, 0.62])
    allowed = [_upright(delta, f"delta = {delta:g}") for delta in sorted(set(rules.values()))]
    return [_row_chart("likelihood", "Failures, and what is allowed", names, traces, across, allowed)]


CHARTS: dict[str, Callable[[Result], list[Chart]]] = {
    "a": _regret, "b": _coverage, "c": _endings, "f": _environments, "g": _sharp, "h": _in_use, "i": _likelihood,
}  # fmt: skip
"""What draws each part; the others are tables."""
