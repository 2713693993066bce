"""Roads: links with times, drivers who miss turns, traffic regimes as components; a city of straight streets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ModelError
from goalbound.models import LinearCSSP
from goalbound.models.ssp import Start
from goalbound.models.triples import from_triples
from goalbound.models.validation import check_array, check_type, generator_from_seed, readonly_copy
from goalbound.problems.checks import check_entries, check_float, check_int

HEADINGS = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}
JAMMED_SHARE = 0.3


@dataclass(frozen=True, eq=False)
class Regime:
    """One kind of traffic.

    Attributes:
        name: of the component.
        times: [L] the time of each link, finite and not negative.
        missed_turn: the probability, below 1, that a driver who has a choice ends on another outgoing link of the
            node, each with the same probability.

    >>> Regime("rush hour", np.array([3.0, 1.0]), 0.05).missed_turn
    0.05
    """

    name: str
    times: NDArray[np.float64]
    missed_turn: float = 0.0

    def __post_init__(self) -> None:
        check_type(self.name, str, "the name of a regime", "it is a text")
        times = check_array(self.times, f'the times of regime "{self.name}"', (None,), "shape [L], one per link")
        bad = np.flatnonzero(~(np.isfinite(times) & (times >= 0.0)))
        if len(bad):
            raise ModelError(
                f'regime "{self.name}": link {bad[0]} has time {times[bad[0]]}; times are finite and not negative'
            )
        object.__setattr__(self, "times", readonly_copy(times, np.float64))
        missed = check_float(self.missed_turn, f'the missed_turn of regime "{self.name}"', least=0.0, most=1.0)
        if missed == 1.0:
            raise ModelError(f'the missed_turn of regime "{self.name}" is 1; nobody would arrive, keep it below 1')
        object.__setattr__(self, "missed_turn", missed)


@dataclass(frozen=True, eq=False)
class Links:
    """The links that drivers may use, as pairs: tail and action name a pair, and no two links share one.

    Attributes:
        tail: [L] the state that a link leaves.
        head: [L] the state that it leads to; ``states`` is the goal.
        action: [L] the action that takes it.
        states: S; every state has at least one link.
    """

    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    action: NDArray[np.int64]
    states: int


def road_problem(
    links: Links,
    *,
    regimes: Sequence[Regime],
    start: Start = 0,
    state_names: Sequence[str] | None = None,
    action_names: Sequence[str] | None = None,
) -> LinearCSSP:
    """The contextual problem of driving on these links; the regimes are its components.

    The loss is time divided by the longest link time of any regime, which is the ``loss_scale`` (1 where all times
    are zero). A missed turn costs the time of the link it leads to, so the loss of a pair is an expectation.

    If the goal can be reached from every state over these links, then a proper policy exists for every context:
    follow a path; each turn of it is taken with probability at least 1 - max missed_turn, and a missed one leads to
    another state of which the same holds.
    """
    missed = np.array([regime.missed_turn for regime in regimes])
    times = np.column_stack([regime.times for regime in regimes])
    intended, taken, weights = _turns(links.tail, links.states, missed)
    built = from_triples(
        links.tail[intended], links.action[intended], links.head[taken], weights, states=links.states,
        names=(state_names, action_names),
    )  # fmt: skip
    longest = float(times.max())
    scale = longest if longest > 0.0 else 1.0
    expected = weights * (times[taken] / scale)
    columns = [np.bincount(built.pair_of, weights=column, minlength=built.support.pairs) for column in expected.T]
    losses = np.minimum(np.column_stack(columns), 1.0)  # a mean of numbers up to 1 may round to just above 1
    names = tuple(regime.name for regime in regimes)
    return LinearCSSP(built.support, losses, built.probabilities, start, names, scale)


def _turns(
    tail: NDArray[np.int64], states: int, missed: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Every (intended link, taken link) of a node, and the probability [K, d] of taking it in each regime."""
    order = np.argsort(tail, kind="stable")
    degree = np.bincount(tail, minlength=states)
    first = np.cumsum(degree) - degree
    choices = degree[tail[order]]  # [L] how many links its node has
    intended = np.repeat(order, choices)
    within = np.arange(len(intended)) - np.repeat(np.cumsum(choices) - choices, choices)
    taken = order[first[tail[intended]] + within]
    others = np.repeat(choices, choices)[:, None] - 1
    wrong = missed / np.maximum(others, 1)
    right = np.where(others > 0, 1.0 - missed, 1.0)
    return intended, taken, np.where((intended == taken)[:, None], right, wrong)


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
