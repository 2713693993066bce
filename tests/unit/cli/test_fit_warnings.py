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


def test_mean_losses_that_may_be_low_by_chance_are_said_and_no_more(folder, run):
    code, out, _ = run(*tickets(folder, cap=1000), "--loss-floor", "6", "--out", "learner.npz")
    assert code == 0
    assert "- mean losses below the loss floor (6 EUR), perhaps by chance: ask in new: 5 EUR in 60 steps" in out
    assert "contradict" not in out


def test_ten_skipped_rows_are_printed_and_all_are_in_json(folder, run):
    words = [*tickets(folder, spoilt=12), "--errors", "skip", "--report", "page.html"]
    code, out, _ = run(*words)
    assert code == 0
    assert "skipped rows:\n  row 0 (line 2), column \"eur\": '?' is not a number\n" in out
    assert out.count("'?' is not a number") == 10
    assert "  ... and 2 more; --json lists all\n" in out
    found = json.loads(run(*words, "--json")[1])["skipped_rows"]
    assert len(found) == 12
    assert found[1] == {"row": 2, "line": 4, "column": "eur", "reason": "'?' is not a number", "outcome": True}


def test_a_learner_that_is_there_is_refused_in_words_of_the_command_line(folder, run):
    words = [*tickets(folder), "--out", "learner.npz"]
    assert run(*words)[0] == 0
    code, _, err = run(*words)
    assert (code, err) == (
        2, "goalbound: learner.npz exists; write elsewhere, or replace it with --overwrite\n"
    )  # fmt: skip


@pytest.mark.parametrize("option", ["--out", "--report"])
def test_a_folder_that_is_missing_is_named_before_the_log_is_read(folder, run, option):
    code, _, err = run("fit", "no.csv", option, "sub/file.npz")
    assert (code, err) == (
        2, "goalbound: sub/file.npz: the folder sub does not exist; make it first, or write elsewhere\n"
    )  # fmt: skip
    (folder / "sub").write_text("")
    assert "the folder sub is no folder" in run("fit", "no.csv", option, "sub/file.npz")[2]


def test_a_covariate_that_is_missing_is_under_its_own_column(folder, run):
    words = tickets(folder)
    text = (folder / "tickets.csv").read_text().replace("0,0,new,ask,4,closed,0", "0,0,new,ask,4,closed,", 1)
    (folder / "tickets.csv").write_text(text)
    code, _, err = run(*words, "--out", "learner.npz")
    assert code == 2
    assert 'row 0 (line 2), column "seats": the value is missing' in err
