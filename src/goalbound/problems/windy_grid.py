"""The windy grid: what is best in the average wind never arrives in the calm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.models import LinearCSSP
from goalbound.models.triples import from_triples
from goalbound.problems.checks import check_entries, check_float, check_int

MOVES = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}
DRIFT = "drift"
WINDS = {"calm": (0, 0), "west wind": (0, 1), "north wind": (1, 0)}
GUST = 0.9
"""How often the wind moves what drifts."""


def windy_grid(
    rows: int = 4, columns: int = 6, *, walk_loss: float = 0.4, drift_loss: float = 0.1, slip: float = 0.1
) -> LinearCSSP:
    """A grid to cross from the north-west corner to the south-east one (the goal), under three regimes of wind.

    The components are calm, west wind (it blows east) and north wind (it blows south). To ``drift`` is cheap: the
    wind carries you one cell with probability 0.9; in the calm nothing moves. To walk north, east, south or west is
    costly and works in any wind, but with probability ``slip`` the step is lost to the wind: it carries you one cell,
    or in the calm you stay. The border stops every move.

    In the average of the three winds drifting is best in every cell (for the default losses). In the calm that
    policy never arrives, from anywhere; under the west wind it stops at the eastern border above the goal, under
    the north wind at the southern one. This is the central difficulty of contextual shortest paths: a policy that
    is optimal for one context can be improper in another.

    Proper for every context: the winds blow only towards the goal, so the distance to it never grows while you walk
    towards it, and falls with probability at least 1 - ``slip`` in each step under every mixture: at most
    (rows + columns - 2) / (1 - slip) steps on average.

    >>> grid = windy_grid(2, 3)
    >>> grid
    LinearCSSP(3 components, 5 states, 25 pairs, 65 next states)
    >>> grid.support.next_state[grid.support.row(grid.support.pair("row 1, column 1", "drift"))]  # stay, east, south
    array([0, 1, 3], dtype=int32)
    """
    rows = check_int(rows, "rows", least=1)
    columns = check_int(columns, "columns", least=1 if rows > 1 else 2)
    walk_loss = check_float(walk_loss, "walk_loss", least=0.0, most=1.0)
    drift_loss = check_float(drift_loss, "drift_loss", least=0.0, most=1.0)
    slip = check_float(slip, "slip", least=0.0, most=0.99)
    check_entries(65 * rows * columns, "rows * columns")
    grid = _Grid(rows, columns)
    cells = np.arange(rows * columns - 1)
    carried = [grid.moved(cells, wind) for wind in WINDS.values()]

    parts: list[tuple[int, NDArray[np.int64], float, int | None]] = []  # action, where to, probability, component
    for action, move in enumerate(MOVES.values()):
        parts.append((action, grid.moved(cells, move), 1.0 - slip, None))
        parts.extend((action, where, slip, k) for k, where in enumerate(carried))
    drift = len(MOVES)
    parts.append((drift, cells, 1.0 - GUST, None))
    parts.extend((drift, where, GUST, k) for k, where in enumerate(carried))

    probabilities = np.zeros((len(parts), len(cells), len(WINDS)))
    for part, (_, _, probability, component) in enumerate(parts):
        probabilities[part, :, slice(None) if component is None else component] = probability
    built = from_triples(
        np.tile(cells, len(parts)), np.repeat([part[0] for part in parts], len(cells)),
        np.concatenate([part[1] for part in parts]), probabilities.reshape(-1, len(WINDS)), states=len(cells),
        names=([f"row {c // columns + 1}, column {c % columns + 1}" for c in range(len(cells))], [*MOVES, DRIFT]),
    )  # fmt: skip
    losses = np.full((built.support.pairs, len(WINDS)), walk_loss)
    losses[built.support.pair_action == drift] = drift_loss
    return LinearCSSP(built.support, losses, built.probabilities, 0, tuple(WINDS))


class _Grid(NamedTuple):
    """Cells numbered row by row, so that the last one, the goal, has the number of states."""

    rows: int
    columns: int

    def moved(self, cells: NDArray[np.int64], by: tuple[int, int]) -> NDArray[np.int64]:
        """[n] the cell one move away from each; the border stops."""
        row = np.clip(cells // self.columns + by[0], 0, self.rows - 1)
        column = np.clip(cells % self.columns + by[1], 0, self.columns - 1)
        return np.asarray(row * self.columns + column)
