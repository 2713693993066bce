"""Routing in a city of straight streets, under traffic jams."""

from __future__ import annotations

import numpy as np

from goalbound.models import LinearCSSP
from goalbound.models.validation import generator_from_seed
from goalbound.problems.checks import check_entries, check_float, check_int
from goalbound.problems.roads import Links, Regime, road_problem

HEADINGS = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}
JAMMED_SHARE = 0.3


def routing_grid(
    rows: int = 5,
    columns: int = 5,
    *,
    regimes: int = 3,
    jam: float = 4.0,
    missed_turn: float = 0.05,
    seed: int | np.random.Generator = 0,
) -> LinearCSSP:
    """Crossings joined by two-way streets; drive from the north-west corner to the south-east one (the goal).

    The actions of a crossing are the streets that leave it: two to four. Free-flow times are uniform in [1, 2]
    minutes. The components are traffic regimes: free flow, and ``regimes`` - 1 jams, each of which multiplies the
    times of its own random 30 % of the directed streets by ``jam``. In free flow no turn is missed; in a jam a
    driver ends on another street of the crossing with probability ``missed_turn``. ``loss_scale`` is the longest
    time, in minutes.

    Proper for every context: drive along a shortest path; each of its turns is taken with probability at least
    1 - ``missed_turn`` under every mixture, and a missed turn leads to another crossing of the grid.

    >>> grid = routing_grid(2, 2)
    >>> grid
    LinearCSSP(3 components, 3 states, 6 pairs, 12 next states)
    >>> grid.component_names
    ('free flow', 'jam 1', 'jam 2')
    """
    rows = check_int(rows, "rows", least=1)
    columns = check_int(columns, "columns", least=1 if rows > 1 else 2)
    regimes = check_int(regimes, "regimes", least=1)
    jam = check_float(jam, "jam", least=1.0, most=1e6)
    missed_turn = check_float(missed_turn, "missed_turn", least=0.0, most=0.99)
    check_entries(16 * rows * columns * regimes, "rows * columns * regimes")
    rng = generator_from_seed(seed)

    crossing = np.arange(rows * columns - 1)  # the last one is the goal
    row, column = crossing // columns, crossing % columns
    tails, heads, actions = [], [], []
    for action, (down, right) in enumerate(HEADINGS.values()):
        inside = (row + down >= 0) & (row + down < rows) & (column + right >= 0) & (column + right < columns)
        tails.append(crossing[inside])
        heads.append((crossing + down * columns + right)[inside])
        actions.append(np.full(int(inside.sum()), action))
    links = Links(np.concatenate(tails), np.concatenate(heads), np.concatenate(actions), len(crossing))

    free = rng.uniform(1.0, 2.0, size=len(links.tail))
    traffic = [Regime("free flow", free)]
    for number in range(1, regimes):
        jammed = rng.random(len(free)) < JAMMED_SHARE
        traffic.append(Regime(f"jam {number}", np.where(jammed, jam * free, free), missed_turn))
    return road_problem(
        links, regimes=traffic, action_names=list(HEADINGS),
        state_names=[f"row {r + 1}, column {c + 1}" for r, c in zip(row, column, strict=True)],
    )  # fmt: skip
