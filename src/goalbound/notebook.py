"""How objects show themselves in notebooks: tables and sentences as HTML, with everything escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from goalbound.terminal import one_line

SHOWN = 20
"""Rows of a table that are shown."""


def html_table(columns: Mapping[str, Any], *, bold: int | None = None, most: int = SHOWN) -> str:
    """Columns of equal length as a table; texts at the left, numbers at the right. Longer ones are cut, and say so.

    Args:
        columns: by their heads.
        bold: the row that stands out.
        most: rows that are shown.

    >>> html_table({"state": ["<sick>"], "value": [0.5]})
    '<table><tr><th>state</th><th>value</th></tr><tr>...&lt;sick&gt;</td>...0.5</td></tr></table>'
    """
    cells = [list(column) for column in columns.values()]
    length = max(map(len, cells), default=0)
    head = "".join(f"<th>{_escaped(name)}</th>" for name in columns)
    rows = []
    for place in range(min(length, most)):
        style = ' style="font-weight:bold"' if place == bold else ""
        rows.append(f"<tr{style}>{''.join(_cell(column[place]) for column in cells)}</tr>")
    table = f"<table><tr>{head}</tr>{''.join(rows)}</table>"
    return table if length <= most else f"{table}<p>and {length - most} more rows</p>"


def html_lines(lines: Iterable[str]) -> str:
    """Sentences, each a paragraph.

    >>> html_lines(["1 < 2"])
    '<p>1 &lt; 2</p>'
    """
    return "".join(f"<p>{_escaped(line)}</p>" for line in lines)


def cell_text(value: Any) -> str:
    """A cell in words: numbers with six digits, truth values as yes and no, nothing for None.

    >>> [cell_text(value) for value in (1 / 3, True, None, float("inf"), 12, "sick")]
    ['0.333333', 'yes', '', 'infinite', '12', 'sick']
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return one_line(value)
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, bool):
        return "yes" if plain else "no"
    if isinstance(plain, float):
        return "infinite" if plain in (float("inf"), float("-inf")) else f"{plain:.6g}"
    return one_line(str(plain))


def _cell(value: Any) -> str:
    side = "left" if isinstance(value, str) or value is None else "right"
    return f'<td style="text-align:{side}">{escape(cell_text(value))}</td>'


def _escaped(text: str) -> str:
    return escape(one_line(text))


def weights_text(context: Sequence[float], names: Sequence[str] | None) -> str:
    """A context in words: the weights that are not 0, with the names of their components.

    >>> weights_text([0.9, 0.1, 0.0], ["young", "old", "very old"]), weights_text([0.0, 1.0], None)
    ('0.9 young + 0.1 old', '1 component 1')
    """
    there = names or [f"component {one}" for one in range(len(context))]
    return " + ".join(f"{weight:.3g} {name}" for weight, name in zip(context, there, strict=True) if weight > 0.0)
