"""The graph kernels against sets; an edge is an entry with positive probability."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from goalbound.planning.kernels import graph
from goalbound.planning.kernels.chain import Chain
from tests.reference import kernels as twin
from tests.support import drawn
from tests.support.strategies import examples


def some_usable(data: st.DataObject, **kind: bool) -> tuple:
    rows = data.draw(drawn.problems(**kind))
    usable = data.draw(drawn.masks(len(rows.losses)))
    return rows, usable, twin.pairs_of(rows, usable), twin.states_of(rows)


@given(st.data())
@examples(40)
def test_reverse_edges_list_for_each_next_state_the_pairs_that_lead_there(data: st.DataObject) -> None:
    rows, usable, pairs, states = some_usable(data)
    start, pair = np.empty(states + 2, dtype=np.int64), np.empty(len(rows.next_state), dtype=np.int32)
    edges = graph.reverse_edges.python(rows, usable, start, pair)
    assert edges == sum(p > 0 for one in pairs for _, p in one.entries)
    assert start[0] == 0
    assert start[-1] == edges
    for t in range(states + 1):
        assert sorted(pair[start[t] : start[t + 1]]) == twin.leading_to(pairs, t)


@given(drawn.problems())
@examples(40)
def test_moving_pairs_may_leave_their_state(rows: drawn.Rows) -> None:
    usable = np.empty(len(rows.losses), dtype=bool)
    smallest = graph.moving_pairs.python(rows, usable)
    pairs = twin.pairs_of(rows)
    assert usable.tolist() == [bool(pair.edges - {pair.state}) for pair in pairs]
    assert smallest == min((pair.loss for pair in pairs if usable[pair.number]), default=np.inf)


@given(st.data(), st.booleans(), st.sampled_from([0.0, 1e-4, 0.3]))
@examples(35)
def test_a_sweep_marks_states_with_a_likely_enough_way_to_one_marked_before(
    data: st.DataObject, backwards: bool, least: float
) -> None:
    rows, usable, pairs, goal = some_usable(data)
    choice, chance = np.full(goal, -1, dtype=np.int64), np.zeros(goal)
    for _ in range(2):
        found, marked = 0, {s: chance[s] for s in range(goal) if choice[s] >= 0}
        for s in reversed(range(goal)) if backwards else range(goal):
            ways = [
                (pair.number, float(p) if t == goal else 0.9 * float(p) * marked[t])
                for pair in pairs if pair.state == s
                for t, p in pair.entries if p > 0 and (t == goal or t in marked)
            ]  # fmt: skip
            likely = [way for way in ways if way[1] >= least]
            if s not in marked and likely:
                marked[s], found = likely[0][1], found + 1
        before = choice.copy()
        assert graph.sweep_reach.python(rows, usable, backwards, least, choice, chance) == found
        assert {s for s in range(goal) if choice[s] >= 0} == marked.keys()
        assert all(chance[s] == marked[s] for s in marked)
        assert (choice[before >= 0] == before[before >= 0]).all()
        assert all(
            usable[i] and rows.pair_start[s] <= i < rows.pair_start[s + 1] for s, i in enumerate(choice) if i >= 0
        )


@given(st.data(), st.booleans())
@examples(40)
def test_as_many_sweeps_as_states_mark_all_that_can_reach_the_goal(data: st.DataObject, backwards: bool) -> None:
    rows, usable, pairs, goal = some_usable(data)
    choice, chance = np.full(goal, -1, dtype=np.int64), np.zeros(goal)
    for _ in range(goal):
        graph.sweep_reach.python(rows, usable, backwards, 0.0, choice, chance)
    assert set(np.flatnonzero(choice >= 0)) == twin.can_reach(pairs, {goal}).keys() - {goal}
    marked = [pair for pair in pairs if choice[pair.state] == pair.number]
    assert twin.can_reach(marked, {goal}).keys() - {goal} == set(np.flatnonzero(choice >= 0))


@given(st.data())
@examples(35)
def test_backward_reach_lists_states_nearest_first_each_with_a_pair_towards_one_before(data: st.DataObject) -> None:
    rows, usable, pairs, goal = some_usable(data)
    sources = sorted(data.draw(st.sets(st.integers(0, goal), min_size=1)))
    choice, order = np.full(goal, -1, dtype=np.int64), np.full(goal + 1, -7, dtype=np.int64)
    order[: len(sources)] = sources
    choice[[s for s in sources if s < goal]] = 99  # a state of the list keeps what it has
    everything = np.ones(len(usable), dtype=bool)
    reverse = drawn.reverse_of(rows, everything)  # may hold pairs that are not usable
    reached = graph.backward_reach.python(reverse, drawn.pair_states(rows), usable, len(sources), choice, order)
    steps = twin.can_reach(pairs, set(sources))
    assert sorted(order[:reached]) == sorted(steps)
    assert [steps[s] for s in order[:reached]] == sorted(steps.values())
    assert (order[reached:] == -7).all()
    by_number = {pair.number: pair for pair in pairs}
    for place, s in enumerate(order[:reached]):
        if s in sources:
            assert s == goal or choice[s] == 99
        else:
            assert by_number[choice[s]].state == s
            assert by_number[choice[s]].edges & set(order[:place])
    assert {s for s in range(goal) if choice[s] < 0} == set(range(goal)) - steps.keys()


@given(st.data())
@examples(40)
def test_proper_states_reach_the_goal_surely_by_the_choice_and_no_others_can(data: st.DataObject) -> None:
    rows, usable, pairs, goal = some_usable(data)
    choice, room = np.empty(goal, dtype=np.int64), np.empty(goal + 1, dtype=np.int64)
    after = usable.copy()
    reached = graph.proper_states.python(drawn.reverse_of(rows, usable), drawn.pair_states(rows), after, choice, room)
    fine = twin.surely_reach(pairs, goal)
    assert set(np.flatnonzero(choice >= 0)) == fine
    assert reached == len(fine)
    chosen = [pair for pair in pairs if choice[pair.state] == pair.number]
    assert twin.follows_surely(chosen, goal) == fine
    assert set(room[: reached + 1]) == fine | {goal}
    # A pair stays usable if and only if it leads to no lost state.
    assert set(np.flatnonzero(after)) == {pair.number for pair in pairs if pair.edges <= fine | {goal}}


@given(st.data())
@examples(35)
def test_pairs_towards_dead_ends_are_dropped_until_there_is_none(data: st.DataObject) -> None:
    rows, usable, pairs, goal = some_usable(data)
    everything = np.ones(len(usable), dtype=bool)
    graph.drop_dead_ends.python(rows, drawn.reverse_of(rows, everything), drawn.pair_states(rows), usable)
    assert set(np.flatnonzero(usable)) == twin.without_dead_ends(pairs, goal)


@given(drawn.chains(), st.data())
@examples(40)
def test_chain_reach_marks_and_lists_who_comes_to_the_marked(chain: Chain, data: st.DataObject) -> None:
    states = len(chain.stop)
    marked = data.draw(st.lists(st.booleans(), min_size=states, max_size=states))
    weight = twin.dense(chain)
    power = np.linalg.matrix_power(np.eye(states) + (weight > 0.0), states) > 0.0  # within any number of steps
    order, reached = np.full(states, -7, dtype=np.int32), np.array(marked)
    count = graph.chain_reach.python(chain, order, reached)
    assert reached.tolist() == power[:, marked].any(axis=1).tolist()
    assert sorted(order[:count]) == np.flatnonzero(reached).tolist()
    sources = {s for s in range(states) if marked[s]}
    steps = [min(_steps(weight, s, t) for t in sources) for s in order[:count]]
    assert steps == sorted(steps)


def _steps(weight: np.ndarray, source: int, target: int) -> float:
    here, steps = np.eye(len(weight))[source] > 0, 0
    while not here[target]:
        here, steps = (here @ (weight > 0.0)) | here, steps + 1
        if steps > len(weight):
            return np.inf
    return steps


@given(st.data())
@examples(40)
def test_components_are_those_of_scipy_and_edges_never_lead_to_a_higher_number(data: st.DataObject) -> None:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows, usable, pairs, goal = some_usable(data)
    edges = {(pair.state, t) for pair in pairs for t in pair.edges if t != goal}
    source, target = np.array(sorted(edges), dtype=np.int32).reshape(-1, 2).T
    matrix = coo_array((np.ones(len(source)), (source, target)), shape=(goal, goal))
    number, label = connected_components(matrix.tocsr(), connection="strong")
    component = np.full(goal, -1, dtype=np.int64)
    assert graph.components.python(rows, usable, component) == number
    assert sorted(set(component)) == list(range(number))
    assert len(set(zip(component.tolist(), label.tolist(), strict=True))) == number  # the same partition
    assert all(component[t] <= component[s] for s, t in edges)


@given(st.data())
@examples(40)
def test_leaving_pairs_are_those_with_an_edge_out_of_their_component(data: st.DataObject) -> None:
    rows, usable, pairs, goal = some_usable(data)
    component = np.array(data.draw(st.lists(st.integers(0, 2), min_size=goal, max_size=goal)), dtype=np.int64)
    staying = {p.number for p in pairs if all(t != goal and component[t] == component[p.state] for t in p.edges)}
    changed = graph.leaving_pairs.python(rows, component, usable)
    assert set(np.flatnonzero(usable)) == staying
    assert changed == len(pairs) - len(staying)


@given(st.data())
@examples(35)
def test_a_quotient_holds_the_pairs_that_leave_their_class(data: st.DataObject) -> None:
    rows, usable, pairs, goal = some_usable(data)
    draws = np.array(data.draw(st.lists(st.integers(0, 3), min_size=goal, max_size=goal)), dtype=np.int64)
    kept = draws < 3  # the others are as good as the goal
    names, numbers = np.unique(draws[kept], return_inverse=True)
    classes = len(names)
    class_of = np.full(goal, classes, dtype=np.int32)
    class_of[kept] = numbers
    members = np.flatnonzero(kept)
    members = members[np.argsort(class_of[members], kind="stable")]
    expected = twin.quotient(pairs, [*class_of, classes], classes)
    small = drawn.Rows(
        np.empty(classes + 1, dtype=np.int64),
        np.empty(len(usable) + 1, dtype=np.int64),
        np.empty(len(rows.next_state), dtype=np.int32),
        np.empty(len(usable)),
        np.empty(len(rows.next_state)),
    )
    origin = np.empty(len(usable), dtype=np.int64)
    filled = graph.fill_quotient.python(rows, usable, members, class_of, classes, small, origin)
    assert filled == sum(len(entries) for _, _, entries in expected)
    assert np.diff(small.pair_start).tolist() == [sum(own == c for own, _, _ in expected) for c in range(classes)]
    assert small.next_start[: len(expected) + 1].tolist() == np.cumsum([0, *(len(e) for _, _, e in expected)]).tolist()
    small = small._replace(next_start=small.next_start[: len(expected) + 1])
    found = [(pair.state, int(origin[pair.number]), pair.entries) for pair in twin.pairs_of(small)]
    assert found == expected
    assert small.losses[: len(expected)].tolist() == rows.losses[origin[: len(expected)]].tolist()
