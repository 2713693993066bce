"""Small pieces of HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple


class Cell(NamedTuple):
    """A cell of a table: its text, and the number to sort by (None: none, which sorts last; texts sort by text)."""

    text: str
    value: float | str | None = ""
    note: str = ""
    html: str = ""


def named(learner: Mapping[str, Any]) -> str:
    """A learner's tag and name."""
    return f'<b class="tag">{escape(learner["tag"])}</b> {escape(learner["label"])}'


def table(
    heads: Sequence[str], rows: Sequence[Sequence[Cell]], *, caption: str, sortable: bool = False, texts: int = 1
) -> str:
    """A table whose first column names the row; the first ``texts`` columns are texts, the others numbers."""
    head = "".join(_head(word, sortable, place < texts) for place, word in enumerate(heads))
    body = "".join(
        "<tr>" + "".join(_cell(cell, place, texts) for place, cell in enumerate(row)) + "</tr>" for row in rows
    )
    kind = ' class="sortable"' if sortable else ""
    return (
        f'<div class="scroll"><table{kind}><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _head(word: str, sortable: bool, text: bool) -> str:
    inner = f'<button type="button">{escape(word)}</button>' if sortable else escape(word)
    return f'<th scope="col"{" class=text" if text else ""}>{inner}</th>'


def _cell(cell: Cell, place: int, texts: int) -> str:
    inner = cell.html or escape(cell.text)
    if cell.note:
        inner += f" <small>{escape(cell.note)}</small>"
    if not place:
        return f'<th scope="row" class="text">{inner}</th>'
    if cell.value == "":
        return f"<td{' class=text' if place < texts else ''}>{inner}</td>"
    return f'<td data-value="{"" if cell.value is None else escape(str(cell.value))}">{inner}</td>'
