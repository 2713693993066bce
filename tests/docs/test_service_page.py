"""What docs/how_to/service.md and the start page say of the service is run."""

import json
import re
import shutil
import subprocess

import httpx
import pytest

from goalbound import load_learner
from goalbound.errors import StoreError
from goalbound.serve.service.tokens import Tokens
from goalbound.serve.store import Store
from goalbound.serve.store.database_url import database_of
from goalbound.serve.store.log import connected
from goalbound.serve.store.replay import verify
from tests.support.documents import ROOT, block
from tests.support.incidents_at_work import greedy
from tests.support.services import running


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    code = block("docs/how_to/service.md", '.save("recovery.npz")')
    exec(code.replace('"recovery.npz"', repr(str(folder / "recovery.npz"))), {})
    with running(folder / "store", "--learner", f"recovery={folder / 'recovery.npz'}") as (_, url):
        yield url


def test_the_program_of_the_page_handles_its_case(served, capsys):
    exec(block("docs/how_to/service.md", 'print("possible:"').replace("http://127.0.0.1:8765", served), {})
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "proposed: restart"
    assert "possible: restart" in printed
    assert printed[-1] == "done: True"


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_the_lines_by_hand_begin_step_ask_and_explain(served):
    lines = re.search(r"```sh\n(cases=.*?)```", (ROOT / "docs" / "how_to" / "service.md").read_text(), re.DOTALL)[1]
    lines = lines.replace("http://127.0.0.1:8765", served).replace("curl ", "curl --silent --show-error -w '\\n' ")
    said = subprocess.run(["sh", "-e", "-c", lines], capture_output=True, text=True, check=True, timeout=60).stdout
    begun, stepped, proposed, explained = map(json.loads, said.splitlines())
    assert (begun["case"], begun["name"]) == ("case-18", "restart")
    assert (stepped["step"], stepped["done"]) == (1, False)
    assert proposed["name"] == "page"
    assert explained["reason"]


def test_the_learner_of_the_start_page_is_one_that_its_program_can_ask(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(block("docs/start/learner_loop.md", "GreedyRidge("), {})
    learner = load_learner("first.npz")
    assert learner.support.state_names == ("down",)
    assert learner.begin([0.8, 0.2]).act("down") in (0, 1)


def test_the_program_of_the_start_page_handles_its_case(served, capsys):
    exec(block("docs/start/learner_loop.md", "Client(").replace("http://127.0.0.1:8765", served), {})
    assert capsys.readouterr().out.startswith("do: ")


def test_the_store_of_the_page_prints_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = block("docs/how_to/service.md", 'Store.open("cases")')
    exec(code, {})
    assert f"```text\n{capsys.readouterr().out}```" in (ROOT / "docs" / "how_to" / "service.md").read_text()
    assert verify(tmp_path / "cases").replayed == 5
    with Store.open(tmp_path / "cases") as store:
        assert store.names == ("recovery",)


def test_the_roles_of_the_page_are_enough_to_lead_and_to_read(postgres, database):
    schema = database_of(database).schema
    statements = re.search(r"```sql\n(.*?)```", (ROOT / "docs" / "how_to" / "operations.md").read_text(), re.DOTALL)[1]
    statements = re.sub(r"\bgoalbound\b", f"{schema}_leader", statements)
    statements = statements.replace("goalbound_reader", f"{schema}_reader").replace("incidents", schema)
    before, after = statements[: statements.rindex("GRANT")], statements[statements.rindex("GRANT") :]
    leader, reader = (postgres.url(schema, user=f"{schema}_{role}") for role in ("leader", "reader"))
    with connected(database, writes=True) as admin:
        admin.execute(before.encode())
        with Store.open(leader) as store:
            store.create("incidents", greedy()).begin([1.0, 0.0], "down", id="a")
            admin.execute(after.encode())
            Tokens(leader).create(["admin"])
            assert verify(reader).seq == store.digest()["seq"]
            assert Tokens(reader)
        with pytest.raises(StoreError, match="may not do this"):
            Store.open(reader)


def test_the_recipe_that_tails_the_log_sees_every_event_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Store.open(tmp_path / "store") as store:
        store.create("recovery", greedy()).begin([1.0, 0.0], "down", id="a")
    names = {}
    exec(block("docs/how_to/events.md", "def new_events("), names)
    with running(tmp_path / "store") as (_, url):
        first = names["new_events"](url, 0)
        httpx.post(f"{url}/v1/learners/recovery/cases/a/abandon", json={"step": 1, "reason": "lost"})
        second = names["new_events"](url, first[-1]["seq"])
    assert [event["seq"] for event in first + second] == [1, 2, 3]


def test_the_publication_of_the_page_has_every_event(postgres, database):
    """The statement of the recipe is run; receiving needs a server with wal_level = logical."""
    schema = database_of(database).schema
    statement = re.search(r"```sql\n(.*?)```", (ROOT / "docs" / "how_to" / "events.md").read_text(), re.DOTALL)[1]
    with Store.open(database), connected(database, writes=True) as admin:
        admin.execute(statement.replace("incidents", schema).encode())
        published = admin.execute("SELECT tablename FROM pg_publication_tables WHERE schemaname = %s", (schema,))
        assert published.fetchall() == [("event",)]


def test_the_proxy_of_the_page_is_one_that_nginx_takes(tmp_path):
    text = re.search(r"```nginx\n(.*?)```", (ROOT / "docs" / "how_to" / "operations.md").read_text(), re.DOTALL)[1]
    assert text.count("{") == text.count("}")
    assert {"client_header_timeout 10s;", "client_max_body_size 64m;"} <= {line.strip() for line in text.splitlines()}
    if shutil.which("nginx") is None:
        pytest.skip("there is no nginx")
    plain = re.sub(r"listen 8443 ssl;|ssl_certificate\w* .*", "", text)
    (tmp_path / "nginx.conf").write_text(f"pid {tmp_path}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\n{plain}}}\n")
    done = subprocess.run(
        ["nginx", "-t", "-c", str(tmp_path / "nginx.conf")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
