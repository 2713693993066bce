"""The charts of the demo: regret against patients, and optimistic values against the true one."""

from __future__ import annotations

from goalbound.cli.demo.learning import Learning, Points
from goalbound.experiments.pages.charts import Chart, axis, line, reference
from goalbound.experiments.pages.style import line_style


def demo_charts(learning: Learning) -> list[Chart]:
    """All charts of the page."""
    return [regret_chart(learning), optimistic_value_chart(learning)]


def regret_chart(learning: Learning) -> Chart:
    """Regret so far against patients; in logarithms a power is a straight line and its exponent the slope."""
    traces = [
        line(run.name, *_columns(run.regrets), line_style(place)) for place, run in enumerate(learning.runs)
    ]  # fmt: skip
    last, least = float(learning.episodes), min(run.regret for run in learning.runs)
    guides = ((0.5, "slope 1/2: the theorem's rate", "6px,3px"), (1.0, "slope 1: nothing is learned", "2px,4px"))
    for power, name, dash in guides:
        ends = [last / 30.0, last]
        traces.append(reference(name, ends, [least * 0.5 * (one / last) ** power for one in ends], dash=dash))
    return Chart(
        name="regret", title="Regret so far of each learner against patients so far", traces=traces, height=430,
        layout={"xaxis": axis("patients so far, K", log=True), "yaxis": axis("expected regret so far", log=True),
                "showlegend": True},
        columns=("learner", "patients", "expected regret"), options={"scales": True},
    )  # fmt: skip


def optimistic_value_chart(learning: Learning) -> Chart:
    """The optimistic value of LR-CSSP, against the true optimal value."""
    last, proven = float(learning.episodes), learning.runs[0]
    traces = [
        line(proven.name, *_columns(proven.planned_values), line_style(0)),
        reference("true value", [1.0, last], [learning.even_best] * 2, dash="6px,3px"),
    ]
    return Chart(
        name="optimism", title="Optimistic value of LR-CSSP against patients so far", traces=traces, height=330,
        layout={"xaxis": axis("patients so far", log=True), "yaxis": axis("value", rangemode="tozero"),
                "showlegend": True},
        columns=("series", "patients", "value"),
    )  # fmt: skip


def _columns(points: Points) -> tuple[list[float], list[float]]:
    return [float(f"{x:.7g}") for x, _ in points], [float(f"{y:.7g}") for _, y in points]
