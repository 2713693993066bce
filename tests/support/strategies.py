"""Hypothesis strategies for problems: small, ragged, and full of what breaks planners.

Zero losses are frequent, so free loops are; rows are sparse, so dead ends are; ``tiny`` problems leave their states
with probabilities down to 1e-12.

``GOALBOUND_EXAMPLES=20 pytest tests/properties`` tries twenty times as many examples, other ones at each run.
"""

from __future__ import annotations

import os

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from goalbound.models import SSP, LinearCSSP, Support

EXAMPLES_FACTOR = int(os.environ.get("GOALBOUND_EXAMPLES", "1"))

Weights = dict[int, float]
"""the next states of a row, with weights that need not sum to 1"""

Table = list[dict[int, tuple[float, Weights]]]
"""for each state, for each of its actions: the loss and the row"""

losses = st.one_of(
    st.sampled_from([0.0, 0.0, 0.0, 0.25, 0.5, 1.0, 0.1, 0.3]),
    st.floats(0.0, 1.0, allow_subnormal=False).map(lambda x: round(x, 6)),
)
"""a loss: zero about half of the time"""

exit_probabilities = st.sampled_from([1e-6, 1e-9, 1e-12])


def examples(count: int) -> settings:
    """So many examples, times the factor asked for."""
    return settings(max_examples=count * EXAMPLES_FACTOR)


def weights(targets: list[int], most: int = 3) -> st.SearchStrategy[Weights]:
    """A sparse row over some of the targets."""
    return st.dictionaries(st.sampled_from(targets), st.integers(1, 8).map(float), min_size=1, max_size=most)


@st.composite
def exit_rows(draw: st.DrawFn, state: int, states: int, *, tiny: bool) -> Weights:
    """A row that leads to a smaller state or to the goal (and maybe elsewhere): playing such a row everywhere is
    proper, because the smaller state has such a row too."""
    target = draw(st.sampled_from([states, *range(state)]))
    row = draw(st.one_of(st.just({}), weights(list(range(states + 1)))))
    others = {following: weight for following, weight in row.items() if following != target}
    if not (tiny and others):
        return {**row, target: row.get(target, float(draw(st.integers(1, 8))))}
    leave = draw(exit_probabilities)
    total = sum(others.values())
    return {**{following: weight / total * (1.0 - leave) for following, weight in others.items()}, target: leave}


@st.composite
def action_sets(draw: st.DrawFn, *, most_states: int, most_actions: int) -> list[list[int]]:
    """For each state its actions, in no particular order; the first is the one that may be made an exit."""
    states = draw(st.integers(1, most_states))
    some = st.lists(st.integers(0, most_actions - 1), min_size=1, max_size=most_actions, unique=True)
    return [draw(some) for _ in range(states)]


@st.composite
def tables(draw: st.DrawFn, actions: list[list[int]], *, proper: bool, tiny: bool = False) -> Table:
    """A loss and a row of weights for each pair; with ``proper``, the first action of each state is an exit."""
    states = len(actions)
    table: Table = []
    for state, numbers in enumerate(actions):
        rows = {a: (draw(losses), draw(weights(list(range(states + 1))))) for a in numbers}
        if proper:
            rows[numbers[0]] = (draw(losses), draw(exit_rows(state, states, tiny=tiny)))
        table.append(rows)
    return table


def ssp_from(table: Table, start: object = 0) -> SSP:
    """The problem of a table; weights are divided by their sum."""
    support = Support.from_pairs([{a: row.keys() for a, (_, row) in actions.items()} for actions in table])
    flat = [row for actions in table for _, row in sorted(actions.items())]
    chances = [row[t] / sum(row.values()) for _, row in flat for t in sorted(row)]
    return SSP(support, np.array([loss for loss, _ in flat]), np.array(chances), start)  # type: ignore[arg-type]


def ssps(*, proper: bool, most_states: int = 4, most_actions: int = 3, tiny: bool = False) -> st.SearchStrategy[SSP]:
    """Problems in which every state has a proper policy (``proper``), or any problems at all."""
    pairs = action_sets(most_states=most_states, most_actions=most_actions)
    return pairs.flatmap(lambda actions: tables(actions, proper=proper, tiny=tiny)).map(ssp_from)


def start_laws(states: int) -> st.SearchStrategy[object]:
    """A start: a state, or a distribution."""
    shares = st.lists(st.integers(0, 5), min_size=states, max_size=states).filter(any)
    return st.one_of(st.integers(0, states - 1), shares.map(lambda share: np.array(share) / np.sum(share)))


def contexts(size: int) -> st.SearchStrategy[np.ndarray]:
    """A point of the simplex; corners and edges are frequent."""
    shares = st.lists(st.integers(0, 4), min_size=size, max_size=size).filter(any)
    return shares.map(lambda share: np.array(share) / np.sum(share))


@st.composite
def linear_cssps(draw: st.DrawFn, *, proper: bool, most_states: int = 4, most_components: int = 3) -> LinearCSSP:
    """Contextual problems. Components lead to different next states, so rows under a context may hold zeros. With
    ``proper`` every context has a proper policy: a mixture of exits is an exit."""
    actions = draw(action_sets(most_states=most_states, most_actions=2))
    size = draw(st.integers(1, most_components))
    parts = [ssp_from(draw(tables(actions, proper=proper)), draw(start_laws(len(actions)))) for _ in range(size)]
    return LinearCSSP.mix(parts)


@st.composite
def loose_transitions(draw: st.DrawFn) -> list[tuple[int, int, int, float, float]]:
    """What ``SSP.from_transitions`` takes: shuffled, with transitions cut in pieces, each piece with its own loss."""
    table = draw(tables(draw(action_sets(most_states=4, most_actions=3)), proper=True))
    loose = []
    for state, actions in enumerate(table):
        for action, (_, row) in actions.items():
            for following, weight in row.items():
                pieces = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
                share = weight / sum(row.values()) / sum(pieces)
                loose.extend((state, action, following, share * piece, draw(losses)) for piece in pieces)
    return draw(st.permutations(loose))
