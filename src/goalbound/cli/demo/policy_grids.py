"""Policies of the windy grid as SVG: an arrow in each cell. The page gives the colours."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from goalbound.cli.demo.planning import Day, Weather
from goalbound.problems.windy_grid import DRIFT, MOVES, WINDS

CELL, MARGIN = 44, 1
ACTIONS = (*MOVES, DRIFT)
DEGREES = {(0, 1): 0, (1, 0): 90, (0, -1): 180, (-1, 0): 270}
"""The rotation of an arrow that points east, by the move (rows, columns)."""
WALK = '<path class="walk" d="M-12 0H10M4 -6L10 0L4 6"/>'
BLOWN = '<path class="drift" d="M-13 0q3.5 -6 7 0t7 0h9M4.5 -5.5L10 0L4.5 5.5"/>'
BLOCKED = f'{BLOWN}<path class="drift" d="M15 -8V8"/>'
STILL = '<path class="drift" d="M-11 -4q3.7 -5 7.3 0t7.3 0t7.3 0M-11 5q3.7 -5 7.3 0t7.3 0t7.3 0"/>'
GOAL = '<path class="pole" d="M-7 13V-13"/><path class="flag" d="M-6 -13L12 -7L-6 -1Z"/>'


def best_policy(weather: Weather, day: Day) -> Markup:
    """The best policy of one weather."""
    return _grid(weather, day.best, day.name, ["cell"] * len(day.best))


def averaged_policy(weather: Weather, day: Day) -> Markup:
    """The averaged policy in one weather: cells from which it may never arrive, and those where it is trapped."""
    kinds = [
        "trap" if trapped else "stuck" if stuck else "fine"
        for trapped, stuck in zip(day.trapped.tolist(), day.stuck.tolist(), strict=True)
    ]
    return _grid(weather, weather.average.best, day.name, kinds)


def symbol(drawing: str, kind: str = "cell") -> Markup:
    """One cell for the legend; without a drawing, the start."""
    half = CELL / 2
    return Markup(
        f'<svg viewBox="0 0 {CELL} {CELL}" aria-hidden="true">{_cell(0, 0, kind)}{"" if drawing else _start(0, 0)}'
        f'<g class="in-{kind}" transform="translate({half:g} {half:g})">{drawing}</g></svg>'
    )


def _grid(weather: Weather, policy: Sequence[int], wind: str, kinds: Sequence[str]) -> Markup:
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
    return Markup("".join([*parts, f"{_start(MARGIN, MARGIN)}</svg>"]))


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
