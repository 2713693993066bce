"""Safe terminal output: text from files cannot move the cursor, change colours, ring the bell, or reorder letters.

A spec's question, a label, a state's name and the text of an error may hold anything. Control characters, C1 ones
(which some terminals obey like escapes) and the marks that reorder text are shown as ``\\u001b``, not sent. The command
line puts :func:`guard_output` before stdout and stderr, so that all it prints passes here, warnings and tracebacks too;
rich, which has control characters of its own, writes through :func:`console`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
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
