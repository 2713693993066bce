"""Notebooks in MyST Markdown: their cells, run in order in one namespace."""

from __future__ import annotations

import ast
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

CELL = re.compile(r"^```\{code-cell\} ipython3\n(.*?)^```$", re.DOTALL | re.MULTILINE)
WRITEFILE = "%%writefile "


def cells(path: Path) -> list[str]:
    """The code cells of a notebook."""
    return CELL.findall(path.read_text(encoding="utf-8"))


def run_cells(codes: list[str]) -> tuple[dict[str, Any], list[str]]:
    """The names that cells define, run in the current folder, and what each printed.

    ``%%writefile NAME`` writes its cell to a file. What a cell ends with is shown, as a notebook would, unless a
    semicolon follows.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = []
    for code in codes:
        out = StringIO()
        with redirect_stdout(out):
            _run_cell(code, names)
        printed.append(out.getvalue())
    return names, printed


def _run_cell(code: str, names: dict[str, Any]) -> None:
    if code.startswith(WRITEFILE):
        first, _, body = code.partition("\n")
        Path(first.removeprefix(WRITEFILE).strip()).write_text(body, encoding="utf-8")
        return
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        if value is not None and not code.rstrip().endswith(";"):
            print(value._repr_html_() if hasattr(value, "_repr_html_") else repr(value))
