"""CSV as spreadsheets read it: a text that a spreadsheet would take for a formula is written with an apostrophe."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain

_FORMULA = re.compile(r"^'*(?!'|[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z)[=+\-@\t\r\n]", re.ASCII)
"""How formulas begin, after any apostrophes; numbers are none. experiments/pages/charts.js has the same rule."""
_QUOTED = re.compile('[,"\r\n]')


def escaped(text: str) -> str:
    """The text with an apostrophe before it if a spreadsheet would take it for a formula.

    >>> escaped("=HYPERLINK(1)"), escaped("north-east"), escaped("-0.5")
    ("'=HYPERLINK(1)", 'north-east', '-0.5')
    """
    return f"'{text}" if _FORMULA.match(text) else text


def unescaped(text: str) -> str:
    """The text that :func:`escaped` was given.

    >>> unescaped("'=HYPERLINK(1)"), unescaped("'tis")
    ('=HYPERLINK(1)', "'tis")
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def csv_text(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows as CSV: numbers read back to the bit, None is empty, and no text is a formula.

    >>> csv_text(["learner", "regret"], [["A, B", 0.1], ["-1 C", None]])
    'learner,regret\\n"A, B",0.1\\n\\'-1 C,\\n'
    """
    return "".join(",".join(map(_cell, row)) + "\n" for row in chain([head], rows))


def _cell(value: object) -> str:
    """The csv module leaves a carriage return without quotes, and readers would begin a row there."""
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(float(value))
    text = escaped(value) if isinstance(value, str) else str(value)
    return '"{}"'.format(text.replace('"', '""')) if _QUOTED.search(text) else text
