"""``goalbound fit`` with a support that is declared in its file."""

from __future__ import annotations

import pytest

from goalbound import LRCSSP, GreedyRidge, Support
from goalbound.serve.store import Store

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


def test_a_support_is_that_of_a_learner_so_that_a_refit_can_follow_it(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    first = "case,time,state,action,loss,next_state\n1,1,new,ask,0.2,waiting\n1,2,waiting,answer,0.5,closed\n"
    (tmp_path / "old.csv").write_text(first)
    (tmp_path / "newer.csv").write_text("case,time,state,action,loss,next_state\n7,1,waiting,answer,0.5,closed\n")
    words = ["--loss-floor", "0.1", "--learner", "greedy-ridge"]
    assert run("fit", "old.csv", "--goal", "closed", *words, "--out", "old.npz")[0] == 0
    assert run("fit", "newer.csv", "--support", "old.npz", *words, "--out", "newer.npz")[0] == 0
    old, newer = GreedyRidge.load(tmp_path / "old.npz"), GreedyRidge.load(tmp_path / "newer.npz")
    assert newer.support == old.support
    assert (old.support.goal_name, newer.support.goal_name) == ("closed", "closed")
    assert newer.caveats == old.caveats  # it was inferred from a log, if not from this one
    assert "inferred" in newer.caveats[0]
    with Store.open(tmp_path / "tickets") as store:
        store.create("tickets", old)
        store.create("newer", newer, follows="tickets")
    (tmp_path / "wrong.csv").write_text(first.replace("answer", "close"))
    code, _, err = run("fit", "wrong.csv", "--support", "old.npz", "--goal", "closed", *words, "--out", "wrong.npz")
    assert code != 0
    assert "'close' is no action of the support" in err


def test_an_inferred_support_is_written_as_tables_that_are_read_as_the_same_support(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    rows = '1,1,"new ""x""",ask,0.2,waiting\n1,2,waiting,answer,0.5,closed\n2,1,about x,write,0.1,closed\n'
    (tmp_path / "old.csv").write_text("case,time,state,action,loss,next_state\n" + rows)
    words = ["fit", "old.csv", "--goal", "closed", "--loss-floor", "0.1"]
    _, out, _ = run(*words, "--out", "first.npz")
    assert "a later step that leads elsewhere is refused" in out
    assert "- --support-out FILE.toml writes the support that was inferred" in out
    code, out, err = run(*words, "--support-out", "support.toml")
    assert (code, err) == (0, "")
    assert "support.toml: the support, as tables of a file of --map" in out
    code, out, _ = run(*words, "--map", "support.toml", "--out", "second.npz")
    assert code == 0
    assert "inferred" not in out
    first, second = (LRCSSP.load(tmp_path / name).support for name in ("first.npz", "second.npz"))
    assert first.action_names == ("write", "ask", "answer")  # of "about x" first
    assert first == second  # so the second may follow the first
    assert first.goal_name == second.goal_name == "closed"
