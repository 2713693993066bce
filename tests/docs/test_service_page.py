"""What docs/how_to/service.md and the start page say of the service is run."""

import pytest

from goalbound import load_learner
from goalbound.store import Store
from goalbound.store.audit import verify
from tests.support.documents import ROOT, block
from tests.support.services import running


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    code = block("docs/how_to/service.md", '.save("learner.npz")')
    exec(code.replace('"learner.npz"', repr(str(folder / "learner.npz"))), {})
    with running(folder / "store", "--learner", f"recovery={folder / 'learner.npz'}") as (_, url):
        yield url


def test_the_program_of_the_page_handles_its_case(served, capsys):
    exec(block("docs/how_to/service.md", 'print("possible:"').replace("http://127.0.0.1:8765", served), {})
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "proposed: restart"
    assert "possible: restart" in printed
    assert printed[-1] == "done: True"


def test_the_learner_of_the_start_page_is_one_that_its_program_can_ask(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(block("docs/start/learner_loop.md", "GreedyRidge("), {})
    learner = load_learner("learner.npz")
    assert learner.support.state_names == ("down",)
    assert learner.begin([0.8, 0.2]).act("down") in (0, 1)


def test_the_program_of_the_start_page_handles_its_case(served, capsys):
    exec(block("docs/start/learner_loop.md", "Client(").replace("http://127.0.0.1:8765", served), {})
    assert capsys.readouterr().out.startswith("do: ")


def test_the_store_of_the_page_prints_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = block("docs/how_to/service.md", 'Store.open("incidents")')
    exec(code, {})
    assert f"```text\n{capsys.readouterr().out}```" in (ROOT / "docs" / "how_to" / "service.md").read_text()
    assert verify(tmp_path / "incidents").replayed == 4
    with Store.open(tmp_path / "incidents") as store:
        assert store.names == ("recovery",)
