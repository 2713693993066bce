"""The SVG drawings of the demo: line charts of learning, and grids of arrows for policies.

Lines also differ in their dashes and carry their names; the page gives the colours.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log10
from typing import NamedTuple

from goalbound.cli.demo.learning import Learning, Points
from goalbound.cli.demo.planning import Day, Weather
from goalbound.problems.windy_grid import DRIFT, MOVES, WINDS

WIDTH, HEIGHT = 480, 300
LEFT, RIGHT, TOP, BOTTOM = 48, 384, 30, 254
"""The frame; the names of lines are to the right of it."""
APART = 15
"""The least distance of two names."""

CELL, MARGIN = 44, 1
ACTIONS = (*MOVES, DRIFT)
DEGREES = {(0, 1): 0, (1, 0): 90, (0, -1): 180, (-1, 0): 270}
"""The rotation of an arrow that points east, by the move (rows, columns)."""
WALK = '<path class="walk" d="M-12 0H10M4 -6L10 0L4 6"/>'
BLOWN = '<path class="drift" d="M-13 0q3.5 -6 7 0t7 0h9M4.5 -5.5L10 0L4.5 5.5"/>'
BLOCKED = f'{BLOWN}<path class="drift" d="M15 -8V8"/>'
STILL = '<path class="drift" d="M-11 -4q3.7 -5 7.3 0t7.3 0t7.3 0M-11 5q3.7 -5 7.3 0t7.3 0t7.3 0"/>'
GOAL = '<path class="pole" d="M-7 13V-13"/><path class="flag" d="M-6 -13L12 -7L-6 -1Z"/>'


class Axis(NamedTuple):
    """The range of an axis and its ticks."""

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """The position of a value: 0 at the low end, 1 at the high one."""
        if self.logarithmic:
            return log10(max(value, self.low) / self.low) / log10(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


class Line(NamedTuple):
    """A curve, its style and its name."""

    kind: str
    name: str
    points: Points


def regret_chart(learning: Learning) -> str:
    """Regret so far against patients, both as they are."""
    lines = [Line(run.kind, run.short, run.regrets) for run in learning.runs]
    most = max(y for line in lines for _, y in line.points)
    across, up = _even(learning.episodes), _even(most)
    lines.append(Line("best", "clairvoyant", [(0.0, 0.0), (float(learning.episodes), 0.0)]))
    return _chart(lines, across, up, ("patients so far", "regret so far"))


def logarithmic_chart(learning: Learning) -> str:
    """The same in logarithms, where a power is a straight line and its exponent the slope."""
    lines = [
        Line(run.kind, run.short, [point for point in run.regrets if point[0] >= 10.0 and point[1] >= 1.0])
        for run in learning.runs
    ]
    last, most = float(learning.episodes), max(y for line in lines for _, y in line.points)
    across, up = _decades(10.0, last), _decades(1.0, most)
    first = last / 100.0
    guides = [
        Line("guide", "~ K", [(first, 1.0), (last, 100.0)]),
        Line("guide", "~ √K", [(first, 1.0), (last, 10.0)]),
    ]
    return _chart([*lines, *guides], across, up, ("patients so far, K", "regret so far, logarithmic"))


def optimistic_value_chart(learning: Learning) -> str:
    """The optimistic values of the learners with context, against the true optimal value."""
    lines = [Line(run.kind, run.short, run.planned_values) for run in learning.runs if run.kind == "proven"]
    last = float(learning.episodes)
    lines.insert(0, Line("best", "true value", [(1.0, learning.even_best), (last, learning.even_best)]))
    high = max(y for line in lines for _, y in line.points)
    return _chart(lines, _decades(1.0, last), _even(1.1 * high), ("patients so far", "optimistic value"))


def _chart(lines: Sequence[Line], across: Axis, up: Axis, titles: tuple[str, str]) -> str:
    def place(point: tuple[float, float]) -> tuple[float, float]:
        return LEFT + across.share(point[0]) * (RIGHT - LEFT), BOTTOM - up.share(point[1]) * (BOTTOM - TOP)

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{titles[1]} against {titles[0]}">']
    for value, word in up.ticks:
        _, y = place((across.low, value))
        parts.append(f'<path class="rule" d="M{LEFT} {y:.1f}H{RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{word}</text>')
    for value, word in across.ticks:
        x, _ = place((value, up.low))
        parts.append(f'<path class="rule" d="M{x:.1f} {BOTTOM}v5"/>')
        parts.append(f'<text x="{x:.1f}" y="{BOTTOM + 19}" text-anchor="middle">{word}</text>')
    parts.append(f'<text x="{(LEFT + RIGHT) / 2:g}" y="{HEIGHT - 7}" text-anchor="middle">{titles[0]}</text>')
    parts.append(f'<text x="{LEFT - 40}" y="14">{titles[1]}</text>')
    for line in lines:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(place, line.points))
        parts.append(f'<polyline class="{line.kind}" points="{path}"/>')
    for line, y in zip(lines, _spread([place(line.points[-1])[1] for line in lines]), strict=True):
        parts.append(f'<text class="name" x="{RIGHT + 7}" y="{y + 4:.1f}">{line.name}</text>')
    return "".join([*parts, "</svg>"])


def _spread(heights: Sequence[float]) -> list[float]:
    """Heights moved upwards as little as possible so that names do not overlap."""
    moved = list(heights)
    below = float("inf")
    for at in sorted(range(len(moved)), key=lambda at: -moved[at]):
        moved[at] = below = min(moved[at], below - APART)
    return moved


def _even(most: float) -> Axis:
    """From 0, with ticks at round numbers."""
    unit = 10.0 ** int(log10(most) // 1)
    step = next(unit * part for part in (0.2, 0.5, 1.0, 2.0) if most / (unit * part) <= 5.0)
    return Axis(0.0, most, [(step * k, _short(step * k)) for k in range(int(most / step * (1.0 + 1e-12)) + 1)])


def _decades(low: float, high: float) -> Axis:
    """In logarithms, with ticks at powers of ten."""
    powers = range(round(log10(low)), int(log10(high) + 1e-12) + 1)
    return Axis(low, high, [(10.0**k, _short(10.0**k)) for k in powers], logarithmic=True)


def _short(value: float) -> str:
    """A number as the label of a tick.

    >>> _short(200_000.0), _short(2_500_000.0), _short(0.5)
    ('200k', '2.5M', '0.5')
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:.4g}"


def best_policy(weather: Weather, day: Day) -> str:
    """The best policy of one weather."""
    return _grid(weather, day.best, day.name, ["cell"] * len(day.best))


def averaged_policy(weather: Weather, day: Day) -> str:
    """The averaged policy in one weather: cells from which it may never arrive, and those where it is trapped."""
    kinds = [
        "trap" if trapped else "stuck" if stuck else "fine"
        for trapped, stuck in zip(day.trapped.tolist(), day.stuck.tolist(), strict=True)
    ]
    return _grid(weather, weather.average.best, day.name, kinds)


def symbol(drawing: str, kind: str = "cell") -> str:
    """One cell for the legend; without a drawing, the start."""
    half = CELL / 2
    return (
        f'<svg viewBox="0 0 {CELL} {CELL}" aria-hidden="true">{_cell(0, 0, kind)}{"" if drawing else _start(0, 0)}'
        f'<g class="in-{kind}" transform="translate({half:g} {half:g})">{drawing}</g></svg>'
    )


def _grid(weather: Weather, policy: Sequence[int], wind: str, kinds: Sequence[str]) -> str:
    width, height = weather.columns * CELL + 2 * MARGIN, weather.rows * CELL + 2 * MARGIN
    parts = [f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="what the policy does in each cell: {wind}">']
    for cell in range(weather.rows * weather.columns):
        row, column = divmod(cell, weather.columns)
        x, y = MARGIN + column * CELL, MARGIN + row * CELL
        is_goal = cell == len(policy)
        kind = "cell" if is_goal else kinds[cell]
        turn, drawing = (0, GOAL) if is_goal else _arrow(ACTIONS[policy[cell]], wind, kind)
        place = f"translate({x + CELL / 2:g} {y + CELL / 2:g}) rotate({turn})"
        parts.append(f'{_cell(x, y, kind)}<g class="in-{kind}" transform="{place}">{drawing}</g>')
    return "".join([*parts, f"{_start(MARGIN, MARGIN)}</svg>"])


def _cell(x: int, y: int, kind: str) -> str:
    return f'<rect class="cell {kind}" x="{x}" y="{y}" width="{CELL}" height="{CELL}"/>'


def _start(x: int, y: int) -> str:
    return f'<rect class="start" x="{x + 3}" y="{y + 3}" width="{CELL - 6}" height="{CELL - 6}" rx="6"/>'


def _arrow(action: str, wind: str, kind: str) -> tuple[int, str]:
    """The rotation in degrees and the drawing of an action; drifting follows the wind up to the border."""
    if action != DRIFT:
        return DEGREES[MOVES[action]], WALK
    if WINDS[wind] not in DEGREES:
        return 0, STILL
    return DEGREES[WINDS[wind]], BLOCKED if kind == "trap" else BLOWN
