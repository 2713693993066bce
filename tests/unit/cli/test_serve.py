"""``goalbound serve`` and ``goalbound token``; a running one: tests/unit/serve/service/test_server.py."""

import re
import signal
import socket

import pytest

from faults.postgres import GUARDED, SECRET
from goalbound.cli import main
from goalbound.serve.service.tokens import Tokens
from tests.support.incidents_at_work import greedy
from tests.support.services import running
from tests.support.stores import open_store


def test_tokens_are_made_listed_and_revoked(tmp_path, capsys):
    open_store(tmp_path / "store").close()
    folder = str(tmp_path / "store")
    assert main(["token", folder]) == 0
    assert "there are no tokens" in capsys.readouterr().out
    assert main(["token", folder, "--scope", "cases:read", "cases:write", "--days", "9"]) == 0
    token = capsys.readouterr().out.strip()
    assert Tokens(tmp_path / "store").find(f"Bearer {token}").scopes == ("cases:read", "cases:write")
    id = re.fullmatch(r"gb_([0-9a-f]{8})_[\w-]{43}", token)[1]
    assert main(["token", folder, "--revoke", id]) == 0
    capsys.readouterr()
    assert main(["token", folder]) == 0
    assert re.search(rf"{id} +cases:read cases:write .* no", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["token", "{none}"], 1, "there is no store"),
        (["token", "{store}", "--scope", "all"], 2, "is no scope"),
        (["serve", "{none}"], 1, "there is no store"),
        (["serve", "{store}", "--learner", "x"], 2, "is not NAME=FILE"),
        (["serve", "{store}", "--host", "0.0.0.0"], 2, "there are no tokens"),
        (["serve", "--store", "{store}", "--standby"], 2, "has no standby"),
        (["serve"], 2, "goalbound serve --store FOLDER|URL"),
        (["serve", "{store}", "--store", "{store}"], 2, "goalbound serve --store FOLDER|URL"),
    ],
)
def test_what_cannot_be_done_is_said(tmp_path, capsys, words, code, message):
    open_store(tmp_path / "store").close()
    names = {"store": tmp_path / "store", "none": tmp_path / "none"}
    assert main([word.format(**names) for word in words]) == code
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_a_learner_that_is_in_the_store_stays_and_its_file_is_not_read(tmp_path):
    with open_store(tmp_path / "store") as store:
        store.create("recovery", greedy())
        before = store.digest()
    with running(tmp_path / "store", "--learner", "recovery=none.npz") as (process, _):
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=30)[1].decode()
    assert '"recovery" is in the store already' in said
    assert "none.npz is not read" in said
    with open_store(tmp_path / "store") as store:
        assert store.digest() == before


def test_a_port_that_is_taken_is_said_with_what_to_do(tmp_path, capsys):
    open_store(tmp_path / "store").close()
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert main(["serve", str(tmp_path / "store"), "--port", str(port)]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert f"another program listens on port {port}" in error
    assert "give another --port" in error


def test_tokens_of_a_store_in_a_database(database, capsys):
    assert main(["token", database]) == 1
    assert "there is no store" in capsys.readouterr().err
    open_store(database).close()
    assert main(["token", database, "--scope", "admin"]) == 0
    token = capsys.readouterr().out.strip()
    assert main(["token", database]) == 0
    assert token.split("_")[1] in capsys.readouterr().out


def test_a_password_in_a_url_is_not_said(postgres, capsys):
    url = postgres.url("none", user=GUARDED, password=SECRET)
    for words in (["serve", url], ["store", "verify", url], ["token", url.replace("host=", "no-such=")]):
        assert main(words) == 1
        error = capsys.readouterr().err
        assert "postgresql://guarded@" in error
        assert "horse" not in error


@pytest.mark.parametrize(
    "url", ["Postgresql:ann:horse@db/x", "host=db password=horse", "postgresql://ann:a@horse@db.invalid/x"]
)
def test_what_looks_like_a_url_is_refused_without_saying_its_password(url, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    log = "log.ndjson"
    for words in (
        ["serve", url], ["serve", url, "--learner", "a=b.npz"], ["token", url], ["store", "status", url],
        ["store", "verify", url], ["store", "export", url, log], ["store", "import", url, log],
        ["store", url, "status"], ["store", "compact", url, "--archive", log], ["fit", url, "--out", "a.npz"],
    ):  # fmt: skip
        assert main(words) == 2
        assert "horse" not in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
