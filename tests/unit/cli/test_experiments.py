"""``goalbound run``, ``goalbound report``, ``goalbound figures``."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from goalbound.extras import install_command
from tests.support.commands import SPEC, records, strict

PAGE = Path(__file__).parents[3] / "docs" / "how_to" / "experiments.md"


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
    assert [line["event"] for line in lines] == [
        "sweep", *["started", "finished"] * 4, "done", "summary",
    ]  # fmt: skip
    assert [group["learner"] for group in lines[-1]["groups"]] == ["looking", "clairvoyant"]
    assert lines[-1]["files"] == [f"out/small/{name}" for name in ("summary.csv", "summary.json", "report.html")]


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_is_one_line_that_says_how_to_go_on(place):
    words = ["-m", "goalbound", "run", "small.toml", "--workers", "1", "--set", "episodes=100000000", "--json"]
    with subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout:
            if '"started"' in line:
                break
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    said = [line for line in err.splitlines() if "compiling" not in line]
    assert said == [
        "goalbound: stopped with 0 of 4 runs done; resume with: goalbound run small.toml --set episodes=100000000"
    ]


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.usefixtures("ctrl_c")
def test_a_run_that_is_started_with_ctrl_c_ignored_goes_on_and_a_request_to_end_stops_it(place):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what nohup's shell does; processes that are started inherit it
    words = ["-m", "goalbound", "run", "small.toml", "--workers", "1", "--set", "episodes=100000000", "--json"]
    with subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        next(line for line in process.stdout if '"started"' in line)
        process.send_signal(signal.SIGINT)
        time.sleep(1.0)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
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


def test_figures_fit_the_column_and_the_font_of_a_paper(done, run):
    pytest.importorskip("matplotlib")
    words = ["--format", "svg", "--width", "3.4", "--font", "DejaVu Serif", "--font-size", "9", "--out", "column"]
    assert run("figures", "out/small", *words)[0] == 0
    for path in Path("column").glob("*.svg"):
        assert f'width="{72 * 3.4:g}pt"' in path.read_text()
        assert "DejaVuSerif-" in path.read_text()
    code, _, err = run("figures", "out/small", "--width", "86")
    assert (code, err) == (2, "goalbound: width is 86; it is a number of inches (86 mm are 3.39) from 2 to 40\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "missing.toml"], "missing.toml: no such file"),
        (["run", "."], ". is a folder; give the file of an experiment"),
        (["run", "bad.toml"], "bad.toml: not a TOML file"),
        (["run", "small.toml", "--workers", "two"], "invalid int value: 'two'"),
        (["run", "small.toml", "--workers", "2", "--on", "tcp://h:1"], "give one of them"),
        (["run", "small.toml", "--set", "episodes"], '"episodes" changes nothing; write KEY=VALUE'),
        (["run", "small.toml", "--set", "episodes=1", "episodes=2"], '"episodes" is set twice'),
        (["run", "small.toml", "--out", "small.toml"], "small.toml is a file; --out is a folder"),
        (["run", "small.toml", "other.toml"], '"other.toml" is an unexpected argument; see "goalbound run --help"'),
        (["report", "."], ". has no spec.toml; give the folder of an experiment"),
        (["report", "small.toml"], "out/small has no records yet; goalbound run small.toml makes them"),
        (["report", "missing"], "missing: no such file"),
        (["figures", "small.toml", "--format", "gif"], "invalid choice: 'gif'"),
        (["check", "bad.npz"], "bad.npz: this is not a complete npz file"),
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
        (["figures", "out/small"], "matplotlib", "experiments"),
        (["demo", "--out", "demo"], "jinja2", "experiments"),
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
