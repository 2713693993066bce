"""Driving through a network: nodes are states, links are actions, traffic regimes are components."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from goalbound.adapters.tntp.network import Network
from goalbound.errors import ModelError
from goalbound.models import LinearCSSP
from goalbound.models.ssp import Start
from goalbound.models.validation import check_bool, check_int, check_list, check_type, short_repr
from goalbound.problems.roads import Links, Regime, road_problem


def stranded_nodes(network: Network, *, destination: int) -> NDArray[np.int64]:
    """The nodes with links from which the destination cannot be reached, sinks among them, in increasing order.

    :func:`routing_problem` leaves them out, with all links that enter them.
    """
    _check_node(network, destination, "destination")
    linked = np.union1d(network.init, network.term)
    return np.asarray(linked[~_arriving(network, destination)[linked]])


def routing_problem(
    network: Network,
    *,
    destination: int,
    regimes: Sequence[Regime],
    origin: int | None = None,
    drop_stranded: bool = True,
) -> LinearCSSP:
    """Drive to the destination: states are nodes, actions are outgoing links, components are traffic regimes.

    The states (``node 3``) are the nodes from which the destination can be reached, in increasing order. An action
    is named by where its link leads (``to node 7``; the second link between the same two nodes is
    ``to node 7 by link 2``), so states have different actions. The losses and missed turns are those of
    :func:`goalbound.problems.roads.road_problem`; ``loss_scale`` is the longest time of a link in use.

    Left out are nodes from which the destination cannot be reached, and every link into one: nobody turns into a
    dead end, by choice or by a missed turn. Links into nodes below ``first_thru_node`` are left out too, unless they
    enter the destination: such a node is a state only to begin a trip in. So every state has a path to the
    destination over the links that are left, and a proper policy exists for every context.

    Args:
        network: the roads.
        destination: the node that is the goal.
        regimes: at least one, with times [L] for all links of the network.
        origin: the node where episodes begin; None: any zone that is a state, each with the same probability
            (any state where no zone is one).
        drop_stranded: False makes :func:`stranded_nodes` an error instead of leaving them out.
    """
    _check_node(network, destination, "destination")
    regimes = _checked_regimes(regimes, network)
    check_bool(drop_stranded, "drop_stranded")
    if not drop_stranded and len(stranded := stranded_nodes(network, destination=destination)):
        raise ModelError(
            f"{len(stranded)} nodes with links cannot reach node {destination} (the first is node {stranded[0]}); "
            "say drop_stranded=True to leave them out"
        )
    arriving = _arriving(network, destination)
    passable = arriving & (np.arange(network.nodes + 1) >= network.first_thru_node)
    passable[destination] = True
    arriving[destination] = False
    nodes = np.flatnonzero(arriving)
    if not len(nodes):
        raise ModelError(f"no node can reach node {destination}; choose a destination with incoming links")
    state = np.full(network.nodes + 1, -1)
    state[nodes] = np.arange(len(nodes))
    state[destination] = len(nodes)

    used = np.flatnonzero(arriving[network.init] & passable[network.term])
    action, action_names = _actions(network.init[used], network.term[used])
    return road_problem(
        Links(state[network.init[used]], state[network.term[used]], action, len(nodes)),
        regimes=[Regime(regime.name, regime.times[used], regime.missed_turn) for regime in regimes],
        start=_start(network, nodes, origin, destination),
        state_names=[f"node {node}" for node in nodes],
        action_names=action_names,
    )


def _arriving(network: Network, destination: int) -> NDArray[np.bool_]:
    """[nodes + 1] whether the destination can be reached from a node: a search backwards over the links."""
    order = np.argsort(network.term, kind="stable")
    first = np.searchsorted(network.term[order], np.arange(network.nodes + 2))
    arriving = np.zeros(network.nodes + 1, dtype=bool)
    arriving[destination] = True
    frontier = [destination]
    while frontier:
        node = frontier.pop()
        for link in order[first[node] : first[node + 1]]:
            before = int(network.init[link])
            if not arriving[before]:
                arriving[before] = True
                if before >= network.first_thru_node:
                    frontier.append(before)
    return arriving


def _actions(init: NDArray[np.int64], term: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[str]]:
    """[n] an action for each link, one per node it leads to and per place among its parallel links; their names."""
    seen: dict[tuple[int, int], int] = {}
    keys = []
    for ends in zip(init.tolist(), term.tolist(), strict=True):
        seen[ends] = seen.get(ends, 0) + 1
        keys.append((ends[1], seen[ends]))
    number = {key: place for place, key in enumerate(sorted(set(keys)))}
    names = [f"to node {node}" + (f" by link {place}" if place > 1 else "") for node, place in number]
    return np.array([number[key] for key in keys], dtype=np.int64), names


def _start(network: Network, nodes: NDArray[np.int64], origin: int | None, destination: int) -> Start:
    if origin is None:
        law = (nodes <= network.zones).astype(np.float64)
        law = law if law.any() else np.ones(len(nodes))
        return law / law.sum()
    _check_node(network, origin, "origin")
    if origin == destination:
        raise ModelError(f"origin and destination are both node {origin}; there is nothing to drive")
    if origin not in nodes:
        raise ModelError(
            f"node {destination} cannot be reached from node {origin}"
            f" (nodes below {network.first_thru_node} may not be passed through); choose another origin"
        )
    return int(np.searchsorted(nodes, origin))


def _check_node(network: Network, node: int, what: str) -> None:
    check_type(network, Network, "network", "give a Network, such as read_network(path)")
    if not 1 <= check_int(node, what) <= network.nodes:
        raise ModelError(f"{what} {short_repr(node)} is no node of the network; they are 1 to {network.nodes}")


def _checked_regimes(regimes: Sequence[Regime], network: Network) -> list[Regime]:
    found = check_list(regimes, "regimes", "a sequence of Regime(name, times)")
    if not found:
        raise ModelError("there are no regimes; give at least one, the components of the problem")
    for place, regime in enumerate(found):
        check_type(regime, Regime, f"regimes[{place}]", "give Regime(name, times)")
        if len(regime.times) != network.links:
            raise ModelError(
                f'regime "{regime.name}" has {len(regime.times)} times for {network.links} links; give one per link'
            )
    return found
