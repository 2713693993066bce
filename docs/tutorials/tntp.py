"""Road networks in TNTP files, and driving through them as a contextual problem: for the tutorial about roads.

TNTP is the text format of the TransportationNetworks collection. No network is shipped: the files there are for
academic use, fetch your own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound import LinearCSSP
from goalbound.errors import FileFormatError, ModelError
from goalbound.problems.roads import Links, Regime, road_problem

Floats = NDArray[np.float64]

COLUMNS = ("init", "term", "capacity", "length", "free_flow_time", "b", "power")
FLOW_COLUMNS = ("init", "term", "volume")
_NAMES = {
    "init": r"init(?:ial)?[ _]?node|init|from|tail|a[ _]node",
    "term": r"term(?:inal)?[ _]?node|term|to|head|b[ _]node",
    "capacity": r"capacity",
    "length": r"length",
    "free_flow_time": r"free[ _-]?flow[ _-]?(?:travel[ _-]?)?time|fftt?|ftime",
    "b": r"b|alpha",
    "power": r"power|beta",
    "volume": r"volume|flow",
}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True, eq=False)
class Network:
    """A road network of L directed links. Nodes are numbered from 1, as in the files.

    Attributes:
        init, term: [L] the nodes that a link leaves and enters. Several links may join the same two nodes.
        zones: nodes 1 to ``zones`` are where trips begin and end.
        first_thru_node: a smaller node may begin or end a trip, but may not be passed through.
    """

    init: Any
    term: Any
    capacity: Any
    length: Any
    free_flow_time: Any
    b: Any
    power: Any
    nodes: int
    zones: int = 0
    first_thru_node: int = 1

    def __post_init__(self) -> None:
        for name in COLUMNS:
            column = np.array(getattr(self, name), dtype=np.float64)
            _check_column(name, column, self.nodes, lambda link: f"link {link}")
            object.__setattr__(self, name, column.astype(np.int64) if name in ("init", "term") else column)


def read_network(path: str | PathLike[str]) -> Network:
    """Read a ``_net.tntp`` file; what cannot be understood is a FileFormatError that names the line.

    The order and case of the metadata, tabs, ``~`` comments and a missing ``;`` do not matter, nor does the order of
    the columns if a header line names them.
    """
    table = _read_table(Path(path), (*COLUMNS, "speed", "toll", "link_type"), COLUMNS)
    ends = np.concatenate((table.columns["init"], table.columns["term"]))
    nodes = table.number("NUMBER OF NODES", int(min(ends.max(initial=1.0), 1e7)))
    for name, column in table.columns.items():
        _check_column(name, column, nodes, table.place)
    links = len(table.lines)
    if not links or table.number("NUMBER OF LINKS", links) != links:
        raise FileFormatError(
            f"{path}: there are {links} rows of links, and <NUMBER OF LINKS> says another number, or nothing; the file "
            "may be cut off, or the count is wrong: correct one of them"
        )
    zones, first = table.number("NUMBER OF ZONES", 0), table.number("FIRST THRU NODE", 1)
    if zones > nodes or first > nodes + 1:
        raise FileFormatError(f"{path}: {zones} zones and the first thru node {first} do not fit {nodes} nodes")
    return Network(**table.columns, nodes=nodes, zones=zones, first_thru_node=first)


def read_flows(path: str | PathLike[str], network: Network) -> Floats:
    """Read the volume [L] of every link from a ``_flow.tntp`` file, in the order of the network.

    Links between the same two nodes are matched in the order of both files.
    """
    table = _read_table(Path(path), (*FLOW_COLUMNS, "cost"), FLOW_COLUMNS)
    for name, column in table.columns.items():
        _check_column(name, column, network.nodes, table.place)
    waiting: dict[tuple[int, int], list[int]] = {}
    for link in reversed(range(len(network.init))):
        waiting.setdefault((int(network.init[link]), int(network.term[link])), []).append(link)
    volumes = np.full(len(network.init), np.nan)
    for row, (init, term) in enumerate(zip(table.columns["init"], table.columns["term"], strict=True)):
        links = waiting.get((int(init), int(term)))
        if not links:
            reason = "no such link" if links is None else "fewer such links"
            flow = f"a flow from node {init:g} to node {term:g}"
            raise FileFormatError(f"{table.place(row)}: {flow}, but the network has {reason}; is it of another one?")
        volumes[links.pop()] = table.columns["volume"][row]
    missing = np.flatnonzero(np.isnan(volumes))
    if len(missing):
        ends = f"node {network.init[missing[0]]} to node {network.term[missing[0]]}"
        raise FileFormatError(f"{path}: no flow for {len(missing)} links, such as {ends}; give each link a row")
    return volumes


def link_times(network: Network, volumes: ArrayLike) -> Floats:
    """[L] the time of each link under these volumes [L]: free_flow_time (1 + b (volume / capacity) ** power)."""
    volume = np.asarray(volumes, dtype=np.float64)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        ratio = np.where(volume > 0.0, volume / network.capacity, 0.0 * volume)
        times = np.asarray(network.free_flow_time * (1.0 + network.b * ratio**network.power))
    bad = np.flatnonzero(~(np.isfinite(times) & (volume >= 0.0)))
    if len(bad):
        raise ModelError(f"link {bad[0]} has volume {volume[bad[0]]} and time {times[bad[0]]}; correct its capacity")
    return times


def routing_problem(
    network: Network, *, destination: int, regimes: Sequence[Regime], origin: int | None = None
) -> LinearCSSP:
    """Drive to the destination: states are nodes, actions are outgoing links, components are traffic regimes.

    The states (``node 3``) are the nodes from which the destination can be reached. An action is named by where its
    link leads (``to node 7``; the second link between the same two nodes is ``to node 7 by link 2``). Left out are
    nodes from which the destination cannot be reached, and every link into one; and links into nodes below
    ``first_thru_node``, unless they enter the destination. So a proper policy exists for every context.

    Regimes have times [L] for all links. ``origin`` is the node where episodes begin; None: any zone that is a state,
    each with the same probability (any state where no zone is one).
    """
    if not 1 <= destination <= network.nodes:
        raise ModelError(f"destination {destination} is not a node of the network; they are 1 to {network.nodes}")
    arriving = _arriving(network, destination)
    passable = arriving & (np.arange(network.nodes + 1) >= network.first_thru_node)
    passable[destination], arriving[destination] = True, False
    nodes = np.flatnonzero(arriving)
    if not len(nodes) or (origin is not None and origin not in nodes):
        raise ModelError(f"node {destination} cannot be reached from {origin or 'any node'}; choose another one")
    state = np.full(network.nodes + 1, -1)
    state[[*nodes, destination]] = np.arange(len(nodes) + 1)
    used = np.flatnonzero(arriving[network.init] & passable[network.term])
    action, action_names = _actions(network.init[used], network.term[used])
    zones = nodes <= network.zones if (nodes <= network.zones).any() else np.ones(len(nodes), dtype=bool)
    return road_problem(
        Links(state[network.init[used]], state[network.term[used]], action, len(nodes)),
        regimes=[Regime(regime.name, np.asarray(regime.times)[used], regime.missed_turn) for regime in regimes],
        start=zones / zones.sum() if origin is None else int(np.searchsorted(nodes, origin)),
        state_names=[f"node {node}" for node in nodes],
        action_names=action_names,
    )


def _arriving(network: Network, destination: int) -> NDArray[np.bool_]:
    """[nodes + 1] whether the destination can be reached from a node: a search backwards over the links."""
    before: dict[int, list[int]] = {}
    for init, term in zip(network.init.tolist(), network.term.tolist(), strict=True):
        before.setdefault(term, []).append(init)
    arriving = np.zeros(network.nodes + 1, dtype=bool)
    arriving[destination] = True
    frontier = [destination]
    while frontier:
        for node in before.get(frontier.pop(), []):
            if not arriving[node]:
                arriving[node] = True
                frontier += [node] * (node >= network.first_thru_node)
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


def _check_column(name: str, column: Floats, nodes: int, place: Callable[[int], str]) -> None:
    with np.errstate(invalid="ignore"):
        is_node = name in ("init", "term")
        fine = (column >= 1) & (column <= nodes) & (column % 1 == 0) if is_node else (column >= 0) & (column < np.inf)
    for row in np.flatnonzero(~fine)[:1]:
        remedy = f"a node is a whole number from 1 to {nodes}" if is_node else "it must be finite and not negative"
        raise FileFormatError(f"{place(row)}: {name} is {column[row]:g}; {remedy}")


class _Table(NamedTuple):
    """A TNTP file taken apart: metadata with lines, columns [K], and the line of each row."""

    path: Path
    metadata: dict[str, tuple[str, int]]
    columns: dict[str, Floats]
    lines: list[int]

    def place(self, row: int) -> str:
        return f"{self.path}, line {self.lines[row]}"

    def number(self, key: str, default: int) -> int:
        """A whole number of the metadata."""
        text, line = self.metadata.get(key, (str(default), 0))
        if not re.fullmatch(r"\d{1,7}", text):
            raise FileFormatError(f'{self.path}, line {line}: <{key}> is "{text}"; it must be a whole number below 1e7')
        return int(text)


def _read_table(path: Path, usual: tuple[str, ...], required: tuple[str, ...]) -> _Table:
    """Take a file apart; its columns are the required ones."""
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")  # only comments hold letters outside ASCII
    metadata: dict[str, tuple[str, int]] = {}
    names: Sequence[str | None] = usual
    rows, lines = [], []
    for line, written in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), start=1):
        place = f"{path}, line {line}"
        content, _, comment = written.strip().partition("~")
        if content.startswith("<"):
            _read_metadata(place, line, content, metadata)
            continue
        if not rows and (found := _header(content.strip() or comment)) is not None:
            for name in required:
                if found.count(name) != 1:
                    raise FileFormatError(f'{place}: the header names {found.count(name)} columns "{name}"; name one')
            names = found
            continue
        for record in content.split(";"):
            if fields := record.replace(":", " ").split():
                rows.append(_read_row(place, fields, names, required))
                lines.append(line)
    columns = np.array(rows).reshape(-1, len(required)).T
    return _Table(path, metadata, dict(zip(required, columns, strict=True)), lines)


def _read_metadata(place: str, line: int, text: str, metadata: dict[str, tuple[str, int]]) -> None:
    key, closed, value = text[1:].partition(">")
    if not closed:
        raise FileFormatError(f'{place}: "{text[:40]}" opens with < and has no >; write <KEY> value')
    key, value = " ".join(key.upper().split()), value.strip().rstrip(";").strip()
    if metadata.setdefault(key, (value, line))[0] != value:
        raise FileFormatError(f'{place}: <{key}> is "{value}" here and "{metadata[key][0]}" in line {metadata[key][1]}')


def _header(text: str) -> list[str | None] | None:
    """The columns that a header line names, None for those we do not know; None if it is not a header."""
    plain = re.sub(" +", " ", re.sub(r"\([^)]*\)|\[[^\]]*\]|[;: ]+", " ", text.lower())).strip()
    if "\t" in plain:
        cells = [cell.strip() for cell in plain.split("\t") if cell.strip()]
    else:
        known = "|".join(f"(?:{pattern})(?![^ ])" for pattern in _NAMES.values())
        cells = re.findall(rf"{known}|\S+", plain)
    names = [next((name for name, pattern in _NAMES.items() if re.fullmatch(pattern, cell)), None) for cell in cells]
    return names if {"init", "term"} < set(names) - {None} else None  # "from here to there" is only a comment


def _read_row(place: str, fields: list[str], names: Sequence[str | None], required: tuple[str, ...]) -> list[float]:
    """The required numbers of a row."""
    at = [names.index(name) for name in required]
    if not max(at) < len(fields) <= len(names):
        raise FileFormatError(f"{place}: {len(fields)} fields; a row has {max(at) + 1} to {len(names)}; correct it")
    for name, i in zip(required, at, strict=True):
        if not _NUMBER.fullmatch(fields[i]):
            raise FileFormatError(f'{place}: {name} is "{fields[i]}", which is not a number; write it as 12.5 or 1e3')
    return [float(fields[i]) for i in at]
