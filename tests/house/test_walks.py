"""Walks: which functions of the package one call passes."""

import importlib.util
from pathlib import Path

from tests.house.walks import Walk, functions_run, walk_of

MODULES = {
    "inner": "class Inner:\n    def doubled(self, x):\n        return 2 * x\n",
    "outer": "def total(inner, numbers):\n    return sum(inner.doubled(one) for one in numbers)\n",
}


def imported(folder: Path, name: str):
    (folder / f"{name}.py").write_text(MODULES[name])
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_function_below_the_folder_counts_once_and_what_has_no_name_does_not(tmp_path: Path) -> None:
    inner, outer = (imported(tmp_path, name) for name in MODULES)
    returned, found = functions_run(lambda: outer.total(inner.Inner(), [1, 2, 3]), tmp_path)
    assert returned == 12
    assert found == {("outer.py", "total"), ("inner.py", "Inner.doubled")}
    assert walk_of(found) == Walk(2, 2)
    assert functions_run(lambda: outer.total(inner.Inner(), [1]), tmp_path / "other")[1] == set()
