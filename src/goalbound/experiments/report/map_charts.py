"""Charts over contexts: where the regret lies, which policy is best, and how much worse the learned one is.

Two components are an axis, three a triangle; of more, the regret is drawn against the weight of each component.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from goalbound.experiments.pages.charts import HEAT, INK, Chart, Trace, axis, line, plain
from goalbound.experiments.pages.style import line_style

Data = Mapping[str, Any]
MAX_POLICIES = 8
"""As many as there are colours; rarer ones are drawn as one."""
TERNARY = 360
"""The height of a triangle with its corners' names."""
SYMBOLS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "star")


def panel_chart(
    panel: Data,
    kind: str,
    title: str,
    *,
    part: int | None = None,
    options: Mapping[str, Any] | None = None,
    **chart: Any,
) -> Chart:
    """A chart of a panel: its name has the number of the panel, and of the part that it shows."""
    numbers = [panel["place"] + 1] if part is None else [panel["place"] + 1, part]
    return Chart(
        name="-".join([kind, *map(str, numbers)]),
        title=f"{title}; {panel['title']}",
        options={"panel": panel["place"], **(options or {})},
        **chart,
    )


def simplex_charts(panel: Data) -> list[Chart]:
    """Expected regret per episode by context."""
    shown = [result for result in panel["results"] if result["simplex"]]
    if not shown:
        return []
    if panel["context_size"] == 3:
        most = max(max(_there(result["simplex"][0]["value"]), default=0.0) for result in shown)
        return [_triangle(panel, result, most) for result in shown]
    parts = range(1 if panel["context_size"] == 2 else panel["context_size"])
    values = {
        part: [
            component_values(result["simplex"], part, panel["bins"], panel["context_size"]) or [] for result in shown
        ]
        for part in parts
    }
    most = max((max(_there(curve), default=0.0) for curves in values.values() for curve in curves), default=0.0)
    return [
        _along(panel, part, list(zip(shown, curves, strict=True)), most)
        for part, curves in values.items()
        if all(curves)
    ]


def _there(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _along(
    panel: Data, part: int, shown: Sequence[tuple[Data, Sequence[float | None]]], most: float
) -> Chart:  # fmt: skip
    """Regret per episode against the weight of a component, up to the most of all components."""
    bins, name = panel["bins"], panel["components"][part]
    middles = [(one + 0.5) / bins for one in range(bins)]
    traces = [
        line(result['label'], middles, values, line_style(result["learner"]),
             learner=result["learner"])
        for result, values in shown
    ]  # fmt: skip
    return panel_chart(
        panel, "simplex", f"Regret per episode against {name}", part=part + 1,
        traces=traces, height=320, columns=("learner", f"weight of {name}", "expected regret per episode"),
        layout={"xaxis": axis(f"weight of {name}", range=[0.0, 1.0]), "showlegend": True,
                "yaxis": axis("expected regret per episode", range=[0.0, 1.05 * (most or 1.0)])},
        options={"best": True},
    )  # fmt: skip


def component_values(fields: Sequence[Data], part: int, bins: int, size: int) -> list[float | None] | None:
    """Regret per episode by the cell of one component, from a field that has it; None if there is none.

    Two components: the field is along the first. More: the sum over the cells of the other component of a pair.
    """
    if size == 2:
        return list(fields[0]["value"])
    field = next((one for one in fields if part in one["components"]), None)
    if field is None:
        return None
    side = field["components"].index(part)
    count, regret = [0.0] * bins, [0.0] * bins
    for cell, number, value in zip(_cells(bins), field["count"], field["value"], strict=True):
        count[cell[side]] += number
        regret[cell[side]] += number * (value or 0.0)
    return [float(f"{r / c:.4g}") if c else None for r, c in zip(regret, count, strict=True)]


def _cells(bins: int) -> list[tuple[int, int]]:
    """The cells (i, j) with i + j < bins, in the order of a field."""
    return [(i, j) for i in range(bins) for j in range(bins - i)]


def _ternary(panel: Data) -> dict[str, Any]:
    names = [plain(name) for name in panel["components"]]
    side = {"gridcolor": "var(--rule)", "linecolor": "var(--strong)", "tickformat": ".0%", "nticks": 5, "min": 0}
    return {
        "ternary": {
            "sum": 1, "domain": {"x": [0.0, 0.84]}, "bgcolor": "var(--page)",
            "aaxis": {**side, "title": {"text": names[0]}}, "baxis": {**side, "title": {"text": names[1]}},
            "caxis": {**side, "title": {"text": names[2]}},
        },
        "margin": {"l": 66, "r": 44, "t": 34, "b": 40},
    }  # fmt: skip


def _heat_points(corners: Sequence[Sequence[float]], values: Sequence[float | None], **more: Any) -> Trace:
    a, b, c = (list(one) for one in zip(*corners, strict=True))
    marker = {"symbol": "hexagon2", "size": 17, "color": list(values), "colorscale": HEAT, "cmin": 0.0,
              "showscale": True,
              "colorbar": {"thickness": 10, "len": 0.8, "x": 1.0, "nticks": 4, "outlinewidth": 0,
                           "exponentformat": "SI"},
              "line": {"width": 0.5, "color": "var(--strong)"}}  # fmt: skip
    marker |= more.pop("marker", {})
    return {
        "type": "scatterternary",
        "mode": "markers",
        "cliponaxis": False,
        "a": a,
        "b": b,
        "c": c,
        "marker": marker,
        **more,
    }


def _triangle(panel: Data, result: Data, most: float) -> Chart:
    """The cells of a triangle; where no episode had such a context there is an open mark."""
    (field,), bins = result["simplex"], panel["bins"]
    corners = []
    for i, j in _cells(bins):
        inside = 1 / 3 if i + j == bins - 1 else 1 / 2  # cells at the third side are halves
        first, second = (i + inside) / bins, (j + inside) / bins
        corners.append((first, second, 1.0 - first - second))
    met = [at for at, count in enumerate(field["count"]) if count]
    empty = [at for at, count in enumerate(field["count"]) if not count]
    name = result["label"]
    names = panel["components"]
    traces = [_heat_points(
        [corners[at] for at in met], [field["value"][at] for at in met], name=plain(name), marker={"cmax": most},
        hovertemplate=_ternary_text(names, "regret per episode %{marker.color:.3~r}"),
        meta={"role": "cell"},
    )]  # fmt: skip
    if empty:
        traces.append(_open_points([corners[at] for at in empty], "no episode"))
    return panel_chart(
        panel, "simplex", f"Regret per episode of {name} by context", part=result["learner"] + 1,
        traces=traces, height=TERNARY,
        columns=("learner", *names, "expected regret per episode"),
        layout={**_ternary(panel), "showlegend": False},
    )  # fmt: skip


def _ternary_text(names: Sequence[str], value: str) -> str:
    shares = ", ".join(f"{plain(name)} %{{{axis_name}:.0%}}" for name, axis_name in zip(names, "abc", strict=True))
    return f"{value}<br>{shares}<extra></extra>"


def _open_points(corners: Sequence[Sequence[float]], text: str, symbol: str = "circle-open") -> Trace:
    a, b, c = (list(one) for one in zip(*corners, strict=True))
    return {
        "type": "scatterternary", "mode": "markers", "cliponaxis": False, "a": a, "b": b, "c": c,
        "name": text, "showlegend": False,
        "hovertemplate": f"{text}<extra></extra>", "meta": {"role": "cell"},
        "marker": {"symbol": symbol, "size": 9, "color": "var(--soft)"},
    }  # fmt: skip


def policy_charts(panel: Data) -> list[Chart]:
    """Where each of the best policies is best, and the gap of each learned policy; for two and three components."""
    if panel["policies"] is None or panel["context_size"] not in (2, 3):
        return []
    shown = [result for result in panel["results"] if result["policy"]]
    if not shown:
        return []
    if panel["context_size"] == 2:
        return [_policy_lines(panel, shown)]
    most = max(max(_there(result["policy"]["gap"]), default=0.0) for result in shown)
    gaps = [_gap_triangle(panel, result, most) for result in shown]
    return [_best_triangle(panel), *gaps]


def policy_names(best: Sequence[int]) -> dict[int, str]:
    """Names of the best policies by their numbers: P1 is best at most contexts.

    >>> policy_names([0, 1, 1, 2, 1, 0])
    {1: 'P1', 0: 'P2', 2: 'P3'}
    """
    order = sorted(dict.fromkeys(best), key=lambda number: (-list(best).count(number), number))
    return {number: f"P{place}" for place, number in enumerate(order, start=1)}


def _policy_lines(panel: Data, shown: Sequence[Data]) -> Chart:
    """The gap of each learned policy along the first component; below, the best policy of each stretch."""
    best = panel["policies"]
    first = [context[0] for context in best["contexts"]]
    order = sorted(range(len(first)), key=lambda at: first[at])
    x = [first[at] for at in order]
    traces = [
        line(result['label'], x, [result["policy"]["gap"][at] for at in order],
             line_style(result["learner"]), learner=result["learner"])
        for result in shown
    ]  # fmt: skip
    for result in shown:
        improper = [first[at] for at in order if result["policy"]["improper"][at]]
        if improper:
            traces.append(_crosses(result["label"], improper, result["learner"]))
    shapes, notes, start = [], [], 0
    numbers, names = [best["best"][at] for at in order], policy_names(best["best"])
    for at in range(1, len(numbers) + 1):
        if at < len(numbers) and numbers[at] == numbers[start]:
            continue
        left = 0.0 if start == 0 else (x[start - 1] + x[start]) / 2.0
        right = 1.0 if at == len(numbers) else (x[at - 1] + x[at]) / 2.0
        shapes.append({"type": "rect", "x0": left, "x1": right, "y0": 1.0, "y1": 1.07, "yref": "paper",
                       "fillcolor": f"var(--c{list(names).index(numbers[start]) % 8}) 0.3",
                       "line": {"width": 1, "color": INK}})  # fmt: skip
        notes.append({"x": (left + right) / 2.0, "y": 1.035, "yref": "paper", "yanchor": "middle", "showarrow": False,
                      "text": names[numbers[start]]})  # fmt: skip
        start = at
    return Chart(
        name=f"policies-{panel['place'] + 1}", title=f"Gap of the learned policies against {panel['components'][0]}",
        traces=traces, columns=("learner", panel["components"][0], "gap"), height=360,
        layout={"xaxis": axis(f"weight of {panel['components'][0]}", range=[0.0, 1.0]), "shapes": shapes,
                "yaxis": axis("loss above the best policy's", rangemode="tozero"), "annotations": notes,
                "showlegend": True, "margin": {"t": 40}},
        options={"panel": panel["place"], "best": True},
    )  # fmt: skip


def _crosses(name: str, x: Sequence[float], learner: int) -> Trace:
    """Marks on the axis where a learned policy may never reach the goal."""
    return {
        "type": "scatter", "mode": "markers", "name": f"{plain(name)}: not proper on some seed", "x": list(x),
        "y": [0.0] * len(x), "cliponaxis": False, "showlegend": False,
        "hovertemplate": "%{x:.0%}: not proper<extra></extra>",
        "marker": {"symbol": "x-thin-open", "size": 11, "color": line_style(learner).variable, "line": {"width": 2}},
        "meta": {"role": "cell", "learner": learner},
    }  # fmt: skip


def _best_triangle(panel: Data) -> Chart:
    """One trace for each best policy, the most frequent ones first."""
    best, contexts = panel["policies"]["best"], panel["policies"]["contexts"]
    names, traces = policy_names(best), []
    for shade, number in enumerate(frequent_policies(best)):
        points = [contexts[at] for at, one in enumerate(best) if one == number]
        trace = _open_points(points, names[number], SYMBOLS[shade])
        trace |= {"showlegend": True, "hovertemplate": _ternary_text(panel["components"], names[number])}
        trace["marker"] |= {"size": 11, "color": f"var(--c{shade})"}
        traces.append(trace)
    rare = [at for at, one in enumerate(best) if one not in frequent_policies(best)]
    if rare:
        traces.append(_open_points([contexts[at] for at in rare], "another") | {"showlegend": True})
    return panel_chart(
        panel, "best-policy", "Best policy by context", traces=traces, height=TERNARY,
        layout={**_ternary(panel), "showlegend": True, "legend": {"orientation": "v", "x": 0.98, "y": 1.0}},
        columns=("policy", *panel["components"], ""),
    )  # fmt: skip


def frequent_policies(best: Sequence[int]) -> list[int]:
    """The numbers of the policies that are best at most contexts, at most eight."""
    return list(policy_names(best))[:MAX_POLICIES]


def _gap_triangle(panel: Data, result: Data, most: float) -> Chart:
    policy, contexts = result["policy"], panel["policies"]["contexts"]
    name = result["label"]
    fine = [at for at, gap in enumerate(policy["gap"]) if gap is not None]
    improper = [at for at, count in enumerate(policy["improper"]) if count]
    traces = []
    if fine:
        traces.append(_heat_points(
            [contexts[at] for at in fine], [policy["gap"][at] for at in fine], name=plain(name),
            marker={"cmax": most or 1.0}, meta={"role": "cell"},
            hovertemplate=_ternary_text(panel["components"], "gap %{marker.color:.3~r}"),
        ))  # fmt: skip
    if improper:
        traces.append(_open_points([contexts[at] for at in improper], "not proper on some seed", "x-thin-open"))
    return panel_chart(
        panel, "gap", f"Gap of the learned policy of {name} by context", part=result["learner"] + 1,
        traces=traces, height=TERNARY,
        columns=("learner", *panel["components"], "gap"), layout={**_ternary(panel), "showlegend": False},
    )  # fmt: skip
