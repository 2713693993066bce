"""``goalbound fit``: what it warns of, what of it the learner keeps, and errors in words of the command line."""

from __future__ import annotations

import json

import pytest

from goalbound import SSP, LinearCSSP, Support, load_learner
from goalbound.models.files import save

pytest.importorskip("tomli_w", reason="the registry of learners needs the extra experiments")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tickets(folder, *, cap=60, spoilt=0) -> list[str]:
    """A log of 60 tickets, the first ``spoilt`` of them with a loss that is no number; the words to read it."""
    lines = ["case,time,state,action,eur,next_state,seats"]
    for case in range(60):
        amount = "?" if case < spoilt else str(4 + case % 3)
        lines.append(f"{case},{case},new,ask,{amount},closed,{case % 10}")
        lines.append(f"{case + 100},{case},new,answer,{40 + case % 5},closed,{case % 10}")
    (folder / "tickets.csv").write_text("\n".join(lines))
    (folder / "tickets.toml").write_text(
        f"goal = 'closed'\n[columns]\nloss = 'eur'\ncovariates = ['seats']\n[loss]\nunit = 'EUR'\ncap = {cap}\n"
        "floor = 2\n[map]\nkind = 'Hats'\nknots = [0, 10]\n"
    )
    return ["fit", "tickets.csv", "--map", "tickets.toml"]


def test_a_learner_that_fit_says_proves_nothing_says_so_itself(folder, run):
    words = [*tickets(folder, spoilt=3), "--errors", "skip", "--out", "learner.npz"]
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert "nothing of it is proven: the support was inferred from the log" in out
    assert "3 rows of the log skipped because of the loss or the next state" in out
    learner = load_learner(folder / "learner.npz")
    bounds = learner.policy_bounds(4, {"new": "answer"})
    assert not bounds.proven
    assert "Not proven: the support was inferred from the log" in str(bounds)
    assert "3 rows of the log skipped" in str(bounds)
    assert learner.card.guarantee == "unproven"
    code, out, _ = run("check", "learner.npz")
    assert code == 0
    assert "not proven: the support was inferred from the log" in out


def test_a_loss_floor_that_losses_contradict_is_a_warning_and_no_proof(folder, run):
    support = Support.from_pairs([{0: [1], 1: [1]}], state_names=["new"], action_names=["answer", "ask"])
    save(LinearCSSP.mix([SSP(support, [0.5, 0.5], [1.0, 1.0])]), folder / "problem.npz")
    words = [*tickets(folder), "--support", "problem.npz", "--out", "learner.npz", "--report", "page.html"]
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert "loss floor" not in out
    assert load_learner(folder / "learner.npz").policy_bounds(4).proven
    code, out, err = run(*words, "--loss-floor", "30", "--overwrite")
    assert (code, err) == (0, "")
    said = "- the losses contradict the loss floor (30 EUR), the least mean loss that was declared; mean losses are "
    assert f"{said}ask in new: 5 EUR in 60 steps. No bound is valid" in out
    assert "the losses contradict the loss floor (30 EUR)" in (folder / "page.html").read_text()
    bounds = load_learner(folder / "learner.npz").policy_bounds(4, {"new": "ask"})
    assert "Not proven: the losses of the log contradict the loss floor that was declared" in str(bounds)
    assert "The estimate lies outside the bounds in new" in str(bounds)
    found = json.loads(run(*words, "--loss-floor", "30", "--overwrite", "--json")[1])
    assert any("contradict the loss floor" in one for one in found["warnings"])
    assert found["caveats"] == ["the losses of the log contradict the loss floor that was declared"]
