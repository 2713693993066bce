"""A road network as arrays, the times of its links, and driving through it.

As a contextual problem, nodes are states, links are actions, and traffic regimes are components.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ModelError
from goalbound.models import LinearCSSP
from goalbound.models.ssp import Start
from goalbound.models.validation import (
    as_numeric_array,
    check_array,
    check_bool,
    check_int,
    check_list,
    check_type,
    readonly_copy,
    short_repr,
)
from goalbound.problems.roads import Links, Regime, road_problem

MAX_NODES = 10_000_000
"""Counts above this are taken for a mistake, before any memory is asked for."""

COLUMNS = (
    "init", "term", "capacity", "length", "free_flow_time", "b", "power", "speed", "toll", "link_type",
)  # fmt: skip
REQUIRED = COLUMNS[:7]
NEVER_NEGATIVE = ("capacity", "length", "free_flow_time", "b", "power", "speed", "volume")


@dataclass(frozen=True, eq=False)
class Network:
    """A road network of L directed links. Nodes are numbered from 1, as in the files; arrays are read-only.

    Attributes:
        init, term: [L] the nodes that a link leaves and enters. Several links may join the same two nodes.
        capacity, length, free_flow_time, b, power: [L], finite and not negative. Zero times are allowed.
        nodes: how many; a node may lack outgoing links (a sink) or any link.
        zones: nodes 1 to ``zones`` are where trips begin and end.
        first_thru_node: a smaller node may begin or end a trip, but may not be passed through.
        speed, toll, link_type: [L], zero where not given.
    """

    init: NDArray[np.int64]
    term: NDArray[np.int64]
    capacity: NDArray[np.float64]
    length: NDArray[np.float64]
    free_flow_time: NDArray[np.float64]
    b: NDArray[np.float64]
    power: NDArray[np.float64]
    nodes: int
    zones: int = 0
    first_thru_node: int = 1
    speed: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    toll: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    link_type: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        for name in ("nodes", "zones", "first_thru_node"):
            object.__setattr__(self, name, check_int(getattr(self, name), name, least=-(2**62), most=2**62))
        count = as_numeric_array(self.init, "init", "the node that each link leaves").size
        columns: dict[str, NDArray[np.float64]] = {}
        for name in COLUMNS:
            given = getattr(self, name)
            if name not in REQUIRED and not as_numeric_array(given, name, "numbers, one per link").size:
                given = np.zeros(count)
            columns[name] = check_array(given, name, (count,), f"{count} numbers, one per link")
        fault = link_fault(columns, self.nodes) or count_fault(self.nodes, self.zones, self.first_thru_node, count)
        if fault is not None:
            raise ModelError(fault.text if fault.link is None else f"link {fault.link}: {fault.text}")
        for name, column in columns.items():
            object.__setattr__(self, name, readonly_copy(column, np.int64 if name in ("init", "term") else np.float64))

    @property
    def links(self) -> int:
        """L, the number of links."""
        return len(self.init)

    def link_name(self, link: int) -> str:
        """A link as people read it: ``link 3 (node 1 to node 2)``."""
        return f"link {link} (node {self.init[link]} to node {self.term[link]})"

    def __repr__(self) -> str:
        return f"Network({self.nodes} nodes, {self.links} links, {self.zones} zones)"


def link_times(network: Network, volumes: ArrayLike) -> NDArray[np.float64]:
    """[L] the time of each link under these volumes [L]: free_flow_time (1 + b (volume / capacity) ** power).

    A link of capacity 0 has its free-flow time while nobody drives there (or where volume does not matter to it);
    else its time would be infinite, which is an error.
    """
    check_type(network, Network, "network", "give a Network, such as read_network(path)")
    volume = check_array(volumes, "volumes", (network.links,), f"shape [L] = ({network.links},), one per link")
    bad = np.flatnonzero(~(np.isfinite(volume) & (volume >= 0.0)))
    if len(bad):
        name = network.link_name(int(bad[0]))
        raise ModelError(f"{name} has volume {volume[bad[0]]}; volumes are finite and not negative")
    open_links = network.capacity > 0.0
    ratio = np.divide(volume, network.capacity, out=np.zeros(network.links), where=open_links)
    with np.errstate(over="ignore", invalid="ignore"):
        times = network.free_flow_time * (1.0 + network.b * ratio**network.power)
    sensitive = (network.b > 0.0) & (network.power > 0.0) & (network.free_flow_time > 0.0)
    endless = np.flatnonzero(~np.isfinite(times) | (~open_links & (volume > 0.0) & sensitive))
    if len(endless):
        link = int(endless[0])
        raise ModelError(
            f"{network.link_name(link)} has volume {volume[link]:g} and capacity {network.capacity[link]:g}, so its "
            "time is infinite; correct its capacity or its volume"
        )
    return np.asarray(times)


class Fault(NamedTuple):
    """What is wrong, and with which link (None: with the network)."""

    link: int | None
    text: str


def link_fault(columns: dict[str, NDArray[np.float64]], nodes: int) -> Fault | None:
    """The first thing that is wrong with a link, given its columns [L]; None if all is well."""
    for name, column in columns.items():
        if name in ("init", "term"):
            good = (column >= 1) & (column <= nodes) & (column == np.floor(column))
            remedy = f"is not a node; nodes are the whole numbers 1 to {short_repr(nodes)}"
        else:
            good = np.isfinite(column) & ((column >= 0.0) if name in NEVER_NEGATIVE else True)
            remedy = "is not allowed; it must be finite" + (" and not negative" if name in NEVER_NEGATIVE else "")
        if not good.all():
            link = int(np.flatnonzero(~good)[0])
            return Fault(link, f"{name} {column[link]:.12g} {remedy}")
    return None


def count_fault(nodes: int, zones: int, first_thru_node: int, links: int) -> Fault | None:
    """What is wrong with the counts; None if all is well."""
    if not links:
        return Fault(None, "there are no links; a network has at least one")
    if not 1 <= nodes <= MAX_NODES:
        return Fault(None, f"the number of nodes is {short_repr(nodes)}; it must be 1 to {MAX_NODES}")
    if not 0 <= zones <= nodes:
        return Fault(None, f"the number of zones is {short_repr(zones)}; it must be 0 to {nodes}, the number of nodes")
    if not 1 <= first_thru_node <= nodes + 1:
        return Fault(None, f"the first thru node is {short_repr(first_thru_node)}; it must be 1 to {nodes + 1}")
    return None


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
        raise ModelError(f"{what} {short_repr(node)} is not a node of the network; they are 1 to {network.nodes}")


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
