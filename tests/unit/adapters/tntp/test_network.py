import numpy as np
import pytest

from goalbound.adapters.tntp import (
    Network,
    Regime,
    link_times,
    routing_problem,
    stranded_nodes,
)
from goalbound.errors import InputError
from goalbound.planning import is_proper, solve
from tests.support.networks import network


def test_the_time_of_a_link_is_that_of_the_bureau_of_public_roads():
    roads = network([1, 2], [2, 1], times=[6, 0])
    # 6 (1 + 0.15 (20 / 10)^4) = 6 (1 + 0.15 * 16) = 20.4; a link of no time has none at any volume
    assert link_times(roads, [20, 20]) == pytest.approx([20.4, 0.0], abs=1e-12)
    assert link_times(roads, [0, 0]).tolist() == [6, 0]


def test_a_link_of_no_capacity_has_its_free_flow_time_only_while_it_is_empty():
    roads = Network(
        init=[1], term=[2], capacity=[0], length=[1], free_flow_time=[3], b=[0.15], power=[4], nodes=2
    )  # fmt: skip
    assert link_times(roads, [0]).tolist() == [3]
    with pytest.raises(InputError, match=r"link 0 \(node 1 to node 2\) has volume 2 and capacity 0, .* infinite"):
        link_times(roads, [2])


@pytest.mark.parametrize("volume", [-1.0, np.nan, np.inf])
def test_volumes_are_finite_and_not_negative(volume):
    with pytest.raises(InputError, match=r"link 1 .* volumes are finite"):
        link_times(network([1, 2], [2, 1], times=[1, 1]), [0.0, volume])


def test_a_network_made_by_hand_is_checked_too():
    with pytest.raises(InputError, match=r"link 1: term 3 is not a node"):
        Network(init=[1, 2], term=[2, 3], capacity=[1, 1], length=[1, 1], free_flow_time=[1, 1], b=[1, 1],
                power=[1, 1], nodes=2)  # fmt: skip
    with pytest.raises(InputError, match=r"capacity has shape \(1,\); it needs 2 numbers"):
        Network(init=[1, 2], term=[2, 1], capacity=[1], length=[1, 1], free_flow_time=[1, 1], b=[1, 1],
                power=[1, 1], nodes=2)  # fmt: skip


def test_states_are_nodes_and_actions_are_links_and_a_missed_turn_takes_another_link():
    roads = network([1, 1, 1, 2, 3], [2, 3, 4, 4, 4], times=[1, 2, 8, 4, 5])
    problem = routing_problem(
        roads, destination=4, origin=1,
        regimes=[Regime("calm", roads.free_flow_time), Regime("rush", 2 * roads.free_flow_time, missed_turn=0.3)],
    )  # fmt: skip
    assert problem.support.state_names == ("node 1", "node 2", "node 3")
    assert problem.support.action_names == ("to node 2", "to node 3", "to node 4")
    assert problem.component_names == ("calm", "rush")
    assert problem.loss_scale == 16  # the longest time: 2 * 8
    assert problem.start == 0
    pair = problem.support.pair("node 1", "to node 3")
    assert problem.support.next_state[problem.support.row(pair)].tolist() == [1, 2, 3]
    assert problem.probabilities[problem.support.row(pair)].tolist() == [[0, 0.15], [1, 0.7], [0, 0.15]]
    # calm: 2 / 16; rush: (0.7 * 4 + 0.15 * 2 + 0.15 * 16) / 16 = 5.5 / 16
    assert problem.losses[pair] == pytest.approx([2 / 16, 5.5 / 16], abs=1e-15)
    alone = problem.support.pair("node 2", "to node 4")
    assert problem.probabilities[problem.support.row(alone)].tolist() == [[1, 1]]  # nothing else to turn into


def test_a_link_into_a_dead_end_is_no_action_and_no_missed_turn():
    # 2 is a sink; 3 and 4 lead only to each other
    roads = network([1, 1, 1, 3, 4, 1], [2, 3, 5, 4, 3, 6], times=[1, 1, 1, 1, 1, 1])
    roads_on = network([1, 1, 1, 3, 4, 1, 5], [2, 3, 5, 4, 3, 6, 6], times=[1, 1, 1, 1, 1, 1, 1])
    assert stranded_nodes(roads, destination=6).tolist() == [2, 3, 4, 5]
    assert stranded_nodes(roads_on, destination=6).tolist() == [2, 3, 4]
    problem = routing_problem(roads_on, destination=6, regimes=[Regime("all", np.ones(7), missed_turn=0.5)])
    assert problem.support.state_names == ("node 1", "node 5")
    assert problem.support.action_names == ("to node 5", "to node 6")
    assert problem.probabilities.tolist() == [[0.5], [0.5], [0.5], [0.5], [1.0]]
    with pytest.raises(InputError, match=r"3 nodes with links cannot reach node 6 \(the first is node 2\)"):
        routing_problem(roads_on, destination=6, regimes=[Regime("all", np.ones(7))], drop_stranded=False)


def test_a_node_below_the_first_thru_node_begins_or_ends_a_trip_but_is_never_passed_through():
    init, term = [1, 2, 2, 3, 3, 4], [3, 3, 4, 2, 4, 1]
    times = [1.0, 1.0, 1.0, 1.0, 9.0, 1.0]  # from 3 to 4: by zone 2 in 2, or directly in 9
    regimes = [Regime("all", np.array(times), missed_turn=0.4)]
    free = routing_problem(network(init, term, times=times, zones=2), destination=4, regimes=regimes, origin=1)
    roads = network(init, term, times=times, zones=2, first_thru_node=3)
    bound = routing_problem(roads, destination=4, regimes=regimes, origin=1)
    assert free.support.pairs == 5
    assert bound.support.pairs == 4  # 3 to 2 is gone, as an action and as a missed turn
    assert bound.support.state_names == ("node 1", "node 2", "node 3")
    assert bound.at([1.0]).start == 0
    assert solve(bound.at([1.0])).values[0] * bound.loss_scale == pytest.approx(1 + 9, abs=1e-6)
    inward = routing_problem(roads, destination=2, regimes=regimes, origin=1)  # a zone may be entered as the goal
    assert solve(inward.at([1.0])).values[0] * inward.loss_scale < 10


def test_parallel_links_are_different_actions():
    roads = network([1, 1, 2], [2, 2, 3], times=[4, 1, 1])
    problem = routing_problem(roads, destination=3, regimes=[Regime("all", roads.free_flow_time, missed_turn=0.2)])
    assert problem.support.action_names == ("to node 2", "to node 2 by link 2", "to node 3")
    first, second = (problem.support.pair("node 1", name) for name in ("to node 2", "to node 2 by link 2"))
    assert problem.probabilities[problem.support.row(first)].tolist() == [[1.0]]  # both lead to node 2
    # (0.8 * 4 + 0.2 * 1) / 4 and (0.8 * 1 + 0.2 * 4) / 4
    assert problem.losses[[first, second], 0] == pytest.approx([0.85, 0.4], abs=1e-15)


def test_links_of_no_time_have_no_loss_and_can_be_planned():
    roads = network([1, 2, 2, 3], [2, 1, 3, 4], times=[0, 0, 0, 5])
    problem = routing_problem(roads, destination=4, regimes=[Regime("all", roads.free_flow_time)])
    assert problem.losses[:, 0].tolist() == [0, 0, 0, 1]
    assert solve(problem.at([1.0])).values.tolist() == pytest.approx([1, 1, 1, 0], abs=1e-8)
    still = routing_problem(roads, destination=4, regimes=[Regime("none", np.zeros(4))])
    assert still.loss_scale == 1
    assert not still.losses.any()


def test_without_an_origin_trips_begin_in_any_zone_that_can_arrive():
    roads = network([1, 2, 5, 3], [5, 5, 4, 3], times=[1, 1, 1, 1], zones=3)
    problem = routing_problem(roads, destination=4, regimes=[Regime("all", np.ones(4))])
    assert problem.support.state_names == ("node 1", "node 2", "node 5")
    assert np.asarray(problem.start).tolist() == [0.5, 0.5, 0]
    no_zone = network([1, 2, 5, 3], [5, 5, 4, 3], times=[1, 1, 1, 1])
    start = routing_problem(no_zone, destination=4, regimes=[Regime("all", np.ones(4))]).start
    assert np.asarray(start) == pytest.approx([1 / 3, 1 / 3, 1 / 3])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"destination": 9}, "destination 9 is not a node of the network; they are 1 to 3"),
        ({"destination": 2, "origin": 0}, "origin 0 is not a node"),
        ({"destination": 2, "origin": 2}, "origin and destination are both node 2"),
        ({"destination": 2, "origin": 3}, "node 2 cannot be reached from node 3"),
        ({"destination": 1}, "no node can reach node 1"),
        ({"destination": 2, "regimes": []}, "there are no regimes"),
        ({"destination": 2, "regimes": [Regime("short", [1.0])]}, 'regime "short" has 1 times for 2 links'),
    ],
)
def test_a_trip_that_cannot_be_made_is_an_error(settings, message):
    roads = network([1, 2], [2, 3], times=[1, 1])
    with pytest.raises(InputError, match=message):
        routing_problem(roads, **({"regimes": [Regime("all", np.ones(2))]} | settings))


@pytest.mark.parametrize(
    ("times", "missed", "message"),
    [
        ([1.0, -1.0], 0.0, 'regime "bad": link 1 has time -1.0; times are finite'),
        ([np.inf], 0.0, "has time inf"),
        ([1.0], 1.0, 'missed_turn of regime "bad" is 1; nobody would arrive'),
        ([1.0], -0.1, 'missed_turn of regime "bad" is -0.1; it needs a number from 0 to 1'),
        ([[1.0]], 0.0, "has shape"),
    ],
)
def test_a_regime_has_times_and_a_share_of_missed_turns(times, missed, message):
    with pytest.raises(InputError, match=message):
        Regime("bad", times, missed)


def test_a_proper_policy_exists_in_random_networks_for_every_regime_and_mixture():
    rng = np.random.default_rng(5)
    for _ in range(20):
        nodes = int(rng.integers(4, 15))
        ends = rng.integers(1, nodes + 1, size=(2, 3 * nodes))
        times = rng.integers(0, 4, size=3 * nodes).astype(float)
        ends[:, 0] = (1, 2)  # so that node 2 can be reached at all
        roads = network(*ends.tolist(), times=times, first_thru_node=int(rng.integers(1, 4)))
        regimes = [Regime("easy", times), Regime("hard", times[::-1], missed_turn=0.8)]
        problem = routing_problem(roads, destination=2, regimes=regimes)
        for context in ([1, 0], [0, 1], [0.3, 0.7]):
            ssp = problem.at(context)
            assert is_proper(ssp, solve(ssp).policy)
