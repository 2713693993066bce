"""Reading TNTP files: forgiving about form, strict about content."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.adapters.tntp.network import COLUMNS, REQUIRED, Network, count_fault, link_fault
from goalbound.errors import FileFormatError
from goalbound.models.files.io import LIMIT, as_format_errors, file_name, read_bytes
from goalbound.models.validation import readonly_copy

_NAMES = {
    "init": r"init(?:ial)?[ _]?node|init|from|tail|a[ _]node",
    "term": r"term(?:inal)?[ _]?node|term|to|head|b[ _]node",
    "capacity": r"capacity",
    "length": r"length",
    "free_flow_time": r"free[ _-]?flow[ _-]?(?:travel[ _-]?)?time|fftt?|ftime",
    "b": r"b|alpha",
    "power": r"power|beta",
    "speed": r"speed(?:[ _]?limit)?",
    "toll": r"toll",
    "link_type": r"(?:link[ _]?)?type",
    "volume": r"volume|flow",
    "cost": r"cost|time",
}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_FLOW_COLUMNS = ("init", "term", "volume", "cost")
_FLOW_REQUIRED = _FLOW_COLUMNS[:3]


@dataclass(frozen=True, eq=False)
class Flows:
    """What a flow file says of each link of a network.

    Attributes:
        volume: [L] vehicles on each link.
        cost: [L] the file's own measure of each link, usually its time; None where the file has none.
    """

    volume: NDArray[np.float64]
    cost: NDArray[np.float64] | None


def read_network(path: str | PathLike[str], *, limit: int = LIMIT) -> Network:
    """Read a ``_net.tntp`` file.

    The order and case of the metadata, tabs, ``~`` comments and a missing ``;`` do not matter, nor does the order
    of the columns if a header line names them; without one the usual order is taken. Speed, toll and type may be
    absent; one that is not in every row is left out. What cannot be understood, or disagrees with the metadata, is
    a FileFormatError that names the line. ``limit`` is the most bytes that the file may have.
    """
    table = _read_table(_text(path, limit), COLUMNS, REQUIRED)
    columns = table.columns
    links = len(table.lines)
    nodes = table.number("NUMBER OF NODES")
    if nodes is None:
        ends = np.concatenate((columns["init"], columns["term"]))
        nodes = int(min(ends[np.isfinite(ends)].max(initial=1.0), 1e18))
    zones = table.number("NUMBER OF ZONES") or 0
    first = table.number("FIRST THRU NODE")
    first = 1 if first is None else first
    fault = count_fault(nodes, zones, first, links) or link_fault(columns, nodes)
    if fault is not None:
        raise FileFormatError(f"{table.place(fault.link)}: {fault.text}")
    declared = table.number("NUMBER OF LINKS")
    if declared is not None and declared != links:
        raise FileFormatError(
            f"{path}: <NUMBER OF LINKS> says {declared}, but there are {links} rows of links; "
            "the file may be cut off, or the count is wrong: correct one of them"
        )
    return Network(**columns, nodes=nodes, zones=zones, first_thru_node=first)  # type: ignore[arg-type]


def read_flows(path: str | PathLike[str], network: Network, *, limit: int = LIMIT) -> Flows:
    """Read a ``_flow.tntp`` file: the volume (and cost) of every link of the network, in the network's order.

    Links between the same two nodes are matched in the order of both files.
    """
    table = _read_table(_text(path, limit), _FLOW_COLUMNS, _FLOW_REQUIRED)
    fault = link_fault(table.columns, network.nodes)
    if fault is not None:
        raise FileFormatError(f"{table.place(fault.link)}: {fault.text}")
    ours: dict[tuple[int, int], list[int]] = {}
    for link in range(network.links - 1, -1, -1):
        ours.setdefault((int(network.init[link]), int(network.term[link])), []).append(link)
    row_of = np.full(network.links, -1)
    for row, ends in enumerate(zip(table.columns["init"], table.columns["term"], strict=True)):
        waiting = ours.get((int(ends[0]), int(ends[1])))
        if not waiting:
            reason = "no such link" if waiting is None else "fewer such links"
            raise FileFormatError(
                f"{table.place(row)}: a flow from node {ends[0]:.12g} to node {ends[1]:.12g}, but the network has "
                f"{reason}; is this the flow file of another network?"
            )
        row_of[waiting.pop()] = row
    without = np.flatnonzero(row_of < 0)
    if len(without):
        raise FileFormatError(
            f"{path}: no flow for {network.link_name(int(without[0]))} (missing: {len(without)} of {network.links} "
            "links); give each link a row, with volume 0 if nobody drives there"
        )
    cost = table.columns.get("cost")
    return Flows(
        readonly_copy(table.columns["volume"][row_of], np.float64),
        None if cost is None else readonly_copy(cost[row_of], np.float64),
    )


class _Text(NamedTuple):
    """What a file says, and which it is."""

    path: Path
    content: str


class _Table(NamedTuple):
    """A TNTP file taken apart: metadata, columns [K], and the line of each row."""

    path: Path
    metadata: dict[str, tuple[str, int]]
    columns: dict[str, NDArray[np.float64]]
    lines: list[int]

    def place(self, row: int | None) -> str:
        return str(self.path) if row is None else f"{self.path}, line {self.lines[row]}"

    def number(self, key: str) -> int | None:
        """A whole number of the metadata, None where it is not given."""
        if key not in self.metadata:
            return None
        text, line = self.metadata[key]
        if not re.fullmatch(r"\d{1,18}", text):
            raise FileFormatError(
                f'{self.path}, line {line}: <{key}> is "{text}"; it must be a whole number, not negative'
            )
        return int(text)


def _text(path: str | PathLike[str], limit: int) -> _Text:
    with as_format_errors(path, "TNTP"):
        data = read_bytes(path, limit)
    try:
        content = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        content = data.decode("latin-1")  # only comments hold letters outside ASCII
    return _Text(Path(file_name(path)), content.replace("\r\n", "\n").replace("\r", "\n"))


def _read_table(text: _Text, usual: tuple[str, ...], required: tuple[str, ...]) -> _Table:
    path = text.path
    metadata: dict[str, tuple[str, int]] = {}
    names: tuple[str | None, ...] = usual
    rows: list[list[float]] = []
    lines: list[int] = []
    for line, written in _lines(text.content):
        if written.startswith("<"):
            _read_metadata(path, line, written, metadata)
            continue
        content, _, comment = written.partition("~")
        heading = comment if not content.strip() else content
        if not rows and (found := _header(heading)) is not None:
            _check_header(f"{path}, line {line}", found, required)
            names = found
            continue
        for record in content.split(";"):
            if fields := record.replace(":", " ").split():
                rows.append(_read_row(f"{path}, line {line}", fields, names, required))
                lines.append(line)
    width = min((len(row) for row in rows), default=len(names))
    columns = {
        name: np.array([row[place] for row in rows]) for place, name in enumerate(names[:width]) if name in usual
    }
    return _Table(path, metadata, columns, lines)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers from 1."""
    for line, content in enumerate(text.split("\n"), start=1):
        if content.strip():
            yield line, content.strip()


def _read_metadata(path: Path, line: int, text: str, metadata: dict[str, tuple[str, int]]) -> None:
    key, closed, value = text[1:].partition(">")
    if not closed:
        raise FileFormatError(f'{path}, line {line}: "{text[:40]}" opens with < and has no >; write <KEY> value')
    key = " ".join(key.upper().split())
    value = value.partition("~")[0].strip().rstrip(";").strip()
    if key in metadata and metadata[key][0] != value:
        raise FileFormatError(
            f'{path}, line {line}: <{key}> is "{value}" here and "{metadata[key][0]}" in line {metadata[key][1]}; '
            "keep one of them"
        )
    metadata[key] = (value, line)


def _header(text: str) -> tuple[str | None, ...] | None:
    """The columns that a header line names, None for those we do not know; None if it is not a header."""
    plain = re.sub(r"\([^)]*\)|\[[^\]]*\]|[;: ]+", " ", text.lower())
    plain = re.sub(" +", " ", plain).strip()
    if "\t" in plain:
        cells = [cell.strip() for cell in plain.split("\t") if cell.strip()]
    else:
        known = "|".join(f"(?:{pattern})(?![^ ])" for pattern in _NAMES.values())
        cells = re.findall(rf"{known}|\S+", plain)
    names = tuple(
        next((name for name, pattern in _NAMES.items() if re.fullmatch(pattern, cell)), None) for cell in cells
    )
    return names if {"init", "term"} < set(names) - {None} else None  # "from here to there" is only a comment


def _check_header(place: str, names: tuple[str | None, ...], required: tuple[str, ...]) -> None:
    for name in required:
        if name not in names:
            raise FileFormatError(f'{place}: the header names no column "{name}"; add the column, or name it so')
    for column in names:
        if column is not None and names.count(column) > 1:
            raise FileFormatError(f'{place}: the header names column "{column}" twice; give each column its own name')


def _read_row(place: str, fields: list[str], names: tuple[str | None, ...], required: tuple[str, ...]) -> list[float]:
    needed = 1 + max(names.index(name) for name in required)
    if not needed <= len(fields) <= len(names):
        listing = ", ".join(name or "?" for name in names)
        raise FileFormatError(
            f"{place}: {len(fields)} fields; a row has {needed} to {len(names)}: {listing}. "
            "Correct the row, or name the columns in a header line"
        )
    values = []
    for name, text in zip(names, fields, strict=False):
        if name is None:  # a column we do not know
            values.append(float("nan"))
        elif _NUMBER.fullmatch(text):
            values.append(float(text))
        else:
            raise FileFormatError(f'{place}: {name} is "{text}", which is not a number; write it as 12.5 or 1e3')
    return values
