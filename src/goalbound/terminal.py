"""Terminal output: aligned tables, and text from files that cannot move the cursor, ring the bell or reorder letters.

A spec's question, a label, a state's name and the text of an error may hold anything. Control characters, C1 ones
(which some terminals obey like escapes) and the marks that reorder text are shown as ``\\u001b``, not sent. The command
line puts :func:`guard_output` before stdout and stderr, so that all it prints passes here, warnings and tracebacks too;
rich, which has control characters of its own, writes through :func:`console`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from rich.console import Console

_MARKS = (
    "\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # direction, invisible, new lines
    "\ud800-\udfff\U000e0000-\U000e007f"  # halves of letters; tags
)
_UNSAFE = re.compile(f"[\0-\x08\x0b-\x1f\x7f-\x9f{_MARKS}]")
_UNSAFE_IN_A_LINE = re.compile(f"[\0-\x1f\x7f-\x9f{_MARKS}]")


def escape_controls(text: str, *, lines: bool = True) -> str:
    """The text with control and invisible characters escaped. Letters of all scripts are unchanged.

    JSON stays JSON, and means the same: the escapes are those of JSON. Idempotent.

    Args:
        text: any.
        lines: whether new lines and tabs stay as they are.

    >>> print(escape_controls("clear" + chr(27) + "[2J"))
    clear\\u001b[2J
    """
    return (_UNSAFE if lines else _UNSAFE_IN_A_LINE).sub(_escape, text)


def one_line(text: str) -> str:
    """The text as one line, escaped; white space of any kind is one space."""
    return escape_controls(" ".join(text.split()), lines=False)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], align: str) -> str:
    """Columns under their heads; ``align`` has one letter per column, l or r. Wide letters count as two places.

    >>> print(table(["state", "value"], [["sick", "0.5"], ["sicker", "12.5"]], "lr"))
    state   value
    ------  -----
    sick      0.5
    sicker   12.5
    """
    cells = [list(head), *(list(row) for row in rows)]
    widths = [max(text_width(cell) for cell in column) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "  ".join(_padded(*cell) for cell in zip(row, widths, align, strict=True)).rstrip() for row in cells
    )


def text_width(text: str) -> int:
    """The places that a line takes on a terminal.

    >>> text_width("sick"), text_width("\u75c5\u4eba")
    (4, 4)
    """
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def pluralize(count: int, noun: str) -> str:
    """A count with its noun.

    >>> pluralize(1, "state"), pluralize(3, "state")
    ('1 state', '3 states')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _padded(text: str, width: int, side: str) -> str:
    space = " " * (width - text_width(text))
    return text + space if side == "l" else space + text


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class EscapingStream:
    """A text stream that escapes control characters. Everything else is delegated."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write the text, escaped."""
        self.stream.write(escape_controls(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write all lines, escaped."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def guard_output() -> None:
    """Escape control characters on stdout and stderr from now on."""
    sys.stdout, sys.stderr = _guarded(sys.stdout), _guarded(sys.stderr)


def _guarded(stream: TextIO) -> TextIO:
    if stream is None or isinstance(stream, EscapingStream):  # None: a process without a terminal
        return stream
    return cast("TextIO", EscapingStream(stream))


def console(stream: TextIO) -> Console:
    """A rich console on a stream. It sends what rich makes (colours, bars), and shows all that it is given to print."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class EscapingConsole(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(escape_controls(segment.text), segment.style)

    bare = stream.stream if isinstance(stream, EscapingStream) else stream
    return EscapingConsole(file=bare)
