import csv
import json
import os
import shlex
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from goalbound import LinearCSSP, __version__
from goalbound.cli import main, text
from goalbound.cli.arguments import parser
from goalbound.models import SSP
from goalbound.models.files import load, save
from goalbound.planning import Status, solve
from goalbound.planning.solution import Solution
from goalbound.problems import CATALOG, windy_grid

DRN = """@type: MDP
@parameters

@reward_models
time fuel
@nr_states
3
@nr_choices
4
@model
state 0 [0, 0] init
\taction fast [300, 9]
\t\t1 : 0.5
\t\t2 : 0.5
\taction slow [100, 1]
\t\t0 : 0.5
\t\t1 : 0.5
state 1 [0, 0]
\taction go [30, 2]
\t\t2 : 1
state 2 [0, 0] done
\taction stay [0, 0]
\t\t2 : 1
"""
# time: slow costs 100 / 0.5 = 200 until it moves, then 30: 230 in 2 + 1 = 3 steps; fast costs 300 + 0.5 * 30 = 315.


@pytest.fixture
def drn(tmp_path):
    path = tmp_path / "model.drn"
    path.write_text(DRN)
    return str(path)


@pytest.fixture
def run(capsys):
    def run(*words):
        code = main(words)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def strict(text):
    def refuse(word):
        raise AssertionError(f"{word} is not strict JSON")

    return json.loads(text, parse_constant=refuse)


def in_a_process(*words, **options):
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=60, check=False, **options)


def test_a_contextual_problem_is_solved_at_every_corner_and_in_the_middle(run):
    code, out, err = run("solve", "demo")
    assert (code, err) == (0, "")
    rows = {line.split("  ")[0]: line for line in out.splitlines()}
    # Calm: 3 + 5 walks of loss 0.4, each working with probability 0.9.
    assert f"{8 * 0.4 / 0.9:.5f}" in rows["calm"]
    assert "may never arrive from any state" in rows["calm"]
    # West wind drives everything drifting in rows 1 to 3 (18 cells) to the eastern border.
    assert "may never arrive from 18 of 23 states" in rows["west wind"]
    assert "arrives from every state" in rows["middle (the average)"]
    assert "improper in 3 of 3 pure contexts" in out


def test_the_json_of_all_contexts_agrees_with_the_planner_to_the_bit(run):
    code, out, _ = run("solve", "windy-grid", "--set", "rows=3", "columns=3", "--json")
    found = strict(out)
    problem = windy_grid(3, 3)
    assert code == 0
    assert [one["context"] for one in found["contexts"]] == [*np.eye(3).tolist(), [1 / 3] * 3]
    for one in found["contexts"]:
        solution = solve(problem.at(one["context"]))
        assert one["start"]["value"] == solution.start_value
        for name, exact in (
            ("value", solution.values),
            ("lower", solution.lower),
            ("upper", solution.upper),
            ("steps", solution.hitting_times),
        ):
            assert [state[name] for state in one["states"]] == exact[:-1].tolist()
        assert [state["action"] for state in one["states"]] == solution.policy.tolist()
        names = problem.support.action_names
        assert [state["action_name"] for state in one["states"]] == [names[a] for a in solution.policy]
    calm = found["contexts"][0]["averaged_policy"]
    assert calm == {"proper": False, "may_never_arrive_from": list(range(8)), "steps_from_start": "Infinity"}


def test_json_says_where_it_comes_from(run):
    _, out, _ = run("solve", "demo", "--context", "calm", "--tolerance", "1e-6", "--json")
    found = strict(out)
    assert (found["goalbound"], found["problem"], found["tolerance"]) == (__version__, "demo", 1e-6)
    assert (found["status"], found["unreachable"], found["loss_scale"]) == ("converged", "refuse", 1.0)
    assert found["sizes"] == {"states": 23, "pairs": 115, "transitions": 341, "components": 3}
    assert found["components"] == ["calm", "west wind", "north wind"]
    assert len(found["contexts"]) == 1
    assert found["contexts"][0]["states"][0]["name"] == "row 1, column 1"


@pytest.mark.parametrize(
    ("words", "context"),
    [
        ("west wind", [0.0, 1.0, 0.0]),
        ("middle", [1 / 3, 1 / 3, 1 / 3]),
        ("1/3,1/3,1/3", [1 / 3, 1 / 3, 1 / 3]),
        ("0.5, 0.3 ,2e-1", [0.5, 0.3, 0.2]),
    ],
)
def test_a_context_is_a_name_or_weights_or_the_middle(run, words, context):
    _, out, _ = run("solve", "demo", "--json", "--context", words)
    assert strict(out)["contexts"][0]["context"] == context


def test_people_see_twenty_states_unless_they_ask_for_all(run):
    _, short, _ = run("solve", "demo", "--context", "calm")
    _, whole, _ = run("solve", "demo", "--context", "calm", "--all")
    assert short.count("\nrow ") == 20
    assert "... and 3 more states (--all shows them)" in short
    assert whole.count("\nrow ") == 23
    assert "more state" not in whole


def test_the_columns_of_a_table_are_aligned(run):
    _, out, _ = run("solve", "demo", "--context", "calm")
    lines = out.splitlines()
    head = next(at for at, line in enumerate(lines) if line.startswith("state "))
    rows = [line for line in lines[head + 1 :] if not line.startswith("...")]
    assert {len(line) for line in rows} == {len(lines[head])}


def test_values_of_a_file_are_in_its_own_unit_and_as_losses(run, drn):
    _, out, _ = run("solve", drn, "--loss", "time")
    assert "a loss of 1 is 512 of it" in out  # the power of two above 300
    assert "value 230 (as losses in [0, 1]: 0.449219), expected steps 3" in out  # 230 / 512
    _, out, _ = run("solve", drn, "--loss", "time", "--json")
    one = strict(out)["contexts"][0]
    assert one["context"] is None
    assert one["states"][0]["value"] == 230.0
    assert one["states"][0]["lower"] <= 230.0 <= one["states"][0]["upper"]
    assert strict(out)["loss_scale"] == 512.0


def test_bounds_stay_bounds_in_a_unit_that_rounds(run, tmp_path):
    scaled = SSP.dense([[0.3]], [[[0.7, 0.3]]])  # value 0.3 / 0.3 = 1 up to the rounding of the row
    scaled = SSP(scaled.support, scaled.losses, scaled.probabilities, 0, 0.1)
    save(scaled, tmp_path / "a.npz")
    _, out, _ = run("solve", str(tmp_path / "a.npz"), "--json")
    state = strict(out)["contexts"][0]["states"][0]
    exact = solve(scaled)
    unit = Fraction(scaled.loss_scale)
    assert Fraction(state["lower"]) <= Fraction(float(exact.lower[0])) * unit
    assert Fraction(state["upper"]) >= Fraction(float(exact.upper[0])) * unit


def test_a_policy_can_be_written_as_csv(run, tmp_path):
    path = tmp_path / "policy.csv"
    assert run("solve", "demo", "--context", "calm", "--policy-out", str(path))[0] == 0
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    solution = solve(CATALOG["demo"].make().component(0))
    assert [int(row["action"]) for row in rows] == solution.policy.tolist()
    assert [float(row["value"]) for row in rows] == solution.values[:-1].tolist()
    assert rows[1]["name"] == "row 1, column 2"
    assert rows[0]["action_name"] == "east"


@pytest.fixture
def pit(tmp_path):
    """State 1 is a pit: it leads only to itself."""
    path = tmp_path / "pit.npz"
    save(SSP.dense([[0.5], [0.5]], [[[0, 0, 1.0]], [[0, 1.0, 0]]], state_names=["a", "pit"]), path)
    return str(path)


def test_a_state_that_cannot_arrive_is_refused_or_excluded(run, pit):
    code, out, err = run("solve", pit)
    assert (code, out) == (2, "")
    assert 'state 1 ("pit")' in err
    assert "--unreachable exclude" in err
    code, out, _ = run("solve", pit, "--unreachable", "exclude")
    assert code == 0
    assert out.splitlines()[-1].split() == ["pit", "none", "infinite", "infinite", "infinite", "infinite"]
    _, out, _ = run("solve", pit, "--unreachable", "exclude", "--json")
    state = strict(out)["contexts"][0]["states"][1]
    assert (state["action"], state["action_name"], state["value"]) == (None, None, "Infinity")
    assert float(state["value"]) == np.inf


def test_a_context_without_a_proper_policy_is_named(run, tmp_path):
    open_door = SSP.dense([[0.5]], [[[0.0, 1.0]]])
    closed = SSP.dense([[0.5]], [[[1.0, 0.0]]])
    LinearCSSP.mix([open_door, closed], component_names=["open", "closed"]).save(tmp_path / "door.npz")
    code, _, err = run("solve", str(tmp_path / "door.npz"))
    assert code == 2
    assert err.startswith("goalbound: context closed: no policy reaches the goal")


def test_a_problem_with_one_component_is_solved_there(run, tmp_path):
    LinearCSSP.mix([SSP.dense([[0.5]], [[[0.0, 1.0]]])]).save(tmp_path / "one.npz")
    code, out, _ = run("solve", str(tmp_path / "one.npz"), "--json")
    assert code == 0
    assert strict(out)["contexts"][0]["context"] == [1.0]


def test_an_answer_that_did_not_converge_is_identified_by_the_exit_code_and_on_stderr(run):
    code, out, err = run("solve", "demo", "--context", "calm", "--tolerance", "1e-17", "--json")
    assert code == 3
    assert err.startswith("goalbound: context calm: stopped by rounding")
    assert err.count("\n") == 1
    assert strict(out)["status"] == strict(out)["contexts"][0]["status"] == "rounding"


def test_the_start_may_be_a_law(run, tmp_path):
    save(SSP.dense([[0.5], [0.25]], [[[0, 0, 1.0]], [[0, 0, 1.0]]], start=[0.5, 0.5]), tmp_path / "law.npz")
    _, out, _ = run("solve", str(tmp_path / "law.npz"))
    assert "from the start (mean over 2 start states): value 0.375, expected steps 1" in out
    _, out, _ = run("solve", str(tmp_path / "law.npz"), "--json")
    start = strict(out)["contexts"][0]["start"]
    assert start["lower"] <= 0.375 <= start["upper"]


def test_names_from_a_file_cannot_disturb_the_terminal(run, tmp_path):
    evil = "\x1b[2J" + "x" * 90
    save(SSP.dense([[0.5]], [[[0, 1.0]]], state_names=[evil]), tmp_path / "evil.npz")
    _, out, _ = run("solve", str(tmp_path / "evil.npz"))
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) < 130
    _, out, _ = run("solve", str(tmp_path / "evil.npz"), "--json")
    assert strict(out)["contexts"][0]["states"][0]["name"] == evil


def test_the_catalog_is_listed_with_its_settings(run):
    code, out, _ = run("problems")
    assert code == 0
    for entry in CATALOG.values():
        assert f"{entry.name} " in out
        assert entry.summary in out
    assert "rows=4 columns=6" in out
    listed = strict(run("problems", "--json")[1])
    simulated = {one["name"]: one["settings"] for one in listed if one["environment"] == "simulated"}
    assert simulated == {entry.name: dict(entry.defaults) for entry in CATALOG.values()}


def test_a_problem_is_converted_and_reads_back(run, tmp_path, drn):
    assert run("convert", drn, str(tmp_path / "a.umb"), "--loss", "time")[0] == 0
    assert load(tmp_path / "a.umb") == load(drn, loss="time")
    assert run("convert", "demo", str(tmp_path / "demo.npz"))[0] == 0
    assert load(tmp_path / "demo.npz") == CATALOG["demo"].make()
    code, out, _ = run("convert", "demo", str(tmp_path / "calm.drn"), "--context", "calm")
    assert code == 0
    assert "names of the states were left out" in out
    assert np.array_equal(load(tmp_path / "calm.drn").losses, CATALOG["demo"].make().component(0).losses)


@pytest.mark.parametrize("command", ["solve", "problems", "convert", "demo"])
def test_every_command_has_an_example_in_its_help_and_it_parses(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    examples = [line.split("   ")[0].strip() for line in out.splitlines() if line.startswith("  goalbound ")]
    assert any(example.startswith(f"goalbound {command}") for example in examples)
    for example in examples:
        parser().parse_args(shlex.split(example)[1:])


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
        (["sovle"], 'see "goalbound --help"'),
        (["xyz"], 'there is no command "xyz"; there are solve'),
        (["--bogus"], 'there is no option "--bogus"; see "goalbound --help"'),
        (["--json", "solve", "demo"], '"--json" comes after the command: goalbound solve ... --json'),
        (["solve", "demo", "--contxt", "calm"], 'no option "--contxt" (did you mean "--context"?)'),
        (["solve", "demo", "--contxt=calm"], '(did you mean "--context"?); see "goalbound solve --help"'),
        (["solve", "demo", "--con", "calm"], 'there is no option "--con"'),
        (["solve", "demo", "calm"], '"calm" is an unexpected argument; see "goalbound solve --help"'),
        (["solve"], "required: FILE|PROBLEM (it comes before the options)"),
        (["solve", "--set", "rows=3", "windy-grid"], "it comes before the options"),
        (["solve", "demmo"], 'did you mean "demo"?'),
        (["solve", "missing.npz"], "missing.npz: no such file"),
        (["solve", "missing/model"], "missing/model: no such file"),
        (["solve", "."], "is a directory"),
        (["solve", "demo", "--set", "rows=3"], 'demo has no setting "rows"'),
        (["solve", "windy-grid", "--set", "rows=x"], "it needs a whole number"),
        (["solve", "windy-grid", "--set", "rows"], '"rows" is no setting; write name=value'),
        (
            ["solve", "random", "--set", "states=" + "9" * 30],
            "states is 999999999999999999999999999999; it needs",
        ),
        (["solve", "demo", "--context", "1,0"], "has 2 numbers; give 3 numbers"),
        (["solve", "demo", "--context", "0.5,0.6,0.1"], "context sums to 1.2, not 1"),
        (["solve", "demo", "--context", "nan,0,1"], "weight nan is not in [0, 1]"),
        (["solve", "demo", "--context=-1,1,1"], "weight -1.0 is not in [0, 1]"),
        (["solve", "demo", "--context", "1/0,0,1"], 'no context is called "1/0,0,1"'),
        (["solve", "demo", "--context", "storm"], 'or "calm", "west wind", "north wind"'),
        (["solve", "random", "--context", "storm"], 'with commas between them, "middle"'),
        (["solve", "demo", "--tolerance", "2"], "tolerance 2.0 is not between 0 and 1"),
        (["solve", "demo", "--tolerance", "small"], "invalid float value: 'small'"),
        (["solve", "demo", "--loss", "time"], "--loss and --goal are for .umb and .drn files"),
        (["solve", "demo", "--policy-out", "p.csv"], "say which with --context"),
        (["solve", "demo", "--context", "calm", "--policy-out", "missing/p.csv"], "missing/p.csv: no such file"),
        (["solve", "demo", "--bogus"], 'there is no option "--bogus"; see "goalbound solve --help"'),
        (["convert", "demo", "demo.drn"], "say which context with --context"),
        (["convert", "demo", "demo.xyz"], "unknown suffix '.xyz'"),
        (["convert", "demo", "missing/demo.npz"], "missing/demo.npz: no such file"),
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


def test_files_that_are_no_models_or_need_a_word_more_are_one_line_too(run, tmp_path, drn, monkeypatch):
    (tmp_path / "text.npz").write_text("hello\nworld")
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain").write_text("hello")
    monkeypatch.chdir(tmp_path)
    for words, message in (
        (["text.npz"], "text.npz: this is no complete npz file"),
        (["folder"], "folder is a directory"),
        (["plain"], "plain: neither its bytes nor its suffix match a format"),
        ([drn], 'there are "time", "fuel"; name it with --loss'),
        ([drn, "--loss", "money"], 'no reward model is called "money"'),
        ([drn, "--loss", "time", "--goal", "x"], 'no label is called "x"'),
        ([drn, "--loss", "time", "--context", "1"], "this problem has no context; leave --context out"),
        ([drn, "--set", "rows=1"], "is a file; --set is for built-in problems"),
    ):
        code, out, err = run("solve", *words)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert message in err


def test_a_folder_with_the_name_of_a_built_in_problem_does_not_hide_it(run, tmp_path, monkeypatch):
    (tmp_path / "demo").mkdir()
    monkeypatch.chdir(tmp_path)
    assert run("solve", "demo")[0] == 0


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


def test_a_certificate_that_found_nothing_is_written_as_infinite(run, monkeypatch):
    def hopeless(ssp, **_):
        found = solve(ssp)
        return Solution(
            found.values, found.policy, 0.0 * found.lower, np.append(np.full(23, np.inf), 0.0), 1, Status.ROUNDING, ssp
        )

    monkeypatch.setattr("goalbound.cli.solve.solve", hopeless)
    code, out, err = run("solve", "demo", "--context", "calm", "--json")
    assert code == 3
    assert strict(out)["contexts"][0]["start"]["upper"] == strict(out)["width"] == "Infinity"
    assert "(width inf)" in err


def test_help_imports_neither_numpy_nor_numba():
    look = (
        "import sys\nfrom goalbound.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "print('loaded:', [name for name in ('numpy', 'scipy', 'numba') if name in sys.modules])"
    )
    for words in (["--help"], ["solve", "--help"], ["--version"], ["sovle"], []):
        assert in_a_process("-c", look, *words).stdout.splitlines()[-1] == "loaded: []"


@pytest.mark.parametrize("words", [["solve", "demo"], ["solve", "demo", "--context", "calm", "--json"], ["problems"]])
def test_a_toy_problem_does_not_wait_for_numba(words):
    look = "import sys\nfrom goalbound.cli import main\nmain(sys.argv[1:])\nprint('numba' in sys.modules)"
    assert in_a_process("-c", look, *words).stdout.splitlines()[-1] == "False"


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


def test_a_column_keeps_small_numbers_apart_from_zero():
    assert text.column([1e-9, 1.0]) == ["1e-09", "1"]
    assert text.column([0.5, 0.0]) == ["0.500000", "0.000000"]
    assert text.column([0.0]) == ["0"]
    assert text.column([2e7, 1.0]) == ["2e+07", "1"]
    assert text.column([float("nan"), float("inf")]) == ["unknown", "infinite"]
    assert text.column([]) == []


def test_a_message_is_one_line():
    assert text.one_line("a\nb\x1b[0m") == r"a b\u001b[0m"


@pytest.mark.parametrize("command", ["solve", "check", "convert"])
def test_a_file_above_the_limit_is_read_with_the_option_that_the_error_names(run, tmp_path, command):
    path = tmp_path / "a.npz"
    save(SSP.dense([[0.5]], [[[0, 1.0]]]), path)
    words = [command, str(path), *([str(tmp_path / "b.npz")] if command == "convert" else [])]
    code, _, err = run(*words, "--limit", "1K")
    assert code == 2
    size = path.stat().st_size
    assert f"{size} bytes, and the limit is 1024; raise it with --limit {size}" in err
    assert run(*words, "--limit", str(size))[0] == 0
    assert run(*words, "--limit", "5k")[0] == 0
    code, _, err = run(*words, "--limit", "much")
    assert (code, "'much' is not a number of bytes" in err) == (2, True)
