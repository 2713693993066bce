"""Where the states of a problem are drawn: on a grid if it has one, else in layers by the distance to the goal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from goalbound.errors import ArgumentError
from goalbound.models import LinearCSSP, Support

MOST_DRAWN = 40
"""States of a graph; more are listed in a table only."""
MOST_CELLS = 900
"""Cells of a grid that are drawn."""
MOST_IN_LAYER = 7
"""States below each other; a longer layer is cut into several."""
GRID, GRAPH, TABLE = "grid", "graph", "table"
MOVES = {
    "north": (0, -1), "up": (0, -1), "south": (0, 1), "down": (0, 1),
    "east": (1, 0), "right": (1, 0), "west": (-1, 0), "left": (-1, 0),
}  # fmt: skip
"""Actions that point somewhere on a grid: (columns, rows)."""
_CELL = re.compile(r"row (\d+), column (\d+)")
_NUMBERED = re.compile(r"\D*(\d+)")

Place = tuple[float, float]


@dataclass(frozen=True)
class Layout:
    """How states are drawn.

    Attributes:
        kind: ``grid``, ``graph`` or ``table``.
        places: (x, y) of each state, in cells; empty for a table.
        goal: of the goal; None where it is not drawn.
        size: columns and rows.
        moves: of a grid: the direction of each action whose name is one.
    """

    kind: str
    places: Sequence[Place] = ()
    goal: Place | None = None
    size: tuple[int, int] = (0, 0)
    moves: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """What the page reads."""
        return {
            "kind": self.kind, "places": [list(place) for place in self.places],
            "goal": None if self.goal is None else list(self.goal), "size": list(self.size),
            "moves": {str(action): list(move) for action, move in self.moves.items()},
        }  # fmt: skip


def make_layout(support: Support, *, grid: tuple[int, int] | None = None) -> Layout:
    """The layout of a problem.

    Args:
        support: states whose names are all ``row 2, column 3`` are on a grid.
        grid: rows and columns, for states that are numbered row by row: by the last number of their names
            (``observation 14``), or by their own numbers where they have no names.

    >>> make_layout(Support.full(2, 1)).places
    [(0.0, 0.0), (0.0, 1.0)]
    """
    cells = _named_cells(support) if grid is None else _numbered_cells(support, *grid)
    if cells is not None:
        return _grid_layout(support, cells, grid)
    if support.states > MOST_DRAWN:
        return Layout(TABLE)
    return _graph_layout(support)


def mean_moves(layout: Layout, problem: LinearCSSP) -> dict[str, list[list[float]]]:
    """By pair, of the actions whose names are no directions: how far they lead on average in each component, [d][2].

    For pages without the rows of the problem.

    >>> from goalbound.problems import windy_grid
    >>> grid = windy_grid(2, 2)
    >>> mean_moves(make_layout(grid.support), grid)["4"]  # drifting: calm, west wind, north wind
    [[0.0, 0.0], [0.9, 0.0], [0.0, 0.9]]
    """
    support = problem.support
    places = np.array([*layout.places, layout.goal or (np.nan, np.nan)])
    found = {}
    for pair in range(support.pairs):
        if int(support.pair_action[pair]) in layout.moves:
            continue
        row = support.row(pair)
        moves = np.nan_to_num(places[support.next_state[row]] - places[support.pair_state[pair]])
        found[str(pair)] = np.round(problem.probabilities[row].T @ moves, 4).tolist()
    return found


def _named_cells(support: Support) -> list[tuple[int, int]] | None:
    """(row, column) of each state by its name, from 0; None unless all states have one of their own."""
    found = [_CELL.fullmatch(name) for name in support.state_names or ()]
    cells = [(int(one[1]) - 1, int(one[2]) - 1) for one in found if one is not None]
    rows, columns = (max((cell[side] for cell in cells), default=0) + 1 for side in (0, 1))
    whole = len(cells) == support.states and len(set(cells)) == len(cells)
    return cells if whole and rows * columns <= MOST_CELLS else None


def _numbered_cells(support: Support, rows: int, columns: int) -> list[tuple[int, int]]:
    if rows < 1 or columns < 1 or rows * columns > MOST_CELLS:
        raise ArgumentError(f"a grid of {rows} x {columns} cells cannot be drawn; it has 1 to {MOST_CELLS} cells")
    cells = []
    for state in range(support.states):
        found = _NUMBERED.fullmatch(support.state_names[state]) if support.state_names else None
        number = state if support.state_names is None else int(found[1]) if found is not None else -1
        if not 0 <= number < rows * columns:
            raise ArgumentError(
                f"{support.state_name(state)} has no place on a grid of {rows} x {columns} cells, which are numbered "
                f"row by row from 0 to {rows * columns - 1}; give another grid, or none"
            )
        cells.append(divmod(number, columns))
    if len(set(cells)) < len(cells):
        raise ArgumentError(f"two states have the same place on a grid of {rows} x {columns} cells; give another grid")
    return cells


def _grid_layout(support: Support, cells: Sequence[tuple[int, int]], grid: tuple[int, int] | None) -> Layout:
    """States in their cells; the goal is in the last cell, unless a state is there."""
    rows, columns = grid or (max(cell[0] for cell in cells) + 1, max(cell[1] for cell in cells) + 1)
    last = (rows - 1, columns - 1)
    moves = {
        action: MOVES[name.lower()]
        for action, name in enumerate(support.action_names or ())
        if name.lower() in MOVES
    }  # fmt: skip
    return Layout(
        GRID, [(float(column), float(row)) for row, column in cells],
        None if last in cells else (float(last[1]), float(last[0])), (columns, rows), moves,
    )  # fmt: skip


def _graph_layout(support: Support) -> Layout:
    """The goal at the right, each state as far to the left as it is moves away from it."""
    distance = goal_distances(support)
    layers: list[list[int]] = []
    for far in sorted(set(distance.tolist()), reverse=True):
        states = np.flatnonzero(distance == far).tolist()
        parts = -(-len(states) // MOST_IN_LAYER)
        layers.extend(part.tolist() for part in np.array_split(np.array(states), parts))
    tallest = max(map(len, layers))
    places: list[Place] = [(0.0, 0.0)] * support.states
    for x, layer in enumerate(layers):
        for at, state in enumerate(layer):
            places[state] = (float(x), at + (tallest - len(layer)) / 2.0)
    return Layout(GRAPH, places, (float(len(layers)), (tallest - 1) / 2.0), (len(layers) + 1, tallest))


def goal_distances(support: Support) -> np.ndarray[Any, np.dtype[np.int64]]:
    """[S] the fewest moves to the goal that the support allows; where there are none, one more than the most.

    >>> goal_distances(Support.from_pairs([{0: [1]}, {0: [0, 2]}]))
    array([2, 1])
    """
    state_of = np.repeat(support.pair_state, np.diff(support.next_start))
    distance = np.full(support.states + 1, -1, dtype=np.int64)
    distance[-1] = far = 0
    while True:
        reached = distance[support.next_state] == far
        new = np.unique(state_of[reached])
        new = new[distance[new] < 0]
        if not len(new):
            break
        far += 1
        distance[new] = far
    return np.where(distance[:-1] < 0, far + 1, distance[:-1])
