"""A spec is data: what it names is imported only if it was allowed, and called only if it was made to be."""

import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("pydantic")

from goalbound.cli import main
from goalbound.errors import InputError
from goalbound.experiments.spec import ExperimentSpec

SPEC = """
name = "theirs"
episodes = 5

[[problems]]
use = "treatment-ladder"
levels = 2
markers = 1

[[learners]]
use = "{use}"
"""
EVIL = """
name = "evil"
episodes = 5

[[problems]]
use = "subprocess:call"
args = ["sh", "-c", "touch owned"]

[[learners]]
use = "clairvoyant"
"""
WALK = """
import helper_of_walks

from goalbound import plugin
from goalbound.learners.reference import RandomWalk


@plugin
def walk(problem, *, rng, haste=0.5):
    return RandomWalk(problem.support, rng=rng)


@plugin
class Walk(RandomWalk):
    def __init__(self, problem, *, rng):
        super().__init__(problem.support, rng=rng)


class Inherited(Walk):
    pass


def unmarked(problem, *, rng):
    return RandomWalk(problem.support, rng=rng)


@plugin
def endless(problem, *, rng, patience=float("inf")):
    return RandomWalk(problem.support, rng=rng)


number = 3
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a spec and two modules beside it, which are not on the path."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "walks.py").write_text(WALK)
    (tmp_path / "helper_of_walks.py").write_text("touched = True\n")
    (tmp_path / "sub").mkdir()
    before, path = set(sys.modules), list(sys.path)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("walks", "helper_of_walks", "statistics_of_walks"):
            del sys.modules[name]


def spec_of(place: Path, use: str, name: str = "spec.toml") -> Path:
    path = place / name
    path.write_text(SPEC.format(use=use))
    return path


def test_a_shell_in_a_spec_is_refused_before_anything_is_imported(place, capsys):
    path = place / "evil.toml"
    path.write_text(EVIL)
    for words in (["check"], ["run", "--workers", "1", "--quiet"], ["report"]):
        assert main([words[0], str(path), *words[1:]]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert words[0] == "report" or ("subprocess:call" in said and "--plugin subprocess" in said)
    assert main(["check", str(path), "--plugin", "subprocess"]) == 2
    assert "goalbound.plugin" in capsys.readouterr().err
    assert not (place / "owned").exists()


def test_nothing_that_was_not_allowed_is_imported(place, capsys):
    path = spec_of(place, "walks:walk")
    for words in ([], ["--plugin", "walk"], ["--plugin", "walks.inner"], ["--plugin", "helper_of_walks"]):
        assert main(["check", str(path), *words]) == 2
        said = capsys.readouterr().err
        assert 'learners[0].use: "walks:walk"' in said
        assert "--plugin walks" in said
        assert "walks" not in sys.modules


def test_a_module_beside_the_spec_is_found_from_anywhere_with_all_that_it_imports(place, monkeypatch, capsys):
    path = spec_of(place, "walks:walk")
    monkeypatch.chdir(place / "sub")
    assert main(["check", str(path), "--plugin", "walks"]) == 0
    assert "learners: walk" in capsys.readouterr().out
    assert sys.modules["walks"].__file__ == str(place / "walks.py")


@pytest.mark.parametrize("use", [":call", "walks:", "walks:walk:er", "..walks:walk", "walks:a.b", "os.path :join"])
def test_what_is_no_import_path_is_refused(place, use):
    with pytest.raises(InputError, match=r"learners\[0\].use: .* is not an import path; write package.module:function"):
        ExperimentSpec.load(spec_of(place, use), plugins=["walks", "os"])


@pytest.mark.parametrize("name", ["walks.py", "./walks", "walks:walk", "", "a b", "-m"])
def test_a_plug_in_is_allowed_by_the_name_of_its_module(place, name):
    with pytest.raises(InputError, match=r'is not a module name; .*such as "habit"'):
        ExperimentSpec.load(spec_of(place, "walks:walk"), plugins=[name])


def test_a_name_that_is_beside_the_spec_and_elsewhere_is_refused(place):
    (place / "statistics.py").write_text("from walks import walk\n")
    with pytest.raises(InputError, match=r"statistics.*is beside the spec.*and elsewhere.*rename"):
        ExperimentSpec.load(spec_of(place, "statistics:walk"), plugins=["statistics"])


@pytest.mark.parametrize("content", ["import no_such_module_at_all", "1 / 0", "def broken(:"])
def test_a_module_that_cannot_be_imported_is_one_error(place, content):
    (place / "walks.py").write_text(content)
    with pytest.raises(InputError, match=r'learners\[0\].use: "walks:walk" cannot be imported \(.*installed'):
        ExperimentSpec.load(spec_of(place, "walks:walk"), plugins=["walks"])


def test_marking_needs_no_extra_and_goalbound_stays_cheap_to_import():
    import subprocess

    code = (
        "import sys, goalbound; assert 'numpy' not in sys.modules\n"
        "goalbound.plugin(lambda problem: problem)\n"
        "print([name for name in ('pydantic', 'pyarrow', 'numba', 'scipy') if name in sys.modules])"
    )
    out = subprocess.check_output([sys.executable, "-c", code], text=True, env={**os.environ})
    assert out.strip() == "[]"
