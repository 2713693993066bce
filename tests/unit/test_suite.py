"""The tests themselves: where they are, that they pass where Ctrl-C is ignored, and what they say of skipped ones."""

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults import postgres
from tests.support.required import absent

ROOT = Path(__file__).parents[2]
BROWSER_TESTS = "tests/browser/test_many_learners.py"
SOURCE, TESTS = ROOT / "src" / "goalbound", ROOT / "tests"
MIRRORED = (
    "adapters", "around", "baselines", "cli", "confidence", "experiments", "jit", "learners", "logs",
    "models", "planning", "problems", "serve", "simulation", "testing",
)  # fmt: skip
"""The packages whose modules each have a test file of their name: all."""
TESTED_ELSEWHERE: dict[str, str] = {
    "baselines/protocol.py": "unit/baselines/test_loop.py",
    "baselines/methods/bernstein.py": "unit/baselines/test_planning_estimates.py",
    "baselines/methods/hoeffding.py": "unit/baselines/test_loop.py",
    "baselines/methods/uc.py": "unit/baselines/test_planning.py",
    "models/arrays.py": "unit/planning/kernels",  # two structs without a function, which all of these kernels take
    "learners/protocol.py": "unit/testing/test_learner.py",  # protocols: what is checked of them at run time
    "planning/robust_values.py": "unit/planning/test_policy_bounds.py",
}
"""Modules without a test file of their own, by path, and where their tests are."""


def imported_modules(path: Path) -> Iterator[str]:
    """The modules that a file imports, and the names that it imports from packages."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_test_module_imports_another():
    for path in TESTS.rglob("*.py"):
        found = [name for name in imported_modules(path) if re.match(r"tests\.(\w+\.)*test_\w+$", name)]
        assert not found, f"{path} imports {found[0]}; helpers belong in conftest.py or tests/support"


def has_code(path: Path) -> bool:
    """Whether a file defines something; the ``__init__.py`` of most packages only imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in tree.body)


@pytest.mark.parametrize("package", MIRRORED)
def test_the_tests_of_a_module_are_found_by_its_name(package):
    """``a/b.py`` is tested in ``tests/unit/a/test_b.py`` or, by topics, in ``test_b_<topic>.py``; a package in its own
    folder, by its name."""
    for path in sorted((SOURCE / package).rglob("*.py")):
        place = path.relative_to(SOURCE)
        if not has_code(path) or place.as_posix() in TESTED_ELSEWHERE:
            continue
        name = path.parent.name if path.stem == "__init__" else path.stem
        folder = TESTS / "unit" / place.parent
        others = {f"test_{other.stem}.py" for other in path.parent.glob(f"{name}_*.py")}
        files = {file.name for file in [*folder.glob(f"test_{name}.py"), *folder.glob(f"test_{name}_*.py")]} - others
        assert files, f"src/goalbound/{place} has no tests in {folder.relative_to(ROOT)}/test_{name}.py"


def test_all_packages_are_mirrored():
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert packages == set(MIRRORED)


def test_modules_that_are_tested_elsewhere_exist_and_so_do_their_tests():
    for place, tests in TESTED_ELSEWHERE.items():
        assert (SOURCE / place).is_file()
        assert (TESTS / tests).exists()


def run_tests(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-q", "-p", "no:cacheprovider", *words], cwd=ROOT, check=False,
        env={**os.environ, **environment}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


BROUGHT = {"browser": ("chromium", "chromedriver"), "postgres": ("initdb",)}
"""What ``make`` installs for tests, and the programs that are there then."""


@pytest.fixture(params=list(BROUGHT))
def make_brings(request, tmp_path):
    """Runs ``make browser`` or ``make postgres`` where only these programs are, each of which notes that it was called.

    An apt-get that really installs says ``{appear}``.
    """
    if shutil.which("make") is None:
        pytest.skip("no make here")
    notes, place = tmp_path / "notes", tmp_path / "bin"
    place.mkdir()
    names = " ".join(BROUGHT[request.param])
    appear = f'[ "$1" = install ] && for one in {names}; do echo > {place}/$one; /bin/chmod +x {place}/$one; done'

    def add(name: str, does: str = "") -> None:
        (place / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {notes}\n{does}\n')
        (place / name).chmod(0o755)

    def make_brings(user: int, **programs: str) -> tuple[int, str, list[str]]:
        (place / "id").write_text(f"#!/bin/sh\necho {user}\n")
        (place / "id").chmod(0o755)
        for name, does in programs.items():
            add(name.replace("_", "-"), does.format(place=place, appear=appear))
        ended = subprocess.run(
            [shutil.which("make"), "--silent", request.param, "POSTGRES_PLACES="], cwd=ROOT, check=False,
            capture_output=True, text=True, env={"PATH": str(place)}, timeout=60,
        )  # fmt: skip
        return ended.returncode, ended.stderr, notes.read_text().splitlines() if notes.exists() else []

    return make_brings


UPDATED = '[ "$1" = update ] && echo > {place}/updated; [ "$1" = install ] && [ ! -e {place}/updated ] && exit 100; '
"""An apt-get where the lists of packages are empty before they are fetched."""


def test_make_fetches_the_lists_of_packages_first(make_brings):
    code, err, notes = make_brings(0, apt_get=UPDATED + "{appear}; exit 0")
    assert code == 0, err
    assert [note.split()[1] for note in notes] == ["update", "install"]
    assert make_brings(0) == (0, "", notes)  # what is there is not installed again


@pytest.mark.parametrize(
    ("user", "programs", "said"),
    [
        (1000, {"apt_get": ""}, "root"),
        (0, {}, "no apt-get here"),
        (0, {"apt_get": "exit 100"}, "could not be installed"),
        (0, {"apt_get": "exit 0"}, "could not be installed"),  # a package that brings something else
    ],
)
def test_make_fails_with_a_remedy_where_it_cannot_install(make_brings, user, programs, said):
    code, err, _ = make_brings(user, **programs)
    assert code != 0
    assert said in err
    assert "as your system does it" in err


@pytest.mark.parametrize("target", list(BROUGHT))
def test_in_ci_what_tests_need_is_an_error_of_the_whole_check(target):
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.search(rf"^  make (\w+ && make )*{target}( && make \w+)* \|\| return$", script, re.M)  # of machine()
    assert re.search(r'^wait "\$machine" \|\| \{.*exit 1; \}$', script, re.M)
    assert re.search(r"^export CI=", script, re.M)


@pytest.mark.parametrize(("ci", "error"), [("true", "CI is set, where this is an error"), ("false", None)])
def test_in_ci_a_server_that_is_not_there_is_an_error(monkeypatch, ci, error):
    monkeypatch.setenv("CI", ci)
    with pytest.raises((pytest.fail.Exception, pytest.skip.Exception)) as caught:
        absent("no PostgreSQL server here")
    assert isinstance(caught.value, pytest.fail.Exception if error else pytest.skip.Exception)
    assert "no PostgreSQL server here" in str(caught.value)


def test_it_is_said_why_there_is_no_server(monkeypatch):
    monkeypatch.setattr(postgres, "_programs", lambda: None)
    assert postgres.missing() == 'no PostgreSQL server here; "make postgres" installs it'
    monkeypatch.setattr(postgres, "_programs", lambda: ROOT)
    monkeypatch.setattr(postgres, "_is_root", lambda: True)
    monkeypatch.setattr(postgres, "_owner", lambda: None)
    assert "does not run as root" in postgres.missing()


@pytest.fixture
def without_browser(tmp_path, monkeypatch) -> Path:
    """A path on which no browser is."""
    monkeypatch.delenv("CI", raising=False)
    for name in ("env", "sh"):
        os.symlink(shutil.which(name), tmp_path / name)
    return tmp_path


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_tests_of_ctrl_c_pass_where_it_is_ignored():
    words = ["-m", "pytest", "-n", "0", "-q", "-p", "no:cacheprovider", "tests/unit/experiments/test_signals.py"]
    trapped = subprocess.run(
        ["sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, *words, "-k", "ctrl_c or never_checks"],
        cwd=ROOT, check=False, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert trapped.returncode == 0, trapped.stdout
    assert "3 passed" in trapped.stdout


def test_every_test_that_sends_ctrl_c_sets_its_handler():
    """What a test sends with ``SIGINT`` in it, or by the helper of test_sweep.py, is not ignored there."""
    for path in (ROOT / "tests").rglob("test_*.py"):
        for part in re.split(r"\n\n\n", path.read_text(encoding="utf-8")):
            sends = re.search(r"(raise_signal|send_signal|killpg|os\.kill)\(.*SIGINT|^ +interrupt\(\)", part, re.M)
            if sends and "def test_" in part and path != Path(__file__):
                name = re.search(r"def (test_\w+)", part)[1]
                assert "ctrl_c" in part.replace(name, "").replace("def ctrl_c", ""), f"{path}: {name}"


@pytest.mark.parametrize(("ci", "code"), [("true", 1), ("false", 0)])
def test_in_ci_a_browser_that_is_not_there_is_an_error(without_browser, ci, code):
    ended = run_tests(BROWSER_TESTS, "--maxfail", "1", PATH=str(without_browser), CI=ci)
    assert ended.returncode == code, ended.stdout
    assert "no chromium here" in ended.stdout
    assert ("error, not a skip" in ended.stdout) == (code == 1)
