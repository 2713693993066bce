"""The size of the house in numbers. ``python -m tests.house`` prints them; ``--write`` lowers the budgets to them."""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
import tempfile
import tokenize
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.house.walks import walk_of, walks

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "goalbound"
BUDGETS = Path(__file__).with_name("budgets.toml")
PRIVATE = ("numba.core", "numba.np", "llvmlite", "uvicorn.protocols")
"""Parts of other packages that these do not promise to keep, besides names with an underscore."""

LOADS = {
    "Support": "goalbound.Support.full(2, 2)",
    "solve": "goalbound.solve(goalbound.SSP.dense([[0.5, 0.2]], [[[0.0, 1.0], [0.5, 0.5]]]))",
    "LRCSSP": """
learner = goalbound.LRCSSP(goalbound.Support.full(2, 2), 2, loss_floor=0.1)
episode = learner.begin([0.5, 0.5])
episode.observe(goalbound.Step(0, episode.act(0), 0.5, 2))
learner.save(sys.argv[1] + "/learner")
""",
}
"""What is loaded once these lines have run, by what they use."""
REPORT_LOADS = """
import json, os, sys
found = [one.__file__ for name, one in sys.modules.items() if name.partition(".")[0] == "goalbound" and one.__file__]
print(json.dumps([len(found), sum(len(open(file).readlines()) for file in found)]))
"""


def measured(capabilities: dict[str, Any]) -> dict[str, int]:
    """All numbers, by name. ``capabilities`` says which files are a room and which words name it."""
    found = {**_totals(), **_packages(), **_named(capabilities), **_branches(), **_loads(), **_walks()}
    found["private parts of other packages"] = sum(len(_private_imports(ast.parse(_read(file)))) for file in _sources())
    return found


def budgets() -> dict[str, Any]:
    """``budgets.toml``: capabilities, budgets, goals."""
    return tomllib.loads(BUDGETS.read_text())


def _tracked(*patterns: str) -> list[Path]:
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.splitlines() if (ROOT / name).is_file()]


@cache
def _sources() -> tuple[Path, ...]:
    return tuple(_tracked("src/*.py"))


@cache
def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _lines(files: Iterator[Path] | list[Path] | tuple[Path, ...]) -> int:
    return sum(_read(file).count("\n") for file in files)


def _totals() -> dict[str, int]:
    others = [file for file in _tracked("*.py") if file.relative_to(ROOT).parts[0] not in ("src", "tests")]
    code = [_code(_read(file)) for file in _sources()]
    return {
        "src, files": len(_sources()),
        "src, lines": _lines(_sources()),
        "src, lines of code": sum(lines for lines, _ in code),
        "src, tokens": sum(tokens for _, tokens in code),
        "src, lines of JavaScript": _lines([file for file in _tracked("src/*.js") if "plotly" not in file.parts]),
        "src, lines of TOML": _lines(_tracked("src/*.toml")),
        "src, fmt: skip": sum(_read(file).count("# fmt: skip") for file in _sources()),
        "tests, lines": _lines(_tracked("tests/*.py")),
        "other Python, lines": _lines(others),
        "Markdown, words": sum(len(_read(file).split()) for file in _tracked("*.md")),
    }


def _code(text: str) -> tuple[int, int]:
    """The lines of code without blanks, comments and docstrings, and the tokens on them."""
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    lines: set[int] = set()
    tokens = 0
    starts_statement = True
    for one in tokenize.generate_tokens(io.StringIO(text).readline):
        if one.type in skipped:
            starts_statement = starts_statement or one.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
            continue
        is_docstring = one.type == tokenize.STRING and starts_statement
        starts_statement = False
        if not is_docstring:
            lines.update(range(one.start[0], one.end[0] + 1))
            tokens += 1
    return len(lines), tokens


def _packages() -> dict[str, int]:
    found: dict[str, int] = {}
    for file in _sources():
        parts = file.relative_to(SOURCE).parts
        name = f"{parts[0]}/" if len(parts) > 1 else "top level"
        found[f"{name}, files"] = found.get(f"{name}, files", 0) + 1
        found[f"{name}, lines"] = found.get(f"{name}, lines", 0) + _lines([file])
    return found


def _named(capabilities: dict[str, Any]) -> dict[str, int]:
    """How many files outside its room name a capability: in code and in texts, comments and docstrings left out."""
    counted = [file for file in _tracked("src/*.py", "src/*.html", "src/*.js") if "plotly" not in file.parts]
    said = {file: _said(file) for file in counted}
    found = {}
    for name, room in capabilities.items():
        word = re.compile(room["words"], re.IGNORECASE)
        inside = [SOURCE / place for place in room["room"]]
        outside = [file for file in counted if not any(file == one or one in file.parents for one in inside)]
        found[f"files that name {name}"] = sum(word.search(said[file]) is not None for file in outside)
    return found


def _said(file: Path) -> str:
    if file.suffix != ".py":
        return _read(file)
    words = []
    starts_statement = True
    for one in tokenize.generate_tokens(io.StringIO(_read(file)).readline):
        if one.type in (tokenize.NAME, tokenize.STRING) and not (one.type == tokenize.STRING and starts_statement):
            words.append(one.string)
        if one.type not in (tokenize.COMMENT, tokenize.NL):
            starts_statement = one.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    return "\n".join(words)


def _branches() -> dict[str, int]:
    """Branches in kernels that are decided when a learner is made: their condition asks its constants alone."""
    found = 0
    for file in _sources():
        for node in (one for kernel in _kernels(ast.parse(_read(file))) for one in ast.walk(kernel)):
            if isinstance(node, ast.If | ast.IfExp | ast.While):
                found += any(_asks_constants(one) for one in _operands(node.test))
    return {"branches on features in kernels": found}


def _kernels(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """The functions of a module that are marked by :mod:`goalbound.jit`."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            marks = {one.id for one in node.decorator_list if isinstance(one, ast.Name)}
            if marks & {"kernel", "lean", "short_loops"}:
                yield node


def _operands(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _operands(value)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _operands(test.operand)
    else:
        yield test


def _asks_constants(test: ast.expr) -> bool:
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    return "constants" in names and all(name == "constants" or name.isupper() or name == "len" for name in names)


def _loads() -> dict[str, int]:
    found = {}
    for name, lines in LOADS.items():
        program = f"import sys, goalbound\n{lines}\n{REPORT_LOADS}"
        with tempfile.TemporaryDirectory() as folder:
            words = [sys.executable, "-c", program, folder]
            ended = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
        modules, length = json.loads(ended.stdout)
        found[f"{name} loads, modules"], found[f"{name} loads, lines"] = modules, length
    return found


def _walks() -> dict[str, int]:
    """How many files and functions of the package one call passes."""
    found = {}
    for name, functions in walks().items():
        walk = walk_of(functions)
        found[f"walk of {name}, files"], found[f"walk of {name}, functions"] = walk
    return found


def _private_imports(tree: ast.Module) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return [name for name in found if not name.startswith(("goalbound", "__future__")) and _is_private(name)]


def _is_private(name: str) -> bool:
    return any(part.startswith("_") for part in name.split(".")) or name.startswith(PRIVATE)
