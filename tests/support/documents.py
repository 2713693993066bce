"""The Python examples of the documentation, and the functions that it names."""

import importlib.util
import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


def blocks(document: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)


def block(document: str, word: str) -> str:
    """The one block that holds a word."""
    (found,) = (one for one in blocks(document) if word in one)
    return found


def beside_tutorials(name: str) -> ModuleType:
    """A module of docs/tutorials."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "tutorials" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look up annotations
    spec.loader.exec_module(module)
    return module


def named_function(dotted: str) -> tuple[object, str]:
    """goalbound.models.ssp.SSP or goalbound.models.linear_cssp.LinearCSSP.at as (holder, name)."""
    parts = dotted.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            holder: object = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:-1]:
            holder = getattr(holder, part)
        return holder, parts[-1]
    raise AssertionError(f"{dotted} is no function")
