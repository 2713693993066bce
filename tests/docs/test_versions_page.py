"""docs/reference/versions.md gives the numbers of the code, and the version of the package is the same everywhere."""

import re
import tomllib
from pathlib import Path

import pytest

import goalbound
from goalbound.adapters.covariates import serialization
from goalbound.around.around import VERSION as AROUND_VERSION
from goalbound.learners import checkpoint
from goalbound.models.files import npz
from goalbound.serve.store import log as store_log
from goalbound.serve.store import transfer

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "versions.md").read_text(encoding="utf-8")
AROUND = ("CovariateLearner", "Discretized", "Apprentice", "Guarded", "Monitored")


def in_the_page() -> dict[str, tuple[str, str]]:
    """The written and the read versions of each kind of file, as the page gives them."""
    rows = re.findall(r"^\| [^|]+ \| ([^|]+) \| (\d+) \| ([\d, ]+) \|$", PAGE, re.M)
    return {kind.replace("`", "").strip(): (written, read.strip()) for kind, written, read in rows}


def test_the_format_versions_are_those_of_the_code():
    pytest.importorskip("pyarrow", reason="the extra 'experiments' is not installed")
    from goalbound.experiments import record_file

    versions = {
        "SSP, LinearCSSP": npz._VERSION,
        "the class of the learner": checkpoint.VERSION,
        **dict.fromkeys(AROUND, AROUND_VERSION),
        serialization.KIND: serialization.VERSION,
        record_file._FORMAT["kind"]: record_file._FORMAT["version"],
        "log.sqlite": int(store_log.FORMAT),
        transfer.FORMAT: transfer.VERSION,
    }
    read: dict[str, str] = {}
    assert in_the_page() == {kind: (str(number), read.get(kind, str(number))) for kind, number in versions.items()}


def test_the_version_stands_once_and_is_semantic():
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+)?", goalbound.__version__)
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in settings["project"]
    assert settings["project"]["dynamic"] == ["version"]
    assert settings["tool"]["hatch"]["version"]["path"] == "src/goalbound/__init__.py"
    assert f"version: {goalbound.__version__}" in (ROOT / "CITATION.cff").read_text().splitlines()
    assert f"## {goalbound.__version__} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_pythons_of_the_page_are_those_of_the_classifiers():
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    versions = re.findall(r"Python :: (3\.\d+)\b", "\n".join(classifiers))
    assert f"Python {versions[0]} to {versions[-1]}." in PAGE


def test_what_the_core_needs_is_bounded_by_the_versions_that_the_page_calls_tested():
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    tested = re.findall(
        r"(\w+) ([\d.]+) to ([\d.]+\d)", re.search(r"what the core needs: (.*?)\. The lowest", PAGE, re.S)[1]
    )
    assert [name.lower() for name, _, _ in tested] == [re.match(r"\w+", one)[0] for one in needed]
    for requirement, (_, lowest, highest) in zip(needed, tested, strict=True):
        least, below = re.fullmatch(r"\w+>=([\d.]+),<([\d.]+)", requirement).groups()
        assert least == lowest
        assert [int(part) for part in lowest.split(".")] <= [int(part) for part in highest.split(".")]
        assert [int(part) for part in highest.split(".")] < [int(part) for part in below.split(".")]


def test_what_to_cite_is_the_same_in_the_docs_the_citation_file_and_the_report():
    pytest.importorskip("jinja2", reason="the extra 'experiments' is not installed")
    from goalbound.experiments.report.sections import bibtex

    assert bibtex(goalbound.__version__) in (ROOT / "docs" / "how_to" / "cite.md").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    for said in ("eprint        = {2511.12534}", "year          = {2025}"):
        assert said in bibtex("")
    assert "arXiv:2511.12534" in citation
    assert "year: 2025" in citation
