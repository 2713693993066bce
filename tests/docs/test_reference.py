"""The reference is generated from the code, and leaves nothing out."""

import importlib
import re
import sys

import pytest

from goalbound.cli.arguments import commands, parser
from goalbound.experiments.columns import COLUMNS, RUN_COLUMNS
from goalbound.experiments.registry import CATALOGS
from goalbound.experiments.registry.settings import MEANINGS
from goalbound.experiments.spec import ExperimentSpec
from tests.support.documents import ROOT

pytest.importorskip("pydantic")
pytest.importorskip("msgspec")


@pytest.fixture(scope="module")
def extension():
    """Imports a module of docs/_ext."""
    sys.path.insert(0, str(ROOT / "docs" / "_ext"))
    yield importlib.import_module
    sys.path.remove(str(ROOT / "docs" / "_ext"))


def test_every_public_name_has_a_page(extension):
    public_names = extension("public_names")
    assert public_names.undocumented() == []
    paths = public_names.every_path()
    assert paths["goalbound.planning.solve"] == "goalbound.solve"
    assert paths["goalbound.confidence.sharp"] == "goalbound.widths.sharp"


def test_every_page_of_the_api_asks_for_its_names(extension):
    public_names = extension("public_names")
    listed = (ROOT / "docs" / "reference" / "api" / "index.md").read_text()
    for page in public_names.PAGES:
        text = (ROOT / "docs" / "reference" / "api" / f"{page.name}.rst").read_text()
        assert f".. public-names:: {page.name}" in text
        assert re.search(rf"^{page.name}$", listed, re.M), f"{page.name} is not in the index"


def test_every_command_and_option_is_in_the_reference(extension):
    text = extension("reference_text").command_line()
    for command in commands():
        section = text.partition(f"\n## goalbound {command.name}\n")[2].partition("\n## ")[0]
        assert command.usage in section
        assert all(f"| `{argument.name}" in section for argument in command.arguments)


def test_every_key_component_setting_and_column_is_in_the_reference(extension):
    texts = {name: make() for name, make in extension("reference_text").TEXTS.items()}
    for key in ExperimentSpec.model_fields:
        assert f"| `{key}` |" in texts["experiment-keys"]
    for group, catalog in CATALOGS.items():
        for entry in catalog.entries.values():
            assert f"| `{entry.name}` |" in texts[group]
    assert all(f"| `{name}` |" in texts["settings"] for name in MEANINGS)
    both = texts["record-columns"] + texts["summary-columns"]
    assert all(f"| `{one.name}` |" in both for one in (*COLUMNS, *RUN_COLUMNS))


def test_every_route_and_body_is_in_the_reference(extension):
    from goalbound.serve.service.routes import ROUTES

    text = extension("reference_text").http_routes()
    for route in ROUTES:
        assert f"`{route.method} {route.path}`" in text
        if route.body not in (None, bytes):
            assert f"\n## {route.body.__name__}\n" in text


def test_pages_ask_only_for_texts_that_exist(extension):
    known = extension("reference_text").TEXTS
    asked = {
        name
        for page in (ROOT / "docs").rglob("*.md")
        for name in re.findall(r"```\{generated\} (\S+)", page.read_text())
    }
    assert asked == set(known)


def test_the_experiment_of_the_first_report_is_the_published_one():
    import tomllib

    page = (ROOT / "docs" / "start" / "first_report.md").read_text()
    (shown,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert tomllib.loads(shown) == tomllib.loads((ROOT / "experiments" / "first.toml").read_text())


def test_the_gallery_says_how_large_its_runs_were(extension, tmp_path):
    gallery = extension("gallery")
    assert "`make gallery docs` makes them" in gallery.listing_text(tmp_path)
    (tmp_path / "manifest.json").write_text(
        '[{"name": "first", "command": "goalbound run x --quick", "episodes": 300, "seeds": 1}]'
    )
    text = gallery.listing_text(tmp_path)
    assert "300 episodes, one seed, so nothing can be said about who is ahead" in text
    assert 'src="first.html"' in text
    for one in gallery.EXHIBITS:
        arguments = parser().parse_args([*gallery._command(one, quick=True), "--out", "x"])
        assert not hasattr(arguments, "spec") or (ROOT / arguments.spec).exists()
