import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from goalbound import LRCSSP, SSP, LinearCSSP
from goalbound.cli import main
from goalbound.cli.arguments import parser
from goalbound.experiments.learners import LEARNERS
from goalbound.experiments.registry import CONTEXTS, LOSS_LAWS, PROBLEMS
from goalbound.extras import install_command
from goalbound.models.files import save
from goalbound.problems import CATALOG, treatment_ladder

PAGE = Path(__file__).parents[3] / "docs" / "experiments.md"
COMMANDS = ["run", "report", "figures", "learners", "check"]
SPEC = """
name = "small"
question = "Who looks?"
episodes = 20
seeds = 2
step_limit = 2000

[[problems]]
use = "treatment-ladder"
levels = 2
markers = 1

[[learners]]
use = "lr-cssp"
scale = 0.1
label = "looking"

[[learners]]
use = "clairvoyant"

[quick]
episodes = 3
seeds = 1
"""


@pytest.fixture
def run(capsys):
    def run(*words):
        code = main(words)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty folder with one experiment in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SPEC)
    return tmp_path


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What a run of it leaves."""
    folder = tmp_path_factory.mktemp("results")
    (folder / "small.toml").write_text(SPEC)
    words = ["run", str(folder / "small.toml"), "--workers", "1", "--quiet", "--out", str(folder / "out" / "small")]
    assert main(words) == 0
    return folder / "out"


@pytest.fixture
def done(place, results):
    """The folder after the run."""
    shutil.copytree(results, place / "out")
    return place


def strict(text):
    def refuse(word):
        raise AssertionError(f"{word} is not strict JSON")

    return json.loads(text, parse_constant=refuse)


def records(folder):
    return {path.name: path.read_bytes() for path in (Path(folder) / "records").iterdir()}


def test_a_run_leaves_records_a_summary_and_a_report_and_says_where(place, run):
    code, out, err = run("run", "small.toml", "--workers", "1")
    assert code == 0
    assert out.startswith("Who looks?\n\ntreatment-ladder, contexts dirichlet, 20 episodes")
    assert "looking" in out
    assert out.endswith("out/small/summary.csv\nout/small/summary.json\nout/small/report.html\n")
    assert "[1/4] treatment-ladder, dirichlet, looking, seed 0: expected regret" in err
    assert len(records("out/small")) == 4
    assert "<html" in Path("out/small/report.html").read_text()
    assert Path("out/small/summary.csv").read_text().count("\n") == 3  # the head, and one line per learner


def test_what_is_done_is_not_done_again(done, run):
    before = records("out/small")
    code, _, err = run("run", "small.toml", "--workers", "1", "--set", "seeds=3")
    assert code == 0
    assert "2 done, 4 reused, 0 failed" in err
    after = records("out/small")
    assert len(after) == 6
    assert before.items() <= after.items()


def test_a_quick_look_has_a_folder_of_its_own(done, run):
    before = records("out/small")
    code, out, _ = run("run", "small.toml", "--quick", "--workers", "1", "--quiet")
    assert code == 0
    assert "3 episodes" in out
    assert len(records("out/small-quick")) == 2
    assert records("out/small") == before


def test_keys_are_changed_from_the_command_line(place, run):
    words = ["--set", "episodes=1e1", "seeds=[7]", "losses=bernoulli", "learners.0.scale=0.2", "--out", "elsewhere"]
    assert run("run", "small.toml", *words, "--workers", "1", "--quiet", "--no-report")[0] == 0
    assert not Path("elsewhere/report.html").exists()
    (looking,) = [one for one in run("check", "elsewhere/spec.toml")[1].splitlines() if one.startswith("small")]
    assert looking == "small: 2 runs of 10 episodes, 20 in all"
    assert "scale = 0.2" in Path("elsewhere/spec.toml").read_text()
    assert tomllib.loads(Path("elsewhere/spec.toml").read_text())["seeds"] == [7]


def test_json_lines_tell_what_happens_and_the_summary_is_the_last(place, run):
    code, out, err = run("run", "small.toml", "--workers", "1", "--json")
    assert (code, err) == (0, "")
    lines = [strict(line) for line in out.splitlines()]
    assert [line["event"] for line in lines if line["event"] != "progress"] == [
        "sweep", *["started", "finished"] * 4, "done", "summary",
    ]  # fmt: skip
    assert [group["learner"] for group in lines[-1]["groups"]] == ["looking", "clairvoyant"]
    assert lines[-1]["files"] == [f"out/small/{name}" for name in ("summary.csv", "summary.json", "report.html")]


def test_a_run_that_fails_does_not_stop_the_others_and_is_reported(place, run):
    code, out, err = run("run", "small.toml", "--workers", "1", "--quiet", "--set", "learners.0.delta=2.0")
    assert code == 1
    assert "clairvoyant" in out
    lines = err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("goalbound: run ") and "delta 2.0" in line for line in lines)
    assert len(os.listdir("out/small/failures")) == 2


def test_two_workers_write_the_same_bytes(done, run):
    assert run("run", "small.toml", "--workers", "2", "--quiet", "--out", "again")[0] == 0
    assert records("again") == records("out/small")


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_is_one_line_that_says_how_to_go_on_and_the_checkpoint_is_there(place, run):
    words = ["-m", "goalbound", "run", "small.toml", "--workers", "1", "--set", "episodes=100000000", "--json"]
    with subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout:
            if '"progress"' in line:
                break
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    said = [line for line in err.splitlines() if "compiling" not in line]
    assert said == [
        "goalbound: stopped with 0 of 4 runs done; resume with: goalbound run small.toml --set episodes=100000000"
    ]
    (name,) = os.listdir("out/small/partial")
    code, out, _ = run("check", f"out/small/partial/{name}")
    assert code == 0
    assert "an unfinished run (" in out


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.usefixtures("ctrl_c")
def test_a_run_that_is_started_with_ctrl_c_ignored_goes_on_and_a_request_to_end_stops_it(place):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what nohup's shell does; processes that are started inherit it
    words = ["-m", "goalbound", "run", "small.toml", "--workers", "1", "--set", "episodes=100000000", "--json"]
    with subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        for number in (signal.SIGINT, signal.SIGTERM):
            next(line for line in process.stdout if '"progress"' in line)
            process.send_signal(number)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "stopped with 0 of 4 runs done" in err
    assert out.count('"stopping"') == 1


def test_a_report_is_made_again_from_the_records_alone(done, run):
    before = {name: Path(f"out/small/{name}").read_bytes() for name in ("summary.csv", "summary.json", "report.html")}
    for name in before:
        os.remove(f"out/small/{name}")
    for word in ("out/small", "out/small/spec.toml", "small.toml"):
        code, out, err = run("report", word)
        assert (code, err) == (0, "")
        assert out.startswith("Who looks?")
        assert out.endswith("report.html\n")
    assert {name: Path(f"out/small/{name}").read_bytes() for name in before} == before
    assert strict(run("report", "out/small", "--json")[1])["name"] == "small"


def test_figures_are_drawn_in_the_formats_asked_for(done, run):
    pytest.importorskip("matplotlib")
    code, out, _ = run("figures", "out/small", "--format", "svg")
    assert code == 0
    paths = [Path(line) for line in out.splitlines()]
    assert {path.suffix for path in paths} == {".svg"}
    assert all(path.parent == Path("out/small/figures") and path.stat().st_size > 500 for path in paths)


def test_what_experiments_may_name_is_listed_with_its_settings(run):
    code, out, _ = run("learners")
    assert code == 0
    for name in (*LEARNERS.entries, *CONTEXTS.entries, *LOSS_LAWS):
        assert f"  {name}: " in out
    assert '    widths = "paper"' in out
    assert "package.module:function" in out
    listing = strict(run("learners", "--json")[1])
    assert [one["name"] for one in listing["learners"]] == list(LEARNERS.entries)
    assert listing["learners"][0]["settings"]["scale"] == 1.0
    assert "    sees contexts; known test; proven: Theorem regret-bound-main; widths: paper; delta 0.1" in out
    assert listing["learners"][0]["card"]["guarantee"] == "proven"
    assert [one["name"] for one in listing["losses"]] == list(LOSS_LAWS)


def test_the_worlds_of_gymnasium_are_listed_among_the_problems(run):
    _, out, _ = run("problems")
    listing = strict(run("problems", "--json")[1])
    environments = [one["name"] for one in listing if one["environment"] == "gymnasium"]
    assert environments == [name for name in PROBLEMS.entries if name not in CATALOG]
    assert all(name in out for name in environments)


def test_an_experiment_is_checked_without_running_it(place, run):
    code, out, _ = run("check", "small.toml")
    assert code == 0
    assert out.splitlines() == [
        "small: 4 runs of 20 episodes, 80 in all", "problems: treatment-ladder", "contexts: dirichlet",
        "learners: looking, clairvoyant", "seeds: 0, 1",
    ]  # fmt: skip
    assert run("check", "small.toml", "--quick")[1].startswith("small: 2 runs of 3 episodes")
    assert "2 combinations" in run("check", "small.toml", "--try")[1]
    assert os.listdir(place) == ["small.toml"]


def test_checking_finds_what_names_alone_do_not_tell(place, run):
    for words in ([], ["--try"]):
        code, _, err = run("check", "small.toml", "--set", "problems.levels=0", *words)
        assert code == 2
        assert "treatment-ladder, dirichlet, looking: problems (treatment-ladder): levels is 0" in err


def test_the_schema_of_experiment_files_is_printed(run):
    schema = strict(run("check", "--schema")[1])
    assert set(schema["required"]) >= {"name", "episodes", "problems", "learners"}


def test_a_problem_is_checked_by_its_file(place, run):
    treatment_ladder(3).save("ladder.npz")
    code, out, _ = run("check", "ladder.npz")
    assert code == 0
    assert out.startswith("ladder.npz: a contextual problem; 3 states, 9 pairs,")
    assert "every context has a proper policy; smallest loss 0.1" in out
    save(SSP.dense([[0.5]], [[[0.0, 1.0]]]), "door.umb")
    assert run("check", "door.umb")[1].startswith("door.umb: a problem without context; 1 states, 1 pairs")
    LinearCSSP.mix([SSP.dense([[0.5]], [[[0.0, 1.0]]]), SSP.dense([[0.5]], [[[1.0, 0.0]]])]).save("closed.npz")
    code, out, err = run("check", "closed.npz")
    assert (code, out) == (2, "")
    assert "closed.npz: component 1: no policy surely reaches the goal from state 0" in err


def test_a_learner_is_identified_by_its_checkpoint(place, run):
    learner = LRCSSP(treatment_ladder(3).support, 3, loss_floor=0.1)
    waiting = learner.begin([1.0, 0.0, 0.0])
    waiting.act(2)
    learner.save("learner.npz")
    code, out, _ = run("check", "learner.npz")
    assert code == 0
    assert out.startswith("learner.npz: a learner; LRCSSP(3 states, 9 pairs,")
    assert out.endswith("loss floor 0.1, loss bound 1 (found by doubling); 1 open episode\n")


def test_a_record_is_identified_by_its_file(done, run):
    name = next(iter(records("out/small")))
    code, out, _ = run("check", f"out/small/records/{name}")
    assert code == 0
    assert "a record; " in out
    assert "20 episodes, expected regret " in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run"], "required: SPEC.toml (it comes before the options)"),
        (["run", "missing.toml"], "missing.toml: no such file"),
        (["run", "."], ". is a folder; give the file of an experiment"),
        (["run", "bad.toml"], "bad.toml: not a TOML file"),
        (["run", "small.toml", "--workers", "0"], "workers is 0"),
        (["run", "small.toml", "--workers", "two"], "invalid int value: 'two'"),
        (["run", "small.toml", "--workers", "2", "--on", "tcp://h:1"], "give one of them"),
        (["run", "small.toml", "--set", "episodes"], '"episodes" changes nothing; write KEY=VALUE'),
        (["run", "small.toml", "--set", "episodes=0"], "episodes is 0"),
        (["run", "small.toml", "--set", "episodes=1", "episodes=2"], '"episodes" is set twice'),
        (["run", "small.toml", "--set", "epsiodes=3"], 'there is no key "epsiodes" (did you mean "episodes"?)'),
        (
            ["run", "small.toml", "--set", "learners.use=lr-csp"],
            'no learner is called "lr-csp" (did you mean "lr-cssp"?)',
        ),
        (
            ["run", "small.toml", "--set", "learners.0.sclae=1"],
            'lr-cssp has no setting "sclae" (did you mean "scale"?)',
        ),
        (["run", "small.toml", "--set", "problems.levels=two"], "it needs a whole number"),
        (["run", "small.toml", "--set", "losses=gauss"], "there is no law 'gauss'"),
        (["run", "small.toml", "--out", "small.toml"], "small.toml is a file; --out is a folder"),
        (["run", "small.toml", "--bogus"], 'there is no option "--bogus"; see "goalbound run --help"'),
        (["run", "small.toml", "--wrokers=2"], 'no option "--wrokers" (did you mean "--workers"?)'),
        (["run", "small.toml", "other.toml"], '"other.toml" is an unexpected argument; see "goalbound run --help"'),
        (["report", "."], ". has no spec.toml; give the folder of an experiment"),
        (["report", "small.toml"], "out/small has no records yet; goalbound run small.toml makes them"),
        (["report", "missing"], "missing: no such file"),
        (["figures", "small.toml"], "out/small has no records yet"),
        (["figures", "small.toml", "--format", "gif"], "invalid choice: 'gif'"),
        (["check"], "which file?"),
        (["check", "missing.npz"], "missing.npz: no such file"),
        (["check", "bad.toml"], "not a TOML file"),
        (["check", "bad.npz"], "bad.npz: this is no complete npz file"),
        (["check", "bad.parquet"], "bad.parquet"),
        (["check", "bad.npz", "--quick"], "--set, --quick, --try and --plugin are for .toml files"),
    ],
)
def test_bad_input_is_one_line_on_stderr_and_exit_code_2(run, place, words, message):
    for name in ("bad.toml", "bad.npz", "bad.parquet"):
        (place / name).write_text("hello = ")
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith("goalbound: ")
    assert err.count("\n") == 1
    assert message in err
    assert sorted(os.listdir(place)) == ["bad.npz", "bad.parquet", "bad.toml", "small.toml"]


@pytest.mark.parametrize(
    ("words", "missing", "extra"),
    [
        (["run", "small.toml"], "pydantic", "experiments"),
        (["report", "out/small"], "pydantic", "experiments"),
        (["check", "small.toml"], "pydantic", "experiments"),
        (["run", "small.toml", "--quiet", "--workers", "1"], "pyarrow", "experiments"),
        (["run", "small.toml", "--quiet", "--workers", "2"], "joblib", "experiments"),
        (["figures", "out/small"], "matplotlib", "experiments"),
        (["run", "small.toml", "--set", "problems=[{use='taxi'}]"], "gymnasium", "gym"),
    ],
)
def test_a_missing_extra_is_one_line_that_says_what_to_install(done, words, missing, extra):
    if words[0] == "run":
        words = [*words, "--out", "fresh"]
    code = f"import sys; sys.modules[{missing!r}] = None\nfrom goalbound.cli import main\nsys.exit(main({words!r}))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.count("\n") == 1
    assert ended.stderr == f"goalbound: this needs {missing}: {install_command(extra)}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_examples_in_its_help_and_they_parse(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    examples = [line.split("   ")[0].strip() for line in out.splitlines() if line.startswith("  goalbound ")]
    assert len(examples) >= 2
    for example in examples:
        parser().parse_args(shlex.split(example)[1:])


def test_help_imports_nothing_heavy():
    look = (
        "import sys\nfrom goalbound.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "heavy = 'numpy numba pydantic pyarrow joblib matplotlib rich distributed gymnasium'.split()\n"
        "print('loaded:', [name for name in heavy if name in sys.modules])"
    )
    for command in COMMANDS:
        ended = subprocess.run(
            [sys.executable, "-c", look, command, "--help"], capture_output=True, text=True, timeout=60, check=False
        )
        assert ended.stdout.splitlines()[-1] == "loaded: []"


def test_learners_are_listed_without_extras():
    code = (
        "import sys\n"
        "for name in 'pydantic pyarrow joblib matplotlib gymnasium'.split():\n    sys.modules[name] = None\n"
        "from goalbound.cli import main\nsys.exit(main(['learners']) + main(['problems']))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_page_about_experiments_says_what_is_so(place, run):
    page = PAGE.read_text()
    (spec,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (place / "mine.toml").write_text(spec)
    assert run("check", "mine.toml")[1].startswith("mine: 12 runs of 2,000 episodes")
    assert run("run", "mine.toml", "--quick", "--workers", "1", "--quiet", "--out", "out/mine")[0] == 0
    names: dict = {"printed": [], "__name__": "page"}
    names["print"] = lambda *things: names["printed"].append(" ".join(map(str, things)))
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(code, names)
    assert len([line for line in names["printed"] if line.startswith("LR-CSSP (scale ")]) == 2
    assert any(re.fullmatch(r"(lr-cssp|context-blind) 50", line) for line in names["printed"])
    assert "every context has a proper policy" in names["printed"][-1]


def test_the_learner_of_the_page_about_experiments_is_played_from_the_file_beside_it(place, run, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    page = PAGE.read_text()
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "class Uniform:" in block]
    (command,) = re.findall(r"^goalbound run mine/spec.toml .*$", page, re.MULTILINE)
    Path("mine").mkdir()
    Path("mine/uniform.py").write_text(code)
    text = SPEC.replace('use = "clairvoyant"', 'use = "uniform:uniform"')
    Path("mine/spec.toml").write_text(text)
    assert run("run", "mine/spec.toml", "--quiet")[0] == 2
    code, out, _ = run(*shlex.split(command)[1:], "--workers", "2", "--quiet")
    assert code == 0
    assert "uniform" in out
    sys.modules.pop("uniform", None)


def test_the_commands_of_the_page_about_experiments_parse():
    lines = re.findall(r"^goalbound .*$", PAGE.read_text(), re.MULTILINE)
    assert len(lines) >= 6
    for line in lines:
        parser().parse_args(shlex.split(line, comments=True)[1:])
