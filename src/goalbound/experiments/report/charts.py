"""The charts of a report, from its data: regret, ranking, differences, growth, terms, known pairs, seeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from goalbound.experiments.pages.charts import INK, Chart, Trace, axis, band, line, plain, point, reference
from goalbound.experiments.pages.style import line_style
from goalbound.experiments.report.curves import WINDOW
from goalbound.experiments.report.growth import panel_promise
from goalbound.experiments.report.map_charts import panel_chart, policy_charts, simplex_charts
from goalbound.experiments.report.phrases import with_interval
from goalbound.experiments.report.ranking import competing, difference
from goalbound.learners.card import PROVEN, TRUTH

Data = Mapping[str, Any]
WIDE = 30.0
"""A ranking whose largest regret is more than this multiple of the least has a logarithmic axis."""
GUIDES = ((1 / 2, "slope 1/2", "6px,3px"), (2 / 3, "slope 2/3", "2px,4px"))
"""Powers of K to compare with, their names and dashes."""
PATTERNS = ("", "/", "x", "-", "|", "+", ".", "\\")
"""Of bars, so that they can be told apart without colour."""
TERMS = {
    "switching": "rises of the plan's value at new plans, less the optimal losses",
    "dynamics": "true less optimistic next states",
    "martingale": "noise of the next states; mean 0",
    "losses": "true less optimistic losses",
    "planning": "residual of value iteration",
}
"""The terms of the decomposition, and what they are."""


def report_charts(data: Data) -> list[Chart]:
    """All charts, panel by panel."""
    return [chart for panel in data["panels"] for chart in _panel_charts(panel)]


def page_state(data: Data, *, fold: bool) -> dict[str, Any]:
    """What the switches of the page need: learners, their order in each panel, and the arrays that traces share."""
    arrays: dict[str, Any] = {}
    for panel in data["panels"]:
        arrays[f"episode{panel['place']}"] = panel["episode"]
        arrays[f"coarse{panel['place']}"] = panel["coarse"]
        for result in panel["results"]:
            arrays[_steps(panel, result)] = result["steps"]
            coarse = [result["steps"][panel["episode"].index(one)] for one in panel["coarse"]]
            arrays[_steps(panel, result, "coarse")] = coarse
    return {
        "fold": fold,
        "arrays": arrays,
        "learners": [
            {"label": one["label"], "guarantee": one["card"]["guarantee"] if one["card"] else ""}
            for one in data["learners"]
        ],
        "panels": [_order(panel) for panel in data["panels"]],
    }


def _order(panel: Data) -> dict[str, Any]:
    """The learners of a panel by regret, and the first of them that is proven."""
    ranked = competing(panel)
    proven = next((result["learner"] for result in ranked if result["card"]["guarantee"] == PROVEN), None)
    return {"ranking": [result["learner"] for result in ranked], "proven": proven}


def _steps(panel: Data, result: Data, grid: str = "episode") -> str:
    return f"steps{panel['place']}-{result['learner']}-{grid}"


def _panel_charts(panel: Data) -> list[Chart]:
    charts = [_regret(panel), _ranking(panel), _growth(panel), _seeds(panel)]
    charts += [one for one in (_differences(panel), _terms(panel)) if one]
    charts += [chart for kind in SHARES if (chart := _share(kind, panel))]
    return [*charts, *simplex_charts(panel), *policy_charts(panel)]


def _curves(panel: Data, key: str, *, grid: str = "episode", markers: bool = True) -> list[Trace]:
    """Bands first, so that no line is below one; then the lines."""
    bands, lines = [], []
    for result in panel["results"]:
        curve, at = result[key], result["learner"]
        if curve is None or all(value is None for value in curve["values"]):
            continue
        name, style, x = result["label"], line_style(at), f"{grid}{panel['place']}"
        meta = {"learner": at, "steps": _steps(panel, result, grid), "speed": result["seconds_per_step"]}
        if curve["low"] is not None:
            bands += band(name, x, curve["low"], curve["high"], style, **meta)
        lines.append(line(name, x, curve["values"], style, markers=markers, **meta))
    return bands + lines


def _regret(panel: Data) -> Chart:
    traces = _curves(panel, "regret")
    ranked, last = competing(panel), panel["episode"][-1]
    end = ranked[0]["regret"]["values"][-1] if ranked else None
    late = [one for one in panel["episode"] if one >= last / 100.0]
    for power, name, dash in GUIDES:
        if end:
            traces.append(reference(name, late, [end * (one / last) ** power for one in late], dash=dash,
                                    unit="episodes"))  # fmt: skip
    for result in panel["results"]:
        if result["regret"]["bound"] is not None:
            bound, name = result["regret"]["bound"], f"bound of {result['label']}"
            traces.append({
                "type": "scatter", "mode": "markers", "name": plain(name), "x": [last], "y": [bound],
                "marker": {"symbol": "line-ew-open", "size": 18, "color": line_style(result["learner"]).variable,
                           "line": {"width": 3}},
                "hovertemplate": f"{plain(name)}: %{{y:,.4~r}}<extra></extra>",
                "meta": {"role": "bound", "learner": result["learner"], "unit": "episodes"},
            })  # fmt: skip
    return panel_chart(
        panel, "regret", "Expected regret against episodes", traces=traces,
        layout={"xaxis": axis("episodes, K", log=True), "yaxis": axis("expected regret so far", log=True),
                "showlegend": True},
        height=470, columns=("learner", "episodes", "expected regret", "low", "high"),
        options={"scales": True, "units": True, "best": True},
    )  # fmt: skip


def _ranking(panel: Data) -> Chart:
    """A dot with its interval for each learner that has to learn."""
    ranked = competing(panel)
    traces = []
    for result in ranked:
        regret, name = result["numbers"]["expected_regret"], result["label"]
        traces.append(point(
            name, regret["mean"], 0, line_style(result["learner"]), low=regret["low"], high=regret["high"],
            text=f"{name}: {with_interval(regret)}", learner=result["learner"], row=True,
        ))  # fmt: skip
    ends = [one for result in ranked for one in _ends(result["numbers"]["expected_regret"])]
    log = bool(ends) and min(ends) > 0.0 and max(ends) > WIDE * min(ends)
    across = axis("expected regret, 95% interval", log=log) if log else axis(
        "expected regret, 95% interval", rangemode="tozero")  # fmt: skip
    return panel_chart(
        panel, "ranking", "Expected regret of each learner", traces=traces,
        layout={"xaxis": across, "yaxis": {"automargin": True}, "showlegend": False}, height=70 + 26 * len(traces),
        columns=("learner", "expected regret", "low", "high"), options={"rows": True},
    )  # fmt: skip


def _ends(estimate: Data) -> list[float]:
    return [one for one in (estimate["mean"], estimate["low"], estimate["high"]) if one is not None]


def _differences(panel: Data) -> Chart | None:
    """How much more each learner has than the first, seed by seed the same contexts; the first is at 0."""
    ranked = competing(panel)
    traces = []
    for result in ranked[1:]:
        found = difference(panel, ranked[0]["learner"], result["learner"])
        if found is None:
            continue
        gap, name = found["difference"], result["label"]
        traces.append(point(
            name, gap["mean"], 0, line_style(result["learner"]), low=gap["low"], high=gap["high"],
            text=f"{found['statement']}.", learner=result["learner"], row=True,
        ))  # fmt: skip
    if not traces:
        return None
    first = ranked[0]["label"]
    zero = {"type": "line", "x0": 0, "x1": 0, "y0": 0, "y1": 1, "yref": "paper", "line": {"color": INK, "width": 1.2}}
    return panel_chart(
        panel, "differences", f"Paired differences of expected regret from {first}",
        traces=traces, height=70 + 26 * len(traces), columns=("learner", "difference", "low", "high"),
        layout={"xaxis": axis("difference of expected regret", rangemode="tozero"),
                "yaxis": {"automargin": True}, "showlegend": False, "shapes": [zero]},
        options={"rows": True},
    )  # fmt: skip


def _growth(panel: Data) -> Chart:
    """The local exponent against K."""
    traces = _curves(panel, "local_exponent", grid="coarse")
    promise = panel_promise(panel)
    ends = [min(WINDOW * panel["coarse"][0], panel["coarse"][-1]), panel["coarse"][-1]]
    if promise is not None:
        traces.append(reference("the theorem's rate", ends, [promise, promise], dash="6px,3px"))
    traces.append(reference("linear: nothing is learned", ends, [1.0, 1.0]))
    return panel_chart(
        panel, "growth", "Local exponent of the expected regret against episodes",
        traces=traces, columns=("learner", "episodes", "local exponent", "low", "high"),
        layout={"xaxis": axis("episodes, K", log=True),
                "yaxis": axis("local exponent", range=[0.0, 1.35]), "showlegend": True},
        options={"best": True},
    )  # fmt: skip


def _seeds(panel: Data) -> Chart:
    """A thin line for each seed; those of a learner are one trace, with gaps."""
    traces = []
    for result in panel["results"]:
        if result["card"]["sees"] == TRUTH:
            continue
        style = line_style(result["learner"])
        x = [one for _ in result["seed_regrets"] for one in (*panel["coarse"], None)]
        y = [one for values in result["seed_regrets"] for one in (*values, None)]
        name = result["label"]
        trace = line(name, x, y, style, markers=False, learner=result["learner"],
                     steps=_steps(panel, result, "coarse"), speed=result["seconds_per_step"], seeds=True)  # fmt: skip
        trace["line"]["width"] = 1.2
        trace["meta"]["role"] = "seeds"
        trace["hovertemplate"] = f"{plain(name)}: %{{y:,.4~r}}<extra></extra>"
        traces.append(trace)
    return panel_chart(
        panel, "seeds", "Expected regret of each seed against episodes",
        traces=traces, columns=("learner", "episodes", "expected regret"), height=400,
        layout={"xaxis": axis("episodes, K", log=True), "yaxis": axis("expected regret so far", log=True),
                "showlegend": True},
        options={"scales": True, "units": True, "best": True},
    )  # fmt: skip


def _terms(panel: Data) -> Chart | None:
    """Bars with intervals for the terms of the realised regret and their sum; one scale for all learners."""
    results = [result for result in panel["results"] if result["terms"]]
    if not results:
        return None
    found = dict.fromkeys([*TERMS, *(name for result in results for name in result["terms"])])
    names = [name for name in found if any(name in result["terms"] for result in results)]
    traces = []
    for result in results:
        estimates = [result["terms"].get(name) for name in names] + [result["numbers"]["regret"]]
        means = [None if one is None else one["mean"] for one in estimates]
        up, down = ([_reach(one, side) for one in estimates] for side in ("high", "low"))
        style, name = line_style(result["learner"]), result["label"]
        traces.append({
            "type": "bar", "orientation": "h", "name": plain(name), "x": means, "y": [*names, "realised regret"],
            "error_x": {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "color": INK,
                        "thickness": 1.2, "width": 3},
            "marker": {"color": style.variable, "line": {"color": INK, "width": 0.8},
                       "pattern": {"shape": PATTERNS[result["learner"] % len(PATTERNS)], "fgcolor": "var(--page)",
                                   "fillmode": "overlay", "solidity": 0.25}},
            "hovertemplate": f"{plain(name)}, %{{y}}: %{{x:,.4~r}}<extra></extra>",
            "meta": {"role": "bar", "learner": result["learner"]},
        })  # fmt: skip
    return panel_chart(
        panel, "terms", "Terms of the realised regret", traces=traces,
        layout={"xaxis": axis("mean over seeds"), "barmode": "group",
                "yaxis": {"automargin": True, "autorange": "reversed"}, "showlegend": True},
        height=130 + 45 * (len(names) + 1), columns=("learner", "value", "term", "low", "high"),
    )  # fmt: skip


def _reach(estimate: Data | None, side: str) -> float:
    """How far the interval goes to a side; 0 without one."""
    return 0.0 if estimate is None or estimate[side] is None else abs(estimate[side] - estimate["mean"])


SHARES = {
    "known": "share of steps at known pairs",
    "intervals": "intervals per episode",
}
"""Curves of learners that test whether a pair is known, and the titles of their axes."""


def _share(kind: str, panel: Data) -> Chart | None:
    traces = _curves(panel, kind)
    nothing = all(result["numbers"]["known_share"]["mean"] in (None, 0.0) for result in panel["results"])
    if not traces or (kind == "known" and nothing):
        return None
    up = {"range": [0.0, 1.02]} if kind == "known" else {"rangemode": "tozero"}
    return panel_chart(
        panel, kind, SHARES[kind].capitalize(), traces=traces,
        layout={"xaxis": axis("episodes, K", log=True), "yaxis": axis(SHARES[kind], **up), "showlegend": True},
        height=320, columns=("learner", "episodes", SHARES[kind], "low", "high"),
        options={"units": True, "best": True},
    )  # fmt: skip
