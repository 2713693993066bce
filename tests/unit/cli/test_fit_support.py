"""``goalbound fit`` with a support that is declared in its file."""

from __future__ import annotations

import pytest

from goalbound import LRCSSP, Support

pytest.importorskip("tomli_w", reason="the registry of learners needs the extra experiments")

TICKETS = """goal = "closed"
[support]
new = { answer = ["waiting", "closed"], ask = ["waiting"] }
[support.waiting]
answer = ["waiting", "goal"]
"""


def test_a_support_is_a_table_of_states_actions_and_next_states(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tickets.csv").write_text("case,time,state,action,loss,next_state\n1,1,new,answer,0.5,closed\n")
    (tmp_path / "tickets.toml").write_text(TICKETS)
    words = ["fit", "tickets.csv", "--map", "tickets.toml", "--loss-floor", "0.1", "--out", "learner.npz"]
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert "inferred" not in out
    wanted = {"new": {"answer": ["waiting", "goal"], "ask": ["waiting"]}, "waiting": {"answer": ["waiting", "goal"]}}
    assert LRCSSP.load(tmp_path / "learner.npz").support == Support.from_names(wanted)
    (tmp_path / "tickets.toml").write_text(TICKETS.replace('ask = ["waiting"]', 'ask = ["wating"]'))
    code, _, err = run(*words, "--overwrite")
    assert code != 0
    assert '[support]: "new", "ask" leads to "wating", which has no actions' in err
