"""Nothing that a file says reaches the terminal as anything but letters."""

import io
import json
import os
import re
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pydantic")
pytest.importorskip("pyarrow")
pytest.importorskip("joblib")

from goalbound import SSP, LinearCSSP
from goalbound.cli import main
from goalbound.experiments.progress import Bars
from goalbound.models.files import save
from goalbound.terminal import EscapingStream, escape_controls, one_line, table, text_width
from tests.support.sweep_events import STORY

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eturned\u2066\x7f"
"""A window title, a bell, a cleared screen, a colour by a C1 character, letters turned around, a deleted one."""
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
SPEC = f"""
name = "evil"
question = {json.dumps("Who " + EVIL + " looks?")}
episodes = 4
seeds = 1
step_limit = 2000
[[problems]]
use = "treatment-ladder"
levels = 2
markers = 1
label = {json.dumps("ladder " + EVIL)}
[[learners]]
use = "clairvoyant"
label = {json.dumps("seeing " + EVIL)}
[[learners]]
use = "lr-cssp"
delta = 2.0
label = {json.dumps("failing " + EVIL)}
"""


@pytest.fixture
def said(capsys):
    """What a command printed, on both streams together; nothing in it is obeyed by a terminal."""

    def said(*words: str) -> str:
        capsys.readouterr()
        main(words)
        captured = capsys.readouterr()
        both = captured.out + captured.err
        assert OBEYED.search(both) is None
        return both

    return said


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.toml").write_text(SPEC)
    return tmp_path


def test_escapes_are_shown_and_letters_of_all_scripts_stay():
    assert escape_controls(EVIL) == (
        r"\u001b]0;owned\u0007\u001b[2J\u009b31m\u202eturned\u2066\u007f"  # each by its code point
    )
    fine = "größer, \u0645\u06cc\u200c\u062e\u0648, 药, 👩\u200d🔬, a\tb\nc\u00a0d"
    assert escape_controls(fine) == fine
    assert escape_controls("a\tb\nc", lines=False) == r"a\u0009b\u000ac"
    assert escape_controls("\U000e0041\udc9b") == r"\U000e0041\udc9b"


def test_a_line_is_one_line_whatever_breaks_it():
    assert one_line("a\nb\r\nc\u2028d\x85e\x1b[0m") == r"a b c d e\u001b[0m"


def test_json_that_is_made_visible_is_json_that_means_the_same():
    names = [chr(code) for code in range(0x3000)] + [EVIL]
    assert json.loads(escape_controls(json.dumps(names))) == names
    assert json.loads(escape_controls(json.dumps(names[32:], ensure_ascii=False))) == names[32:]


def test_a_stream_is_guarded_and_is_still_itself():
    below = io.StringIO()
    stream = EscapingStream(below)
    print(EVIL, file=stream, flush=True)
    stream.writelines(["a\n", "\x1bb\n"])
    assert below.getvalue() == f"{escape_controls(EVIL)}\na\n\\u001bb\n"
    assert not stream.isatty()


def test_names_in_a_problem_are_shown_by_solve_convert_and_check(place, said):
    one = SSP.dense([[0.5]], [[[0.5, 0.5]]], state_names=[f"s{EVIL}"], action_names=[f"a{EVIL}"])
    save(one, "one.npz")
    LinearCSSP.mix([one, one], component_names=[f"c{EVIL}", "other"]).save("two.npz")
    for words in (
        ["solve", "one.npz"], ["solve", "two.npz"], ["solve", "two.npz", "--context", "middle"],
        ["solve", "two.npz", "--context", f"c{EVIL}"], ["solve", "one.npz", "--json"],
        ["solve", "two.npz", "--context", "none"], ["solve", "two.npz", "--tolerance", "1e-17"],
    ):  # fmt: skip
        assert r"\u001b]0;owned" in said(*words), words
    said("convert", "one.npz", "one.umb")
    said("convert", "two.npz", "two.umb")
    said("check", "two.npz")


def test_an_experiment_is_shown_by_check_run_report_and_figures(place, said):
    assert r"failing \u001b]0;owned" in said("check", "evil.toml")
    given = said("run", "evil.toml", "--workers", "1")
    for part in ("Who", "ladder", "seeing", "failing"):
        assert rf"{part} \u001b]0;owned" in given
    assert r"Who \u001b]0;owned" in said("report", "out/evil")
    said("run", "evil.toml", "--workers", "1", "--json")
    said("report", "out/evil", "--json")
    (record,) = Path("out/evil/records").iterdir()
    assert r"seeing \u001b]0;owned" in said("check", str(record))
    assert r"failing \u001b]0;owned" in said("check", "evil.toml", "--try")


def test_warnings_are_shown(place, said, monkeypatch):
    def warned(*_: object, **__: object) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = shown
            warnings.warn(f"careful {EVIL}", stacklevel=1)
        raise KeyboardInterrupt

    def shown(message, *_: object) -> None:  # pytest records warnings; this is what Python itself does
        sys.stderr.write(f"{message}\n")

    monkeypatch.setattr("goalbound.cli.solve.solve", warned)
    assert r"careful \u001b]0;owned" in said("solve", "demo")


def in_a_process(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", *words], capture_output=True, text=True, timeout=120, encoding="utf-8", check=False
    )


def test_a_traceback_of_the_command_is_shown():
    script = (
        "import sys\nfrom goalbound.cli import main\nfrom goalbound.cli import solve\n"
        f"def bug(*_, **__): raise RuntimeError({EVIL!r})\n"
        "solve.solve = bug\nsys.argv = ['goalbound', 'solve', 'demo']\nsys.exit(main())"
    )
    ended = in_a_process(script)
    assert ended.returncode == 1
    assert r"RuntimeError: \u001b]0;owned" in ended.stderr
    assert OBEYED.search(ended.stdout + ended.stderr) is None


def test_worker_processes_guard_their_output_too():
    script = (
        "import sys\nfrom goalbound.experiments import executors\n"
        f"executors._init_worker(__import__('os').getppid())\nprint({EVIL!r})\nprint({EVIL!r}, file=sys.stderr)"
    )
    ended = in_a_process(script)
    assert ended.stdout == ended.stderr == f"{escape_controls(EVIL)}\n"


def evil_story() -> list:
    return [replace(event, label=f"{event.label}{EVIL}") if event.label else event for event in STORY]


def test_bars_obey_rich_and_not_the_labels(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "200")
    for stream in (Terminal(), EscapingStream(Terminal())):
        bars = Bars(stream)
        for event in evil_story():
            bars(event)
        given = stream.getvalue()
        assert "\x1b[" in given  # the bars themselves
        assert r"two\u001b]0;owned" in given
        for part in ("\x1b]", "\x07", "\x9b", "\u202e", "\u2066", "\x7f", "\x1b[2J"):
            assert part not in given, repr(part)


@pytest.mark.skipif(os.name != "posix", reason="a pseudo terminal is of POSIX")
def test_a_run_in_a_terminal_sends_nothing_that_the_spec_says(place):
    import pty

    here, there = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "goalbound", "run", "evil.toml", "--workers", "1"],
        stdin=there, stdout=there, stderr=there, env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "200"},
    )  # fmt: skip
    os.close(there)
    given = b""
    try:
        while data := os.read(here, 65536):
            given += data
    except OSError:  # how Linux says that the other end was closed
        pass
    finally:
        os.close(here)
    assert process.wait(timeout=120) == 1  # one learner fails, as the spec has it
    text = given.decode()
    assert "\x1b[" in text  # rich's own
    assert r"Who \u001b]0;owned" in text
    assert r"failing \u001b]0;owned" in text
    for part in ("\x1b]", "\x07", "\x9b", "\u202e", "\u2066", "\x7f", "\x1b[2J"):
        assert part not in text, repr(part)


def test_columns_stay_under_their_heads_beside_wide_and_combining_letters():
    lines = table(["state", "value"], [["\u75c5\u4eba", "0.5"], ["e\u0301", "1"], ["sick", "12.5"]], "lr").splitlines()
    assert lines == ["state  value", "-----  -----", "\u75c5\u4eba     0.5", "e\u0301          1", "sick    12.5"]
    assert {text_width(line) for line in lines} == {12}
