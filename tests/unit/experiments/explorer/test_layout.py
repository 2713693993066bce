"""Where states are drawn."""

import numpy as np

from goalbound.experiments.explorer.layout import goal_distances, make_layout
from goalbound.models import Support
from goalbound.problems import random_cssp, windy_grid


def test_states_that_are_named_by_row_and_column_are_on_a_grid_with_the_goal_in_the_last_cell():
    support = windy_grid(3, 4).support
    layout = make_layout(support)
    assert (layout.kind, layout.size, layout.goal) == ("grid", (4, 3), (3.0, 2.0))
    assert layout.places[support.state("row 2, column 3")] == (2.0, 1.0)
    assert layout.moves[support.action("east")] == (1, 0)
    assert support.action("drift") not in layout.moves


def test_numbered_states_are_put_row_by_row_on_the_grid_that_is_asked_for():
    lake = Support.from_pairs([{0: [1]}, {0: [2]}], state_names=["observation 0", "observation 5"], action_names=["Up"])
    layout = make_layout(lake, grid=(2, 4))
    assert layout.places == [(0.0, 0.0), (1.0, 1.0)]
    assert layout.goal == (3.0, 1.0)
    assert dict(layout.moves) == {0: (0, -1)}
    assert make_layout(Support.full(4, 1), grid=(2, 2)).goal is None  # a state is in the last cell


def test_a_graph_has_every_state_at_a_place_of_its_own_and_the_goal_at_the_right():
    support = random_cssp(20).support
    layout = make_layout(support)
    assert layout.kind == "graph"
    assert len({*layout.places, layout.goal}) == 21
    assert all(x < layout.goal[0] for x, _ in layout.places)
    assert max(np.unique([x for x, _ in layout.places], return_counts=True)[1]) <= 7


def test_distances_are_the_fewest_moves_and_states_without_a_way_are_farthest():
    chain = Support.from_pairs([{0: [1]}, {0: [2]}, {0: [0, 4]}, {0: [3]}])
    assert goal_distances(chain).tolist() == [3, 2, 1, 4]
