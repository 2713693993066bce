"""``goalbound serve`` and ``goalbound token``; that a service runs is tested in tests/unit/service/test_server.py."""

import re

import pytest

from goalbound.cli import main
from goalbound.service.tokens import Tokens
from tests.support.stores import open_store


def test_tokens_are_made_listed_and_revoked(tmp_path, capsys):
    open_store(tmp_path / "store").close()
    folder = str(tmp_path / "store")
    assert main(["token", folder]) == 0
    assert "there are no tokens" in capsys.readouterr().out
    assert main(["token", folder, "--scope", "cases:read", "cases:write", "--days", "9"]) == 0
    token = capsys.readouterr().out.strip()
    assert Tokens(tmp_path / "store").find(f"Bearer {token}".encode()).scopes == ("cases:read", "cases:write")
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
    ],
)
def test_what_cannot_be_done_is_said(tmp_path, capsys, words, code, message):
    open_store(tmp_path / "store").close()
    names = {"store": tmp_path / "store", "none": tmp_path / "none"}
    assert main([word.format(**names) for word in words]) == code
    assert message in capsys.readouterr().err.splitlines()[-1]
