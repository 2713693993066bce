"""Packages that load their names when they are first used."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

LAZY = (
    "goalbound", "goalbound.models", "goalbound.models.files", "goalbound.planning", "goalbound.confidence",
    "goalbound.learners.explore", "goalbound.production",
)  # fmt: skip


def printed_by(program: str) -> str:
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


@pytest.mark.parametrize("package", LAZY)
def test_a_type_checker_sees_every_name_where_it_is_loaded_from(package: str) -> None:
    module = importlib.import_module(package)
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: node.module for node in block.body for alias in node.names}
    assert vars(module)["_homes"] == seen
    assert sorted(seen) == sorted(name for name in module.__all__ if name != "__version__")
    assert dir(module) == sorted(module.__all__)
    for name in module.__all__:
        assert not isinstance(getattr(module, name), type(sys)) or name == "widths"


def test_the_names_for_production_are_those_of_the_packages_and_cost_nothing_to_import() -> None:
    production = importlib.import_module("goalbound.production")
    for name in set(production.__all__) & set(importlib.import_module("goalbound").__all__):
        assert getattr(production, name) is getattr(importlib.import_module("goalbound"), name)
    assert len(production.__all__) <= 50
    loaded = printed_by("import goalbound.production, sys; print({'numpy', 'numba', 'httpx'} & set(sys.modules))")
    assert loaded == "set()"


def test_a_module_may_be_a_name() -> None:
    assert printed_by("import goalbound; print(goalbound.widths.paper().name)") == "paper"


@pytest.mark.parametrize("package", LAZY)
def test_a_name_that_there_is_not_is_an_attribute_error(package: str) -> None:
    with pytest.raises(AttributeError, match=rf"module '{package}' has no attribute 'solver'"):
        importlib.import_module(package).solver  # noqa: B018


SAME_NAMES = {
    "goalbound.confidence": {"likelihood": "goalbound.confidence.likelihood.sets"},
    "goalbound.planning": {
        "context_bounds": "goalbound.planning.context_bounds.search",
        "extended_value_iteration": "goalbound.planning.extended_value_iteration",
        "optimal_values": "goalbound.planning.optimal_values",
        "policy_bounds": "goalbound.planning.policy_bounds",
        "robust_plan": "goalbound.planning.robust_plan",
        "solve": "goalbound.planning.solve",
    },
}
"""By package: functions that bear the name of a module of it, and what to import for that module to be loaded."""


@pytest.mark.parametrize(("package", "names"), SAME_NAMES.items(), ids=list(SAME_NAMES))
@pytest.mark.parametrize("first", ["the module", "the function"])
def test_a_module_does_not_take_the_place_of_the_function_of_its_name(package: str, names: dict, first: str) -> None:
    program = [f"import {package}", "found = []"]
    for name, module in names.items():
        used = [f"found.append(type({package}.{name}).__name__)", f"import {module}"]
        program += used if first == "the function" else reversed(used)
        program.append(f"from {package} import {name}\nfound.append(type({name}).__name__)")
    assert set(printed_by("\n".join([*program, "print(*found)"])).split()) == {"function"}


def test_a_learner_is_made_whatever_was_imported_before() -> None:
    """The module of likelihood-ratio sets took the place of ``confidence.likelihood``."""
    program = "import goalbound.confidence.likelihood.sets, goalbound as gb"
    print_it = "print(gb.LRCSSP(gb.Support.full(1, 1), 1, loss_floor=0.1).settings.widths)"
    assert printed_by(f"{program}\n{print_it}") == "likelihood"


def test_goalbound_itself_loads_next_to_nothing() -> None:
    program = "import sys, goalbound; print(sum(name.partition('.')[0] == 'goalbound' for name in sys.modules))"
    assert int(printed_by(program)) == 2
    assert printed_by("import sys, goalbound; print('numpy' in sys.modules)") == "False"
