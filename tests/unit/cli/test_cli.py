"""The command line as a whole: exit codes, errors, streams."""

import os
import subprocess
import sys

import pytest

from goalbound import __version__
from goalbound.cli import main
from goalbound.models import SSP
from goalbound.models.files import save
from tests.support.commands import in_a_process


def test_without_words_help_is_printed_and_the_exit_code_is_that_of_wrong_input(run, capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    asked = capsys.readouterr().out
    assert run() == (2, "", asked)
    for command in ("solve", "run", "demo"):
        assert f"\n    {command} " in asked


def test_the_version_is_the_package_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"goalbound {__version__}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sovle"], 'there is no command "sovle" (did you mean "solve"?); there are solve, problems, convert, '),
        (["--bogus"], 'there is no option "--bogus"; see "goalbound --help"'),
        (["--json", "solve", "demo"], '"--json" comes after the command: goalbound solve ... --json'),
        (["solve", "demo", "--contxt", "calm"], 'no option "--contxt" (did you mean "--context"?)'),
        (["solve", "demo", "calm"], '"calm" is an unexpected argument; see "goalbound solve --help"'),
        (["solve"], "required: FILE|PROBLEM (it comes before the options)"),
        (["solve", "demmo"], 'did you mean "demo"?'),
        (["solve", "missing.npz"], "missing.npz: no such file"),
        (["solve", "."], "is a directory"),
        (["solve", "demo", "--set", "rows=3"], 'demo has no setting "rows"'),
        (["solve", "windy-grid", "--set", "rows"], '"rows" is not a setting; write name=value'),
        (["solve", "demo", "--context", "1,0"], "has 2 numbers; give 3 numbers"),
        (["solve", "demo", "--context", "1/0,0,1"], 'no context is called "1/0,0,1"'),
        (["solve", "demo", "--tolerance", "2"], "tolerance 2.0 is not between 0 and 1"),
        (["solve", "demo", "--loss", "time"], "--loss and --goal are for .umb and .drn files"),
        (["solve", "demo", "--policy-out", "p.csv"], "say which with --context"),
        (["convert", "demo", "demo.drn"], "say which context with --context"),
        (["convert", "demo", "demo.xyz"], "unknown suffix '.xyz'"),
    ],
)
def test_bad_input_is_one_line_on_stderr_and_exit_code_2(run, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith("goalbound: ")
    assert err.count("\n") == 1
    assert message in err
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_one_line(run, drn):
    os.chmod(drn, 0)
    code, _, err = run("solve", drn)
    assert (code, err) == (2, f"goalbound: {drn}: permission denied\n")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "stopped"),
        (MemoryError(), 2, "does not fit into memory"),
        (PermissionError(13, "Permission denied", "a.npz"), 2, "a.npz: permission denied"),
    ],
)
def test_what_interrupts_a_command_is_one_line(run, monkeypatch, error, code, message):
    def stop(*_, **__):
        raise error

    monkeypatch.setattr("goalbound.cli.solve.solve", stop)
    found, _, err = run("solve", "demo")
    assert found == code
    assert err == f"goalbound: {message}\n" or message in err
    assert err.count("\n") == 1


def test_a_mistake_of_ours_is_not_hidden_as_one_of_the_user(run, monkeypatch):
    def stop(*_, **__):
        raise ValueError("a bug")

    monkeypatch.setattr("goalbound.cli.solve.solve", stop)
    with pytest.raises(ValueError, match="a bug"):
        run("solve", "demo")


def test_the_module_runs_as_a_command_with_exit_codes(tmp_path):
    done = in_a_process("-m", "goalbound", "solve", "demo")
    assert (done.returncode, done.stderr) == (0, "")
    wrong = in_a_process("-m", "goalbound", "solve", "demmo")
    assert wrong.returncode == 2
    assert "Traceback" not in wrong.stderr


def test_a_reader_who_leaves_is_not_reported_about_it():
    words = [sys.executable, "-m", "goalbound", "solve", "demo", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 141


def test_a_terminal_without_the_letters_of_a_name_shows_escapes(tmp_path):
    save(SSP.dense([[0.5]], [[[0, 1.0]]], state_names=["größer"]), tmp_path / "a.npz")
    done = in_a_process(
        "-m", "goalbound", "solve", str(tmp_path / "a.npz"),
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )  # fmt: skip
    assert done.returncode == 0
    assert r"gr\xf6\xdfer" in done.stdout
