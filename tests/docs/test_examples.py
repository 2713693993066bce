"""What the README says is run."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_the_ten_lines_of_the_readme_print_what_they_say(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict = {}
    exec(BLOCKS[0], names)
    printed = capsys.readouterr().out.splitlines()
    # 90% young, 10% old: drug A heals with 0.54, so 0.2 / 0.54; drug B with 0.52, so 0.4 / 0.52.
    np.testing.assert_allclose(names["best"].values, [0.2 / 0.54, 0.0], rtol=1e-9)
    assert names["best"].policy.tolist() == [0]
    assert {"True", "False"} <= set(printed)
    assert any('"drug A"' in line for line in printed)
    assert printed[0].startswith("converged")


def test_the_gymnasium_lines_of_the_readme_make_a_lake() -> None:
    pytest.importorskip("gymnasium")
    names: dict = {}
    exec(BLOCKS[1], names)
    assert names["lake"].context_size == 2


def test_importing_goalbound_loads_neither_numpy_nor_numba() -> None:
    code = "import sys, goalbound; print(sorted({'numpy', 'numba', 'scipy'} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_every_link_of_the_documents_leads_somewhere() -> None:
    for document in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("benchmarks/*.md"),
    ]:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text()):
            assert target.startswith("http") or (document.parent / target).exists(), f"{document.name}: {target}"


def test_public_names_are_all_there() -> None:
    import goalbound

    for name in goalbound.__all__:
        assert getattr(goalbound, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = goalbound.nothing
