"""Runs the tutorial about incidents and fills in what its blocks print.

python docs/tutorials/make_incidents.py
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import tempfile
import time
from pathlib import Path

PAGE = Path(__file__).with_name("incidents.md")
BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<text>.*?)```\n)?", re.DOTALL)


def run_page(page: str) -> tuple[dict, list[str]]:
    """Runs the blocks in the present folder; their names, and what each printed (lines without spaces at the end)."""
    names: dict = {}
    printed = []
    for found in BLOCK.finditer(page):
        out = io.StringIO()
        began = time.perf_counter()
        with contextlib.redirect_stdout(out):
            exec(compile(found["code"], f"{PAGE.name}, block {len(printed)}", "exec"), names)
        print(f"block {len(printed)}: {time.perf_counter() - began:.1f} s", file=sys.stderr)
        printed.append("".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines()))
    return names, printed


def with_outputs(page: str, printed: list[str]) -> str:
    """The page with each text block replaced by what the python block before it printed."""
    outputs = iter(printed)

    def replaced(found: re.Match[str]) -> str:
        output = next(outputs)
        if found["text"] is None:
            return found[0]
        first, last = (place - found.start() for place in found.span("text"))
        return found[0][:first] + output + found[0][last:]

    return BLOCK.sub(replaced, page)


def main() -> None:
    """Fill the page."""
    page = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        _, printed = run_page(page)
    PAGE.write_text(with_outputs(page, printed), encoding="utf-8")


if __name__ == "__main__":
    main()
