"""The parts of ``python -m release`` that need no network and no build; the command itself is a step of ``.ci/run``."""

import sys
import tomllib
from pathlib import Path

import pytest

from goalbound.extras import EXTRAS
from release.__main__ import SHORT
from release.contents import package_files, wrong_contents, wrong_sdist
from release.environment import Environment, ReleaseError
from release.extras import DEVELOPMENT, TOGETHER, WITHOUT, Use, extras_of, refuse
from release.index import as_uv_options
from release.pythons import SMOKE

ROOT = Path(__file__).parents[2]
METADATA = {f"goalbound-1.dist-info/{name}" for name in ("METADATA", "RECORD", "entry_points.txt", "licenses/LICENSE")}


def test_a_complete_wheel_has_nothing_wrong():
    sources = {"goalbound/__init__.py", "goalbound/py.typed", "goalbound/experiments/pages/charts.js"}
    assert wrong_contents(sources | METADATA, sources) == []


@pytest.mark.parametrize(
    ("lost", "added", "complaint"),
    [
        ("goalbound/experiments/pages/charts.js", None, "lacks goalbound/experiments/pages/charts.js"),
        ("goalbound-1.dist-info/licenses/LICENSE", None, "the metadata of the wheel lack licenses/LICENSE"),
        (None, "tests/unit/test_a.py", "has tests/unit/test_a.py, which is not of the package"),
        (None, "goalbound/kernels/__pycache__/compile.nbc", "which is not of the package"),
    ],
)
def test_what_is_missing_or_too_much_in_a_wheel_is_named(lost, added, complaint):
    sources = {"goalbound/__init__.py", "goalbound/experiments/pages/charts.js"}
    (wrong,) = wrong_contents((sources | METADATA) - {lost} | ({added} if added else set()), sources)
    assert complaint in wrong


def test_the_package_has_its_data():
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone")
    files = package_files(ROOT)
    assert {"goalbound/serve/service/page.html", "goalbound/experiments/pages/page.css"} <= files


def test_an_sdist_has_what_is_tracked_and_nothing_else():
    assert wrong_sdist({"src/a.py", "PKG-INFO"}, {"src/a.py", ".ci/run"}) == []
    assert wrong_sdist({"out/x"}, {"src/a.py"}) == [
        "the sdist lacks src/a.py",
        "the sdist has out/x, which is not tracked",
    ]


def test_settings_of_pip_become_options_of_uv():
    told = [
        "global.index-url='https://one.example/simple'",
        "global.extra-index-url='file:///a/simple file:///b/simple'",
        ":env:.find-links='/wheels'",
        "global.find-links='/wheels'",
        "install.no-index='false'",
        "global.timeout='60'",
    ]
    assert as_uv_options(told) == [
        "--index-strategy", "unsafe-best-match", "--default-index", "https://one.example/simple", "--index",
        "file:///a/simple", "--index", "file:///b/simple", "--find-links", "/wheels",
    ]  # fmt: skip
    assert as_uv_options(["global.no-index='1'"])[2:] == ["--no-index"]


def test_every_extra_that_an_error_can_name_is_used():
    extras = extras_of(ROOT)
    for extra in set(EXTRAS.values()) & set(extras) - set(DEVELOPMENT):
        assert Use((extra,)).program.is_file(), f"write {Use((extra,)).program.relative_to(ROOT)}"
    for together in TOGETHER:
        assert Use(together).program.is_file()
    assert {*WITHOUT, *(name for needed in WITHOUT.values() for name in needed)} <= set(extras)


def test_the_extra_all_has_all():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (line,) = project["all"]
    assert set(line.partition("[")[2].rstrip("]").split(",")) == set(project) - {"all"}


def test_without_an_extra_it_must_fail_and_name_it(tmp_path, monkeypatch):
    here = Environment(Path(sys.executable))
    monkeypatch.setattr("release.extras.USES", tmp_path)
    use = Use(("gym",))
    use.program.write_text("")
    with pytest.raises(ReleaseError, match="works without the extra gym"):
        refuse(here, use, tmp_path / "work")
    use.program.write_text("import a_library_that_is_nowhere")
    with pytest.raises(ReleaseError, match="does not name it"):
        refuse(here, use, tmp_path / "work")
    use.program.write_text("raise ImportError('pip install .[gym]')")
    refuse(here, use, tmp_path / "work")


def test_the_smoke_selection_exists():
    assert all((ROOT / place).exists() for place in SMOKE)


def test_ci_plays_a_learner_with_the_newest_of_everything():
    assert "newest" in SHORT
    assert " release-quick " in (ROOT / ".ci" / "run").read_text()
    assert "python -m release\n" in (ROOT / "Makefile").read_text()
