"""``goalbound fit``: options of a file and of the command line, the learner, the page, one line for each error."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from goalbound import LRCSSP, LossScale, load_learner
from goalbound.adapters.covariates import CovariateLearner
from goalbound.learners.ridge import GreedyRidge
from goalbound.problems import incident_recovery
from goalbound.problems.incidents import runbook
from tests.support.log_files import OPTIONS, write_incidents

pytest.importorskip("tomli_w", reason="the registry of learners needs the extra experiments")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a log and the options to read it."""
    monkeypatch.chdir(tmp_path)
    write_incidents(tmp_path / "log.csv")
    (tmp_path / "how.toml").write_text(OPTIONS)
    return tmp_path


@pytest.fixture
def learned(monkeypatch) -> list[tuple[Any, list]]:
    """What learners were given; they learn nothing from it."""
    given: list[tuple[Any, list]] = []

    def learn_log(learner, log) -> int:
        given.append((learner, list(log)))
        return len(given[-1][1])

    for kind in (LRCSSP, GreedyRidge):
        monkeypatch.setattr(kind, "learn_log", learn_log, raising=False)
    return given


def test_a_learner_is_given_all_steps_and_saved_with_its_map(folder, run, learned):
    code, out, err = run("fit", "log.csv", "--map", "how.toml", "--out", "learner.npz")
    assert (code, err) == (0, "")
    ((learner, steps),) = learned
    assert len(steps) == len((folder / "log.csv").read_text().splitlines()) - 1
    assert isinstance(learner, LRCSSP)
    assert str(learner.settings.widths) == "sharp"
    assert learner.settings.loss_floor == pytest.approx(2.5 / 60)
    assert learner.settings.loss_bound is None  # by doubling
    loaded = CovariateLearner.load(folder / "learner.npz")
    assert loaded.inner.loss_scale == LossScale("min", cap=60)
    assert loaded.map.context_size == 12
    assert loaded.begin({"hour": 14, "traffic": 0.7}) is not None
    assert "learner.npz: CovariateLearner(Tensor of 12 components, LRCSSP(" in out
    assert "losses in min up to 60" in out


def test_options_go_before_the_file(folder, run, learned):
    words = ["--learner", "greedy-ridge", "--loss-floor", "3", "--set", "regularization=2", "--support"]
    code, _, err = run("fit", "log.csv", "--map", "how.toml", "--out", "l.npz", *words, "incident-recovery")
    assert (code, err) == (0, "")
    learner = learned[0][0]
    assert isinstance(learner, GreedyRidge)
    assert learner.settings.loss_floor == pytest.approx(0.05)
    assert learner.support.state_names[0] == "detected"
    assert learner.support.triples == 53  # that of the problem, not only what was seen


AROUND = """[guard]
after_steps = 9
after_loss = 150
[guard.runbook]
detected = "investigate"
"bad release" = "roll back"
overloaded = "fail over"
"failed node" = "fail over"
degraded = "restart"
down = "page expert"
[monitor]
window = 50
"""


def test_a_guard_and_a_monitor_are_around_the_learner_while_it_learns_the_log(folder, run):
    (folder / "how.toml").write_text(OPTIONS + AROUND)
    words = ("--learner", "greedy-ridge", "--support", "incident-recovery", "--json")
    code, out, err = run("fit", "log.csv", "--map", "how.toml", "--out", "learner.npz", *words)
    assert (code, err) == (0, "")
    steps = len((folder / "log.csv").read_text().splitlines()) - 1
    monitor = load_learner(folder / "learner.npz").inner
    assert (monitor.detector.steps, len(monitor._last_steps().pairs)) == (steps, 50)
    assert monitor._cases == 60
    assert (monitor.inner.after_steps, monitor.inner.after_loss) == (9, 2.5)
    assert monitor.inner.runbook.tolist() == runbook(incident_recovery()).tolist()
    assert json.loads(out)["changes"] == []


def test_a_change_within_the_log_is_printed(folder, run):
    write_incidents(folder / "log.csv", 400)
    (folder / "how.toml").write_text(OPTIONS + "[monitor]\nrun_length = 2\n")
    words = ("--learner", "greedy-ridge", "--support", "incident-recovery")
    code, out, _ = run("fit", "log.csv", "--map", "how.toml", "--out", "learner.npz", *words)
    assert code == 0
    assert re.search(r"- [\d.]+ to [\d.]+: .*state", out)
    assert "relearned() gives a learner" in out


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ("[guard]\nafter_steps = 3\n", 'runbook: policy has no action for state 0 ("detected")'),
        ("[guard.runbook]\ndetected = 'wait'\n", "runbook: "),
        ("[monitor]\nrun_length = 0.5\n", "run_length is 0.5"),
    ],
)
def test_tables_of_guards_and_monitors_that_cannot_be_are_refused(tables, said, folder, run):
    (folder / "how.toml").write_text(OPTIONS + tables)
    code, _, err = run("fit", "log.csv", "--map", "how.toml", "--out", "l.npz", "--support", "incident-recovery")
    assert code == 2
    assert said in err


def test_a_learner_that_is_there_is_replaced_only_on_demand(folder, run, learned):
    words = ("fit", "log.csv", "--map", "how.toml", "--out", "learner.npz")
    assert run(*words)[0] == 0
    code, _, err = run(*words)
    assert code == 2
    assert "learner.npz" in err
    assert run(*words, "--overwrite")[0] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nothing to do: give --out"),
        (["--out", "l.npz", "--learner", "clairvoyant"], "clairvoyant cannot be fitted to a log: it knows the problem"),
        (["--out", "l.npz", "--learner", "greedy-rigde"], 'did you mean "greedy-ridge"'),
        (["--out", "l.npz", "--set", "width=sharp"], "width"),
        (["--out", "l.npz", "--loss-floor", "0"], "the loss floor 0 min is not above 0"),
        (["--out", "l.npz", "--loss", "cost"], "there is no column 'cost'; there are 'case', 'time'"),
        (["--out", "l.npz", "--goal", "done"], "no row begins in 'recovered', so no action is known there"),
        (["--out", "l.npz", "--cap", "10"], "is above the cap of 10 min; raise the cap, or count such losses as the "
         "cap with --beyond clip"),
        (["--out", "l.npz", "--support", "windy-grid"], "'detected' is no state of the support"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line(folder, run, learned, words, said):
    code, _, err = run("fit", "log.csv", "--map", "how.toml", *words)
    assert code == 2
    assert said in err
    assert err.count("\n") == 1
    assert not (folder / "l.npz").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("goal = ", "how.toml: not a TOML file"),
        ("gaol = 'x'", "how.toml: 'gaol' is no key; there are goal, errors"),
        ("columns = 3", "columns is 3; it is a table"),
        ("[loss]\nfloor = 'low'", "the loss floor is 'low'"),
        ("[loss]\nunit = 'min'\nfloor = 1", "a unit needs a cap"),
        ("[loss]\nfloor = 1\n[map]\nkind = 'Heads'", "no map is of kind 'Heads'"),
        ("[loss]\nfloor = 1\n[map]\nkind = 'Hats'\nknots = [0, 1]",
         "there is a map, and no covariates; name the columns that it reads with --covariates"),
        ("[loss]\nfloor = 1\nunit = 'min'\ncap = 60\n[learner]\nuse = 3", 'no learner is called "3"'),
        ("", "is not in [0, 1]; say what their unit is with --unit min --cap 60"),
        ("x" * 2**21, "a file of options is small"),
    ],
)  # fmt: skip
def test_a_file_of_options_that_is_wrong_is_one_line(folder, run, learned, text, said):
    (folder / "how.toml").write_text(text)
    code, _, err = run(
        "fit", "log.csv", "--map", "how.toml", "--out", "l.npz", "--loss", "minutes", "--goal", "recovered"
    )
    assert code == 2
    assert said in err
    assert err.count("\n") == 1


def test_a_learner_that_cannot_learn_from_others_says_so(folder, run, monkeypatch):
    monkeypatch.setattr(LRCSSP, "learn_log", None, raising=False)
    code, _, err = run("fit", "log.csv", "--map", "how.toml", "--out", "l.npz")
    assert code == 2
    assert "lr-cssp cannot learn from steps that others chose" in err


def test_only_the_steps_of_a_window_are_learned(folder, run, learned):
    code, _, err = run("fit", "log.csv", "--map", "how.toml", "--out", "a.npz")
    times = [row.split(",")[1] for row in (folder / "log.csv").read_text().splitlines()[1:]]
    first, last = sorted(times, key=float)[10], sorted(times, key=float)[20]
    code, _, err = run("fit", "log.csv", "--map", "how.toml", "--out", "b.npz", "--since", first, "--until", last)
    assert (code, err) == (0, "")
    assert len(learned[1][1]) == sum(float(first) <= float(time) < float(last) for time in times) > 0
    code, _, err = run("fit", "log.csv", "--map", "how.toml", "--out", "c.npz", "--since", "1e12")
    assert code == 2
    assert "no step of the log is in the window; its steps are from 61.194 to 5803.115" in err
    code, _, err = run("fit", "log.csv", "--map", "how.toml", "--out", "c.npz", "--since", "2026-03-01")
    assert code == 2
    assert "since: '2026-03-01' is a time without zone" in err


MAPS = """traffic = { kind = "Additive", columns = ["traffic"], maps = [{ kind = "Hats", knots = [0, 0.5, 1] }] }
[hour]
kind = "Additive"
columns = ["hour"]
maps = [{ kind = "Periodic", period = 24, knots = [3, 15] }]
"""


def test_maps_are_compared_beside_that_of_the_file_and_none(folder, run):
    pytest.importorskip("matplotlib").use("Agg")
    (folder / "maps.toml").write_text(MAPS)
    code, out, err = run("fit", "log.csv", "--map", "how.toml", "--compare", "maps.toml", "--chart", "maps.png")
    assert (code, err) == (0, "")
    table = out.partition("map      components")[2]
    assert [line.split()[:2] for line in table.splitlines()[2:6]] == [
        ["none", "1"], ["map", "12"], ["traffic", "3"], ["hour", "2"],
    ]  # fmt: skip
    assert "- take '" in table
    assert "maps.png: the chart of the comparison" in out
    assert (folder / "maps.png").read_bytes().startswith(b"\x89PNG")
    code, out, _ = run("fit", "log.csv", "--map", "how.toml", "--compare", "maps.toml", "--json")
    compared = json.loads(out)["comparison"]
    assert code == 0
    assert [one["name"] for one in compared["maps"]] == ["none", "map", "traffic", "hour"]
    assert compared["choice"] in ("none", "map", "traffic", "hour")


def test_wrong_comparisons_are_named(folder, run):
    (folder / "maps.toml").write_text('[hour]\nkind = "Hatz"\n')
    (folder / "empty.toml").write_text("")
    how = ("fit", "log.csv", "--map", "how.toml")
    for words, message in (
        ((*how, "--compare", "maps.toml"), "maps.toml: [hour] no map is of kind 'Hatz'"),
        ((*how, "--compare", "empty.toml"), "empty.toml: the file has no map; write maps by name"),
        ((*how, "--chart", "maps.png"), "--chart is the chart of --compare; give --compare MAPS.toml too"),
        (("fit", "log.csv", "--loss", "minutes", "--compare", "maps.toml"), "--compare needs covariates and the map"),
        (how, "nothing to do: give --out FILE.npz for the learner, --report PAGE.html, or --compare MAPS.toml"),
    ):
        code, _, err = run(*words)
        assert (code, message in err) == (2, True), err
