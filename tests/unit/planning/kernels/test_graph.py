"""The graph kernels against sets; an edge is an entry with positive probability."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from goalbound.planning.kernels import graph
from tests.reference import kernels as twin
from tests.support import drawn
from tests.support.strategies import examples


def some_usable(data: st.DataObject, **kind: bool) -> tuple:
    rows = data.draw(drawn.problems(**kind))
    usable = data.draw(drawn.masks(len(rows.losses)))
    return rows, usable, twin.pairs_of(rows, usable), twin.states_of(rows)


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
