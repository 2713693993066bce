"""What is missing can be had by the command that the error names; no index has goalbound."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from goalbound.cli.arguments import parser
from goalbound.extras import EXTRAS, install_command, missing_library

ROOT = Path(__file__).parents[2]


@pytest.fixture
def installed_from(monkeypatch, tmp_path):
    """Makes goalbound look as if it had been installed from there; we are in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def installed_from(said: str | None) -> None:
        class Distribution:
            def read_text(self, name: str) -> str | None:
                return said if name == "direct_url.json" else None

        monkeypatch.setattr(metadata, "distribution", lambda name: Distribution())

    return installed_from


@pytest.fixture
def clone(tmp_path_factory):
    clone = tmp_path_factory.mktemp("a clone")
    (clone / "pyproject.toml").touch()
    return clone


def url(clone: Path, **info: bool) -> str:
    return json.dumps({"url": clone.as_uri(), "dir_info": info})


def test_the_command_installs_from_the_clone_into_this_environment(installed_from, clone):
    installed_from(url(clone))
    assert shlex.split(install_command("gym")) == [sys.executable, "-m", "pip", "install", f"{clone}[gym]"]
    installed_from(url(clone, editable=True))
    assert shlex.split(install_command("gym"))[3:] == ["install", "--editable", f"{clone}[gym]"]


def test_an_installed_wheel_that_is_still_there_is_installed_from_again(installed_from, tmp_path):
    wheel = tmp_path / "goalbound-1.0.0-py3-none-any.whl"
    wheel.touch()
    installed_from(json.dumps({"url": wheel.as_uri(), "archive_info": {}}))
    assert shlex.split(install_command("gym"))[3:] == ["install", f"{wheel.name}[gym]"]


def test_an_import_that_an_extra_would_mend_names_it_and_others_stay_as_they_are():
    missing = ModuleNotFoundError("No module named 'httpx._api'", name="httpx._api")
    assert str(missing_library(missing)) == f"this needs httpx: {install_command('client')}"
    assert missing_library(missing).name == "httpx._api"
    other = ModuleNotFoundError("No module named 'elsewhere'", name="elsewhere")
    assert missing_library(other) is other


@pytest.mark.parametrize(
    ("library", "extra", "statement"),
    [
        ("httpx", "client", "import goalbound.serve.client"),
        ("pydantic", "experiments", "from goalbound.experiments import load"),
    ],
)
def test_packages_that_need_an_extra_name_it_when_they_are_imported(library, extra, statement):
    hidden = f"import sys; sys.modules[{library!r}] = None; {statement}"
    ended = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True, check=False)
    assert ended.stderr.splitlines()[-1] == f"ModuleNotFoundError: this needs {library}: {install_command(extra)}"


def test_every_extra_that_is_named_exists():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for library, extra in EXTRAS.items():
        assert any(re.match(library.replace("_", "-"), need) for need in extras[extra])


def test_nothing_tells_to_install_goalbound_from_an_index():
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py"),
                 *(ROOT / "experiments").glob("*.toml")):  # fmt: skip
        assert not re.search(r"pip install ['\"]?goalbound", path.read_text(encoding="utf-8")), path


def test_the_first_commands_need_nothing_that_make_demo_does_not_install():
    pytest.importorskip("pydantic")
    from goalbound.experiments.registry.problems import ENVIRONMENTS
    from goalbound.experiments.spec import ExperimentSpec

    makefile = (ROOT / "Makefile").read_text()
    stamp = re.search(r"^demo: (\S+)", makefile, re.M)[1]
    rule = re.search(rf"^{re.escape(stamp)}:.*\n((?:\t.*\n)+)", makefile, re.M)[1]
    assert "'.[experiments]'" in rule
    pages = [ROOT / "README.md", *(ROOT / "docs" / "start").glob("*.md")]
    blocks = [block for page in pages for block in page.read_text().split("```")[1::2]]
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("goalbound ")]
    assert any(line.startswith("goalbound run ") for line in lines)
    for line in lines:
        arguments = parser().parse_args(shlex.split(line, comments=True)[1:])
        if hasattr(arguments, "spec"):
            used = {one.use for one in ExperimentSpec.load(ROOT / arguments.spec).problems}
            assert not used & {entry.name for entry in ENVIRONMENTS}, f"{line} needs gymnasium"
