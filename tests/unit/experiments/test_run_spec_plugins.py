"""A run's id names the problems and versions of third parties: other ones are not taken for a result."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pydantic")
pytest.importorskip("pyarrow")

from goalbound import LinearCSSP
from goalbound.cli import main
from goalbound.errors import InputError
from goalbound.experiments.results_dir import ResultsDir, read_runs
from goalbound.experiments.run import run
from goalbound.experiments.run_spec import RunSpec, problem_digest
from goalbound.experiments.spec import ExperimentSpec
from goalbound.experiments.sweep import sweep
from tests.support.sweep_cases import records_in

SPEC = """
name = "theirs"
episodes = 5
seeds = 2

[[problems]]
use = "walks.world:lane"

[[learners]]
use = "walks.learner:walk"

[[learners]]
use = "clairvoyant"
"""
FILES = {
    "walks/__init__.py": '__version__ = "1.0"\n',
    "walks/world.py": """
from goalbound import LinearCSSP, plugin


@plugin
def lane(*, loss=0.5):
    return LinearCSSP.dense([[[loss, 0.2]]], [[[[0.0, 1.0], [0.9, 0.1]]]])
""",
    "walks/learner.py": """
from goalbound import plugin
from goalbound.learners.reference import RandomWalk


@plugin
def walk(problem, *, rng):
    return RandomWalk(problem.support, rng=rng)
""",
    "theirs.toml": SPEC,
}


def forget() -> None:
    """As a new process would see it."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "walks"]:
        del sys.modules[name]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # two edits in a second have the same time
    for name, content in FILES.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(content)
    path = list(sys.path)
    yield tmp_path
    sys.path[:] = path
    forget()


def spec_of(**changes) -> ExperimentSpec:
    forget()
    return ExperimentSpec.load("theirs.toml", plugins=["walks"], overrides=changes)


def ids(spec: ExperimentSpec) -> dict[str, str]:
    return {f"{one.learner.label} {one.seed}": one.id for one in spec.runs()}


def edit(name: str, before: str, after: str) -> None:
    text = Path(name).read_text()
    assert before in text
    Path(name).write_text(text.replace(before, after))


WALKS, CLAIRVOYANTS = {"walk 0", "walk 1"}, {"clairvoyant 0", "clairvoyant 1"}


@pytest.mark.parametrize(
    ("file", "before", "after", "changed"),
    [
        ("walks/__init__.py", "1.0", "1.1", WALKS),
        ("walks/learner.py", "return RandomWalk", "return  RandomWalk", set()),  # an edit without another version
        ("walks/world.py", "loss=0.5", "loss=0.25", WALKS | CLAIRVOYANTS),  # a setting, and another problem
        ("walks/world.py", "[0.9, 0.1]", "[0.8, 0.2]", WALKS | CLAIRVOYANTS),  # another problem of the same settings
        ("walks/world.py", "@plugin", "\n@plugin", set()),  # the same problem
    ],
)
def test_an_id_changes_with_the_arrays_of_a_problem_and_the_version_of_a_learner(place, file, before, after, changed):
    first = ids(spec_of())
    edit(file, before, after)
    now = ids(spec_of())
    assert {name for name in first if now[name] != first[name]} == changed


def test_the_ids_and_records_of_our_own_are_what_they_were():
    values = {"name": "x", "episodes": 3, "problems": [{"use": "demo"}], "learners": [{"use": "clairvoyant"}]}
    (one,) = ExperimentSpec.of(values).runs()
    assert one.id == "e525eb08d4e53db8"  # as version 0.2.0 named it
    assert "code" not in one.as_json()
    assert RunSpec.from_json(one.as_json()) == one


def test_a_new_version_of_a_plug_in_is_run_again_and_a_line_says_so(place, capsys):
    words = ["run", "theirs.toml", "--plugin", "walks", "--workers", "1", "--out", "out"]
    assert main(words) == 0
    assert "4 runs: all are new" in capsys.readouterr().err
    first = records_in(Path("out"))
    forget()
    assert main(words) == 0
    assert "4 runs: 4 reused, none is new; --fresh runs all again\n" in capsys.readouterr().err
    edit("walks/__init__.py", "1.0", "1.1")
    forget()
    assert main(words) == 0
    said = capsys.readouterr().err
    assert "4 runs: 2 reused, 2 are new; --fresh runs all again" in said
    assert "2 records of other specs, or of other versions, are left alone" in said
    summary = json.loads(Path("out/summary.json").read_text())
    assert [(group["learner"], group["seeds"]) for group in summary["groups"]] == [
        ("walk", [0, 1]), ("clairvoyant", [0, 1]),
    ]  # fmt: skip
    assert first.items() <= records_in(Path("out")).items()
    assert len(records_in(Path("out"))) == 6


def test_fresh_runs_all_again_and_leaves_other_records_alone(place, capsys):
    other = spec_of(seeds=[7])
    sweep(other, "out", workers=1)
    spec = spec_of()
    first = sweep(spec, "out", workers=1)
    before = {path: path.stat().st_mtime_ns for path in Path("out/records").iterdir()}
    again = sweep(spec, "out", workers=1, fresh=True)
    assert (set(again.done), again.reused) == (set(first.done), ())
    after = {path: path.stat().st_mtime_ns for path in Path("out/records").iterdir()}
    changed = {path.stem for path in before if before[path] != after[path]}
    assert changed == set(first.done)
    capsys.readouterr()
    assert main(["run", "theirs.toml", "--plugin", "walks", "--workers", "1", "--out", "out", "--fresh"]) == 0
    assert "4 done, 0 reused" in capsys.readouterr().err


def test_a_run_of_another_version_is_refused_where_it_is_played(place):
    walk, *_, wise = spec_of().runs()
    assert run(walk, plugins=["walks"]).id == walk.id
    edit("walks/__init__.py", "1.0", "1.1")
    forget()
    with pytest.raises(InputError, match=r"learners \(walks.learner:walk\): the version here is not that of the run"):
        run(walk, plugins=["walks"])
    edit("walks/world.py", "[0.9, 0.1]", "[0.8, 0.2]")
    forget()
    with pytest.raises(InputError, match=r"problems \(walks.world:lane\): the problem here is not that of the run"):
        run(wise, plugins=["walks"])
    with pytest.raises(InputError, match="--plugin walks"):
        run(wise)


def test_what_is_to_be_run_is_written_beside_the_records(place):
    spec = spec_of()
    sweep(spec, "out", workers=1)
    assert read_runs("out") == spec.runs()
    for wrong in ('[{"problem": 3}]', "[3]", "{}", "[", "[" * 10_000, '[{"episodes": NaN}]'):
        ResultsDir("out").runs.write_text(wrong)
        with pytest.raises(InputError, match=r"runs\.json: "):
            read_runs("out")


def test_everything_of_a_problem_that_a_record_shows_is_in_its_digest():
    def made(losses=((0.5,),), to=0.5, **more):
        return LinearCSSP.dense([list(losses)], [[[[1.0 - to, to]]]], **more)

    problems = [
        made(), made(((0.25,),)), made(to=0.25), made(component_names=["one"]), made(loss_scale=2.0),
        made(start=np.array([1.0])), made(state_names=["a"]), made(action_names=["b"]),
    ]  # fmt: skip
    assert len({problem_digest(one) for one in problems}) == len(problems)
    assert problem_digest(made()) == problem_digest(made())
