"""Tables of a page as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Cell(NamedTuple):
    """A cell: its text, and the number to sort by (None: none, which sorts last; texts sort by text)."""

    text: str
    value: float | str | None = ""
    note: str = ""
    tag: str = ""


class Row(NamedTuple):
    """A row; it is hidden with its learner, if it has one."""

    cells: Sequence[Cell]
    learner: int | None = None


class Table(NamedTuple):
    """A table whose first column names the row; the first ``texts`` columns are texts, the others numbers."""

    heads: Sequence[str]
    rows: Sequence[Row]
    caption: str
    sortable: bool = True
    texts: int = 1


def text_rows(rows: Sequence[Sequence[str]]) -> list[Row]:
    """Rows of texts.

    >>> text_rows([["a", "b"]])[0].cells[1].text
    'b'
    """
    return [Row([Cell(text) for text in row]) for row in rows]
