"""A road network as arrays, and the times of its links."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ModelError
from goalbound.models.validation import as_numeric_array, check_array, check_int, check_type, readonly_copy, short_repr

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
            remedy = f"is no node; nodes are the whole numbers 1 to {short_repr(nodes)}"
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
