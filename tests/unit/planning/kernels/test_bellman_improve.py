"""Which pairs a state switches to, and that none is skipped that would have switched."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from goalbound.planning.kernels import bellman
from tests.reference import kernels as twin
from tests.support import drawn
from tests.support.strategies import examples

NOTHING = np.empty(0)


def gains_of(rows: drawn.Rows, usable: np.ndarray, values: np.ndarray, low: np.ndarray) -> list[dict[int, float]]:
    """For each state, the advantage of each usable pair."""
    table: list[dict[int, float]] = [{} for _ in range(twin.states_of(rows))]
    for pair in twin.pairs_of(rows, usable):
        table[pair.state][pair.number] = bellman.advantage.python(rows, pair.state, pair.number, values, low)
    return table


def lowest_best(gains: dict[int, float]) -> int:
    return min(gains, key=lambda i: (gains[i], i))


def improve(*arguments: object) -> int:
    return bellman.improve.python(*arguments)


def a_case(data: st.DataObject) -> tuple:
    rows = data.draw(drawn.problems())
    usable = drawn.moving(rows) & data.draw(drawn.masks(len(rows.losses)))
    policy = data.draw(drawn.policies(rows, usable))
    policy[~data.draw(drawn.masks(len(policy)))] = -1
    return rows, usable, policy, data.draw(drawn.values(len(policy)))


@given(st.data(), st.booleans(), st.booleans())
@examples(40)
def test_states_switch_to_their_best_pair_if_it_is_better_by_more_than_the_margin(
    data: st.DataObject, sharp: bool, demanding: bool
) -> None:
    rows, usable, policy, values = a_case(data)
    low = values * 2.0**-55 if sharp else NOTHING
    margin = data.draw(drawn.vectors(len(policy), 0.0, 0.5)) if demanding else NOTHING
    expected, gains = policy.copy(), gains_of(rows, usable, values, low)
    for s, i in enumerate(policy):
        if i >= 0:
            best = lowest_best(gains[s])
            if gains[s][best] < gains[s][i] - (margin[s] if demanding else 0.0):
                expected[s] = best
    found, settled = policy.copy(), np.zeros(len(policy))
    switched = improve(rows, usable, values, low, margin, 0.0, settled, found)
    assert found.tolist() == expected.tolist()
    assert switched == np.count_nonzero(expected != policy)
    for s, i in enumerate(found):  # a lead is the distance to the next best
        if i >= 0 and i == lowest_best(gains[s]):
            others = [gain for other, gain in gains[s].items() if other != i]
            assert settled[s] == min(others, default=np.inf) - gains[s][i]
        else:
            assert settled[s] == 0.0


@given(st.data(), st.booleans())
@examples(35)
def test_ties_go_to_the_lowest_pair_and_pairs_that_are_worse_do_not_tie(data: st.DataObject, sharp: bool) -> None:
    rows = data.draw(drawn.problems(proper=True))
    states, pairs = twin.states_of(rows), twin.pairs_of(rows)
    doubled = drawn.rows_from([
        [(float(pair.loss), [(t, float(p)) for t, p in pair.entries]) for pair in pairs if pair.state == s] * 2
        for s in range(states)
    ])  # fmt: skip
    usable, counts = drawn.moving(doubled), np.diff(rows.pair_start)
    policy = doubled.pair_start[:-1] + counts  # the second copy of a proper policy
    weight, _ = twin.moves_of(doubled, policy)
    chain = np.eye(states) - weight
    played = [twin.pairs_of(doubled)[i] for i in policy]
    loss = [float(pair.total * pair.loss / pair.moving) for pair in played]
    values = np.append(np.linalg.solve(chain, loss), 0.0)
    low = np.zeros(states + 1) if sharp else NOTHING
    out = np.empty(states, dtype=np.int64)
    settled = np.zeros(states)
    changed = bellman.lowest_ties.python(doubled, usable, values, low, 0.0, settled, policy, out)
    assert changed == np.count_nonzero(out != policy) == states  # the first copy ties, or one before it
    gains = gains_of(doubled, usable, values, low)
    for s in range(states):
        current = gains[s][policy[s]]
        margin = 2.0 * abs(current) + 1e-13 * doubled.losses[policy[s]]
        tied = [i for i in gains[s] if gains[s][i] <= current + margin]
        assert out[s] <= policy[s] - counts[s]
        assert out[s] == min(tied)
    led = np.full(states, 2.0**-10 * values.max() + 1.0)
    assert bellman.lowest_ties.python(doubled, usable, values, low, 0.0, led, policy, out) == 0
    assert (out == policy).all()


@given(st.data(), st.sampled_from([1e-3, 0.1, 1.0]))
@examples(35)
def test_ties_are_raised_to_the_pair_by_which_the_shape_falls_least(data: st.DataObject, least: float) -> None:
    rows, usable, policy, values = a_case(data)
    if data.draw(st.booleans()):
        values[:-1] = 1.0  # so that pairs without loss that stay away from the goal tie exactly
    shape = np.append(data.draw(drawn.vectors(len(policy), 0.1, 10.0)), 0.0)
    gains, h = gains_of(rows, usable, values, NOTHING), twin.exactly(shape)
    expected, pairs = policy.copy(), twin.pairs_of(rows)
    for s, i in enumerate(policy):
        tied = [j for j in gains[s] if gains[s][j] <= 2.0**-30 * rows.losses[j] + 2.0**-44 * values[s]]
        falls = {j: float(-twin.change(pairs[j], h) / pairs[j].moving) for j in tied}
        low_ones = {j: fall for j, fall in falls.items() if fall < least}
        if i >= 0 and low_ones:
            expected[s] = min(low_ones, key=lambda j: (low_ones[j], j))
    found = policy.copy()
    switched = bellman.raise_ties.python(rows, usable, found, values, NOTHING, shape, least)
    for s in range(len(policy)):
        if found[s] != expected[s]:  # two falls that differ by rounding only
            fall = [-twin.change(pairs[j], h) / pairs[j].moving for j in (found[s], expected[s])]
            assert abs(fall[0] - fall[1]) <= 1e-14 * shape.max()
    assert switched == np.count_nonzero(found != policy)
