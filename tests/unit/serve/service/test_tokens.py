"""Tokens."""

import json
import re
import stat

import pytest

from goalbound.errors import ArgumentError, FileFormatError, StoreError
from goalbound.serve.service import tokens as module
from goalbound.serve.service.tokens import FILE, Tokens
from goalbound.serve.store.log import connected
from tests.support.stores import open_store


def bearer(token):
    return f"Bearer {token}"


def test_a_token_is_found_by_its_secret_and_only_its_hash_is_kept(tmp_path):
    tokens = Tokens(tmp_path)
    assert not tokens
    token = tokens.create(["cases:write", "cases:read"])
    found = tokens.find(bearer(token))
    assert found.allows("cases:write")
    assert not found.allows("admin")
    text = (tmp_path / FILE).read_text()
    assert token.split("_", 2)[2] not in text
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert tokens


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Basic x", "Bearer x y", "Bearer gb_", "Bearer \xff\xfe", "Bearer gb_12_34"]
)
def test_what_is_no_token_is_none(tmp_path, header):
    tokens = Tokens(tmp_path)
    tokens.create(["admin"])
    assert tokens.find(header) is None


def test_expired_and_revoked_tokens_count_no_more_for_a_running_service(tmp_path, monkeypatch):
    running, desk = Tokens(tmp_path), Tokens(tmp_path)
    token, short = desk.create(["admin"]), desk.create(["admin"], days=1.0)
    running.look()
    assert running.find(bearer(token)) is not None
    assert running.find(bearer(short)) is not None
    desk.revoke(token.split("_")[1])
    running.look()
    assert running.find(bearer(token)) is None
    now = module.time.time()
    monkeypatch.setattr(module.time, "time", lambda: now + 86401.0)
    assert running.find(bearer(short)) is None
    assert running  # everybody still needs one
    for given, said in (
        (token, r"this token was revoked; ask .* for a new one \(goalbound token FOLDER --scope ...\)"),
        (short, "this token has expired; ask .* for a new one"),
        (short[:-1], "there is no such token; give a token: Authorization: Bearer"),
    ):
        assert re.match(said, running.why_not(bearer(given)))
    assert running.why_not(None) == "give a token: Authorization: Bearer ..."


def test_wrong_scopes_times_and_files_are_refused(tmp_path):
    tokens = Tokens(tmp_path)
    for scopes in ([], ["everything"]):
        with pytest.raises(ArgumentError, match="scope"):
            tokens.create(scopes)
    with pytest.raises(ArgumentError, match="days"):
        tokens.create(["admin"], days=-1.0)
    with pytest.raises(ArgumentError, match="there is no token 'x'"):
        tokens.revoke("x")
    (tmp_path / FILE).write_text(json.dumps({"a": {"scopes": []}}))
    with pytest.raises(FileFormatError, match="not as it was written"):
        Tokens(tmp_path)


def test_a_file_that_is_damaged_while_it_is_used_changes_nothing_and_tells_nobody(tmp_path, caplog):
    tokens = Tokens(tmp_path)
    token = tokens.create(["cases:read"])
    (tmp_path / FILE).write_text("{")
    tokens.look()
    assert tokens.find(bearer(token)) is not None
    assert tokens.find("Bearer gb_00000000_x") is None
    assert "the tokens stay as they were" in caplog.text
    with pytest.raises(FileFormatError):
        Tokens(tmp_path)


def test_tokens_of_a_store_in_a_database_are_seen_by_a_running_service_and_stay_while_it_is_gone(database, caplog):
    with pytest.raises(StoreError, match="there is no store"):
        Tokens(database)
    open_store(database).close()
    running, desk = Tokens(database), Tokens(database)
    assert not running
    token, other = desk.create(["cases:read"]), desk.create(["admin"])
    running.look()
    assert running.find(bearer(token)) is not None
    assert token.split("_", 2)[2] not in running._data.decode()
    desk.revoke(token.split("_")[1])
    running.look()
    assert running.find(bearer(token)) is None
    with connected(database, writes=True) as third:
        third.execute("SELECT pg_terminate_backend(%s)", (running._source._connection.info.backend_pid,))
    running.look()
    assert "the tokens stay as they were" in caplog.text
    assert running.find(bearer(other)) is not None
    desk.revoke(other.split("_")[1])
    running.look()  # by another connection
    assert running.find(bearer(other)) is None
    running.close()
    desk.close()
