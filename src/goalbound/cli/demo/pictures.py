"""The demo's pictures: grids of arrows and one curve, as SVG written by hand. The page's style gives the colours."""

from __future__ import annotations

from collections.abc import Sequence

from goalbound.cli.demo.world import Day, Demo
from goalbound.problems.windy_grid import DRIFT, MOVES, WINDS

CELL, MARGIN = 44, 1
ACTIONS = (*MOVES, DRIFT)
DEGREES = {(0, 1): 0, (1, 0): 90, (0, -1): 180, (-1, 0): 270}
"""How far an arrow that points east is turned for a move of (rows, columns)."""
WALK = '<path class="walk" d="M-12 0H10M4 -6L10 0L4 6"/>'
BLOWN = '<path class="drift" d="M-13 0q3.5 -6 7 0t7 0h9M4.5 -5.5L10 0L4.5 5.5"/>'
BLOCKED = f'{BLOWN}<path class="drift" d="M15 -8V8"/>'
STILL = '<path class="drift" d="M-11 -4q3.7 -5 7.3 0t7.3 0t7.3 0M-11 5q3.7 -5 7.3 0t7.3 0t7.3 0"/>'
GOAL = '<path class="pole" d="M-7 13V-13"/><path class="flag" d="M-6 -13L12 -7L-6 -1Z"/>'
FRAME = (48, 560, 12, 188)
"""left, right, top and bottom of the curve's frame"""
MOST_LOSS = 12.0


def best_policy(demo: Demo, day: Day) -> str:
    """The best policy of one weather."""
    return _grid(demo, day.best, day.name, ["cell"] * len(day.best))


def averaged_policy(demo: Demo, day: Day) -> str:
    """The averaged policy in one weather: cells from where it may never arrive, and those where it is caught."""
    kinds = [
        "trap" if caught else "stuck" if stuck else "fine"
        for caught, stuck in zip(day.trapped.tolist(), day.stuck.tolist(), strict=True)
    ]
    return _grid(demo, demo.average.best, day.name, kinds)


def loss_curve(demo: Demo) -> str:
    """Expected loss against the share of calm: the best policy, and the averaged one."""
    left, right, _, bottom = FRAME
    parts = ['<svg viewBox="0 0 620 236" role="img" aria-label="expected loss against the share of calm">']
    for loss in range(0, int(MOST_LOSS) + 1, 3):
        at = _height(loss)
        parts.append(f'<path class="rule" d="M{left} {at:.1f}H{right}"/>')
        parts.append(f'<text x="{left - 8}" y="{at + 4:.1f}" text-anchor="end">{loss}</text>')
    for share, word in ((1 / 3, "average"), (0.5, "50%"), (2 / 3, "67%"), (5 / 6, "83%"), (1.0, "calm")):
        at = _across(demo, share)
        parts.append(f'<path class="rule" d="M{at:.1f} {bottom}v5"/>')
        parts.append(f'<text x="{at:.1f}" y="{bottom + 19}" text-anchor="middle">{word}</text>')
    middle = (left + right) / 2
    parts.append(f'<text x="{middle:g}" y="{bottom + 40}" text-anchor="middle">share of calm in the context</text>')
    for kind, column in (("best", 1), ("averaged", 2)):
        points = _inside([(point[0], point[column]) for point in demo.curve])
        path = " ".join(f"{_across(demo, share):.1f},{_height(loss):.1f}" for share, loss in points)
        parts.append(f'<polyline class="{kind}" points="{path}"/>')
    return "".join([*parts, "</svg>"])


def symbol(drawing: str, kind: str = "cell") -> str:
    """One cell for the legend; without a drawing, the start."""
    half = CELL / 2
    return (
        f'<svg viewBox="0 0 {CELL} {CELL}" aria-hidden="true">{_cell(0, 0, kind)}{"" if drawing else _start(0, 0)}'
        f'<g class="in-{kind}" transform="translate({half:g} {half:g})">{drawing}</g></svg>'
    )


def _grid(demo: Demo, policy: Sequence[int], wind: str, kinds: Sequence[str]) -> str:
    width, height = demo.columns * CELL + 2 * MARGIN, demo.rows * CELL + 2 * MARGIN
    parts = [f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="what the policy does in each cell: {wind}">']
    for cell in range(demo.rows * demo.columns):
        row, column = divmod(cell, demo.columns)
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
    """How far to turn which drawing; who drifts goes where the wind goes, up to the border."""
    if action != DRIFT:
        return DEGREES[MOVES[action]], WALK
    if WINDS[wind] not in DEGREES:
        return 0, STILL
    return DEGREES[WINDS[wind]], BLOCKED if kind == "trap" else BLOWN


def _across(demo: Demo, share: float) -> float:
    left, right, _, _ = FRAME
    first = demo.curve[0][0]
    return left + (share - first) / (1.0 - first) * (right - left)


def _height(loss: float) -> float:
    _, _, top, bottom = FRAME
    return bottom - loss / MOST_LOSS * (bottom - top)


def _inside(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points up to the top of the frame, with the one where the line leaves it."""
    kept: list[tuple[float, float]] = []
    for share, loss in points:
        if loss > MOST_LOSS:
            before, low = kept[-1]
            kept.append((before + (share - before) * (MOST_LOSS - low) / (loss - low), MOST_LOSS))
            break
        kept.append((share, loss))
    return kept
