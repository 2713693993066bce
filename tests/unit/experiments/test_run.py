"""A run depends on its spec, and on nothing else: not on how it is cut, stopped, killed or watched."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound.errors import InputError, LargeFileWarning
from goalbound.experiments import checkpoint as checkpoints
from goalbound.experiments import run as running
from goalbound.experiments.learners import LEARNERS
from goalbound.experiments.records import SPACING, RunRecord, kept_episodes, read_record, record_bytes, write_record
from goalbound.experiments.registry import CONTEXTS
from goalbound.experiments.spec import ExperimentSpec, RunSpec
from goalbound.kernels.audit import AUDIT_TOTALS
from goalbound.kernels.records import field_arrays, new_record
from goalbound.learners.filling import CODES
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.models.files import array_file
from goalbound.models.files import io as files_io
from goalbound.problems.catalog import CATALOG
from goalbound.simulation import ModelEnvironment, bernoulli, play
from tests.support import third_party_learner as third_party

ROOT = Path(__file__).parents[3]
HERE = "tests.support.third_party_learner"
run = partial(running.run, plugins=[HERE])
SMALL = {"use": "random", "states": 3, "actions": 2, "context_size": 2, "seed": 1}
NARROW = {"use": "lr-cssp", "scale": 0.05}
EPISODES = 30


def spec_of(learner: dict[str, Any] | None = None, **changes: Any) -> RunSpec:
    values = {"name": "x", "episodes": EPISODES, "problems": [SMALL], "learners": [learner or NARROW], **changes}
    return ExperimentSpec.of(values, plugins=[HERE]).runs()[0]


RUNS = {
    "lr-cssp": spec_of(),
    "doubling and forgetting": spec_of({**NARROW, "loss_bound": "doubling", "forget": True}),
    "noisy losses": spec_of({**NARROW, "support": "full"}, losses="bernoulli"),
    "adversary": spec_of(contexts=[{"use": "adversary"}]),
    "drifting": spec_of(contexts=[{"use": "drifting", "noise": 0.3}]),
    "abandoned episodes": spec_of(step_limit=2),
    "context-blind": spec_of({"use": "context-blind", "scale": 0.05}),
}


@pytest.fixture(autouse=True)
def parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of 7 episodes, so that there is something between them."""
    monkeypatch.setattr(running, "CHUNK", 7)


@pytest.fixture(scope="module")
def whole() -> dict[str, bytes]:
    """Each of the runs, played at once."""
    return {name: record_bytes(run(spec)) for name, spec in RUNS.items()}


class Breaking:
    """Raises when so many episodes are done; the number of calls is kept."""

    def __init__(self, at: int, error: type[BaseException] = KeyboardInterrupt) -> None:
        self.at, self.error = at, error
        self.calls: list[tuple[int, int, float]] = []

    def __call__(self, done: int, episodes: int, regret: float) -> None:
        self.calls.append((done, episodes, regret))
        if done >= self.at:
            raise self.error


@pytest.mark.parametrize("size", [1, 13])
@pytest.mark.parametrize("name", RUNS)
def test_how_a_run_is_cut_is_not_seen(
    name: str, size: int, whole: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "CHUNK", size)
    assert record_bytes(run(RUNS[name])) == whole[name]


@pytest.mark.parametrize(("name", "at"), [("lr-cssp", 1), ("lr-cssp", 28), *((name, 14) for name in RUNS)])
def test_a_stop_is_not_seen_in_the_record(name: str, at: int, whole: dict[str, bytes], tmp_path: Path) -> None:
    path = tmp_path / "partial" / "run.npz"
    first = Breaking(at)
    with pytest.raises(KeyboardInterrupt):
        run(RUNS[name], progress=first, checkpoint=path)
    rest = Breaking(EPISODES + 1)
    assert record_bytes(run(RUNS[name], progress=rest, checkpoint=path)) == whole[name]
    assert rest.calls[0][0] == first.calls[-1][0] + min(7, EPISODES - first.calls[-1][0])  # it did go on
    assert path.exists()  # its owner removes it


def test_a_stop_after_every_part_is_not_seen_either(whole: dict[str, bytes], tmp_path: Path) -> None:
    path, stops = tmp_path / "run.npz", 0
    while True:
        try:
            record = run(RUNS["lr-cssp"], progress=Breaking(1), checkpoint=path)
        except KeyboardInterrupt:
            stops += 1
            continue
        break
    assert stops == 5  # 30 episodes in parts of 7
    assert record_bytes(record) == whole["lr-cssp"]


def test_any_error_of_the_listener_leaves_a_checkpoint_to_go_on_from(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    with pytest.raises(SystemExit):
        run(RUNS["lr-cssp"], progress=Breaking(14, SystemExit), checkpoint=path)
    rest = Breaking(EPISODES + 1)
    run(RUNS["lr-cssp"], progress=rest, checkpoint=path)
    assert rest.calls[0][0] == 21


KILLED = """
import json, os, signal, sys
from pathlib import Path
from goalbound.experiments import checkpoint as checkpoints
from goalbound.experiments import run as running
from goalbound.experiments.spec import RunSpec

running.CHUNK = 7

def progress(done, episodes, regret):
    if done >= 21:
        os.kill(os.getpid(), signal.SIGKILL)

running.run(RunSpec.from_json(json.loads(sys.argv[1])), progress=progress, checkpoint=Path(sys.argv[2]),
            checkpoint_every=float(sys.argv[3]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL on Windows")
@pytest.mark.parametrize(("every", "lost"), [(0.0, 0), (1000.0, 21)])
def test_a_run_that_was_killed_goes_on_from_its_last_checkpoint(
    every: float, lost: int, whole: dict[str, bytes], tmp_path: Path
) -> None:
    path = tmp_path / "run.npz"
    arguments = [json.dumps(RUNS["lr-cssp"].as_json()), str(path), str(every)]
    ended = subprocess.run([sys.executable, "-c", KILLED, *arguments], cwd=ROOT, check=False, capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert path.exists() == (lost == 0)
    rest = Breaking(EPISODES + 1)
    assert record_bytes(run(RUNS["lr-cssp"], progress=rest, checkpoint=path)) == whole["lr-cssp"]
    assert rest.calls[0][0] == 21 - lost + 7


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_waits_for_the_episodes_that_are_being_played(whole: dict[str, bytes], tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    seen: list[int] = []

    def pressed(done: int, episodes: int, regret: float) -> None:
        seen.append(done)
        if done == 14:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run(RUNS["lr-cssp"], progress=pressed, checkpoint=path)
    assert seen == [7, 14]
    assert signal.getsignal(signal.SIGINT) is before
    rest = Breaking(EPISODES + 1)
    assert record_bytes(run(RUNS["lr-cssp"], progress=rest, checkpoint=path)) == whole["lr-cssp"]
    assert rest.calls[0][0] == 28  # the part that was being played then, 15 to 21, was kept


def test_what_is_broken_off_inside_an_episode_is_not_kept(whole: dict[str, bytes], tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    with pytest.raises(KeyboardInterrupt):
        run(RUNS["lr-cssp"], progress=Breaking(14), checkpoint=path)
    kept = path.read_bytes()

    whole_part = LRCSSP.play_episodes

    def broken_off(learner: LRCSSP, *arguments: Any, **others: Any) -> None:
        whole_part(learner, *arguments, **others)
        raise KeyboardInterrupt  # as a second Ctrl-C does

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LRCSSP, "play_episodes", broken_off)
        with pytest.raises(KeyboardInterrupt):
            run(RUNS["lr-cssp"], checkpoint=path, checkpoint_every=0.0)
    assert path.read_bytes() == kept
    assert record_bytes(run(RUNS["lr-cssp"], checkpoint=path)) == whole["lr-cssp"]


def test_a_run_in_a_thread_leaves_signals_alone(whole: dict[str, bytes], tmp_path: Path) -> None:
    found: list[bytes] = []
    work = threading.Thread(
        target=lambda: found.append(record_bytes(run(RUNS["lr-cssp"], checkpoint=tmp_path / "run.npz")))
    )
    work.start()
    work.join()
    assert found == [whole["lr-cssp"]]


def broken_checkpoint(path: Path) -> bytes:
    with pytest.raises(KeyboardInterrupt):
        run(RUNS["lr-cssp"], progress=Breaking(14), checkpoint=path)
    return path.read_bytes()


def test_a_damaged_checkpoint_is_removed_with_a_word_and_the_run_starts_anew(
    whole: dict[str, bytes], tmp_path: Path
) -> None:
    path = tmp_path / "run.npz"
    sound = broken_checkpoint(path)
    noise = np.random.default_rng(0)
    damaged = [b"", b"hello", sound[: len(sound) // 2], sound[:-1]]
    for place in noise.integers(len(sound), size=4):
        changed = bytearray(sound)
        changed[place : place + 40] = bytes(40) if any(changed[place : place + 40]) else b"\xff" * 40
        damaged.append(bytes(changed))
    for data in damaged:
        path.write_bytes(data)
        anew = Breaking(7)
        with pytest.warns(UserWarning, match=r"starts again: .*run\.npz"), pytest.raises(KeyboardInterrupt):
            run(RUNS["lr-cssp"], progress=anew, checkpoint=path)
        assert anew.calls[0][0] == 7
    path.write_bytes(sound[:-1])
    with pytest.warns(UserWarning, match="starts again"):
        record = run(RUNS["lr-cssp"], checkpoint=path)
    assert record_bytes(record) == whole["lr-cssp"]
    assert not path.exists()


def rewritten(path: Path, changes: dict[str, Any], arrays: dict[str, Any] | None = None) -> None:
    """A sound file with another content."""
    patterns = {r"(table|total)\.(loss|optimal_loss|expected_regret)": "<f8", r"(table|total)\..*": "<i8",
                r"cells\.count|audit\.unknown": "<i8", r"cells\.regret": "<f8",
                r"audit\.uncovered": "|b1", "learner": "|u1"}  # fmt: skip
    fields = field_arrays(new_record(AUDIT_TOTALS))
    patterns |= {rf"audit\.totals\.{name}": CODES[array.dtype] for name, array in fields.items()}
    header, found = array_file.read_array_file(path, kind="RunCheckpoint", versions=[2], arrays=patterns)
    array_file.write_array_file(path, {**header, **changes}, {**found, **(arrays or {})})


@pytest.mark.parametrize(
    ("changes", "arrays", "said"),
    [
        ({"provenance": {"goalbound": "0.0.1"}}, {}, "other versions"),
        ({"problem": "0" * 64}, {}, "another problem"),
        ({"episodes": 31}, {}, "the run has 30"),
        ({"episodes": "14"}, {}, "the run has 30"),
        ({"streams": []}, {}, "three generators"),
        ({"streams": [{"bit_generator": "MT19937"}] * 3}, {}, "damaged"),
        ({"more": 1}, {}, "header"),
        ({}, {"audit.unknown": np.zeros(400, dtype=np.int64)}, "audit.unknown has shape"),
        ({}, {"audit.totals.widths": np.full(1, np.nan)}, "no number"),
        ({}, {"learner": np.zeros(9, dtype=np.uint8)}, "npz"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_not_used(
    changes: dict[str, Any], arrays: dict[str, Any], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.npz"
    broken_checkpoint(path)
    rewritten(path, changes, arrays)
    with pytest.warns(UserWarning, match=said), pytest.raises(KeyboardInterrupt):
        run(RUNS["lr-cssp"], progress=Breaking(7), checkpoint=path)


def test_the_checkpoint_of_another_run_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    sound = broken_checkpoint(path)
    with pytest.raises(InputError, match=RUNS["lr-cssp"].id):
        run(RUNS["adversary"], checkpoint=path)
    assert path.read_bytes() == sound


@pytest.mark.parametrize(
    "spec",
    [
        spec_of({"use": "clairvoyant"}),
        spec_of({**NARROW}, problems=[{"use": "frozen-lake"}], episodes=3, step_limit=20),
        spec_of(contexts=[{"use": f"{HERE}:own_contexts"}]),
    ],
)
def test_where_not_all_state_is_in_our_hands_there_is_no_checkpoint(spec: RunSpec, tmp_path: Path) -> None:
    if spec.problem.use == "frozen-lake":
        pytest.importorskip("gymnasium")
    path = tmp_path / "run.npz"
    with pytest.raises(KeyboardInterrupt):
        run(spec, progress=Breaking(1), checkpoint=path, checkpoint_every=0.0)
    assert not path.exists()
    first = record_bytes(run(spec))
    assert first == record_bytes(run(spec, checkpoint=path))  # real environments too


@pytest.mark.parametrize("losses", ["deterministic", "bernoulli"])
def test_the_sums_are_those_of_play(losses: str) -> None:
    spec = spec_of(losses=losses)
    problem = CATALOG["random"].make({key: value for key, value in SMALL.items() if key != "use"})
    learner = LEARNERS.entry("lr-cssp", "").make(problem, episodes=EPISODES, scale=0.05, rng=np.random.default_rng(0))
    contexts = CONTEXTS.entry("dirichlet", "").make(2)
    environment = (
        None if losses == "deterministic" else (lambda rng: ModelEnvironment(problem, losses=bernoulli(), rng=rng))
    )
    history = play(problem, learner, contexts, episodes=EPISODES, seed=0, environment=environment)
    record = run(spec)
    for name in ("loss", "optimal_loss", "expected_regret", "steps", "intervals", "unknown_steps", "abandoned"):
        assert np.array_equal(record.table[name], np.cumsum(getattr(history, name))), name
    totals = record.metadata["totals"]
    assert totals["regret"] == record.table["loss"][-1] - record.table["optimal_loss"][-1]
    assert totals["episodes"] == EPISODES
    assert sum(record.metadata["diagnosis"]["decomposition"].values()) == pytest.approx(totals["regret"], abs=1e-9)


def test_simplex_cells_count_episodes_and_their_regret() -> None:
    contexts = [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    record = run(spec_of(contexts=[{"use": "cyclic", "contexts": contexts}]))
    simplex, regret = record.metadata["simplex"], np.diff(record.table["expected_regret"], prepend=0.0)
    assert (simplex["bins"], simplex["pairs"]) == (12, [[0, 1]])
    count, summed = np.array(simplex["count"][0]), np.array(simplex["expected_regret"][0])
    cells = [12 * 11 + 0, 12 * 6 + 6, 12 * 0 + 11]  # floor(12 c), where 12 itself counts as 11
    assert count[cells].tolist() == [10, 10, 10]
    assert count.sum() == EPISODES
    for place, cell in enumerate(cells):
        assert summed[cell] == pytest.approx(regret[place::3].sum())


def test_all_learners_of_a_seed_meet_the_same_contexts() -> None:
    blind = run(RUNS["context-blind"]).metadata["simplex"]["count"]
    assert blind == run(RUNS["lr-cssp"]).metadata["simplex"]["count"]
    assert blind != run(spec_of(seeds=[1])).metadata["simplex"]["count"]


def test_long_runs_keep_rows_at_whole_numbers_that_grow_by_a_share() -> None:
    assert kept_episodes(2000).tolist() == list(range(1, 2001))
    for episodes in (2001, 100_000, 10**12):
        kept = kept_episodes(episodes)
        assert kept[:100].tolist() == list(range(1, 101))
        assert kept[-1] == episodes
        steps = np.diff(kept[99:-1])
        assert (steps == np.maximum(1, kept[99:-2] // SPACING)).all()
        assert len(kept) < 100 + 156 + SPACING * np.log(episodes / 256) + 100
    assert np.array_equal(kept_episodes(10**5)[:-1], kept_episodes(10**6)[: len(kept_episodes(10**5)) - 1])


def test_a_long_run_keeps_the_sums_at_its_rows() -> None:
    spec = spec_of({"use": f"{HERE}:given"}, episodes=2500, problems=[{"use": f"{HERE}:drugs"}])
    record = run(spec)
    assert np.array_equal(record.table["steps"], kept_episodes(2500))  # the drug that always works: one step each
    assert record.table["loss"] == pytest.approx(0.5 * kept_episodes(2500))


def drugs_given(policy: int) -> RunRecord:
    problem, learner = {"use": f"{HERE}:drugs"}, {"use": f"{HERE}:given", "policy": [policy]}
    return run(spec_of(learner, problems=[problem], episodes=3, step_limit=20))


def test_policies_are_compared_over_a_grid_of_contexts() -> None:
    found = drugs_given(0).metadata["policies"]
    rates = np.array([0.9 * first + 0.1 * second for first, second in found["contexts"]])
    assert found["contexts"][:2] == [[0.0, 1.0], [1 / 40, 39 / 40]]
    assert len(rates) == 41
    # 0.2 a try, which works at the rate: 0.2 / rate against 0.5, so from a rate of 0.4 on it is best.
    better = rates > 0.4 + 1e-12
    assert found["optimal"] == better.astype(int).tolist()
    assert found["learned_gap"] == pytest.approx(np.where(better, 0.5 - 0.2 / rates, 0.0).tolist(), abs=1e-12)
    assert found["differs"] == better.astype(float).tolist()


def test_a_learned_policy_that_never_arrives_has_no_gap() -> None:
    record = drugs_given(2)
    found = record.metadata["policies"]
    assert found["learned_gap"] == [None] * 41
    assert found["differs"] == [1.0] * 41
    assert record.metadata["totals"]["abandoned"] == 3


def test_a_learner_that_knows_the_problem_has_no_gap_anywhere() -> None:
    found = run(spec_of({"use": f"{HERE}:open_clairvoyant"}, episodes=1)).metadata["policies"]
    assert found["learned_gap"] == pytest.approx([0.0] * 41, abs=1e-8)
    assert found["differs"] == [0.0] * 41


@pytest.mark.parametrize(("size", "points"), [(1, 1), (2, 41), (3, 66), (4, 4 + 1 + 6), (20, 100)])
def test_the_grid_of_contexts_is_on_the_simplex(size: int, points: int) -> None:
    from goalbound.experiments.metadata import context_grid

    grid = context_grid(size)
    assert grid.shape == (points, size)
    assert grid.sum(axis=1) == pytest.approx(1.0)
    assert len(np.unique(grid, axis=0)) == points
    assert (grid >= 0.0).all()


def test_learners_that_do_not_tell_and_large_problems_have_no_policies() -> None:
    assert run(spec_of({"use": "clairvoyant"}, episodes=1)).metadata["policies"] is None
    long = {"use": "long-corridor", "length": 301}
    record = run(spec_of({"use": f"{HERE}:given"}, problems=[long], episodes=1))
    assert record.metadata["policies"] is None
    assert record.metadata["problem"]["states"] == 301
    assert record.metadata["problem"]["loss_bound"] is None  # nobody asked for it, and it may take long


def test_the_facts_say_what_was_used() -> None:
    record = run(RUNS["lr-cssp"])
    settings, problem = record.metadata["settings"], record.metadata["problem"]
    assert settings["loss_bound"] == max(1.0, problem["loss_bound"])
    assert settings["loss_floor"] == problem["loss_floor"]
    assert (settings["widths"], settings["scale"], settings["delta"]) == ("paper", 0.05, 0.1)
    assert problem["states"] == 3
    assert problem["time_bound"] >= 1.0
    for name in ("loss_bound", "time_bound"):  # as context_bounds promises of a search that converged
        assert (
            problem[f"{name}_lower"] <= problem[name] <= (1.0 + problem["bounds_tolerance"]) * problem[f"{name}_lower"]
        )
    assert record.metadata["provenance"]["id"] == record.id
    assert "time" not in json.dumps(record.metadata["provenance"])
    doubled = run(RUNS["doubling and forgetting"])
    assert doubled.metadata["settings"]["loss_bound"] is None
    assert doubled.metadata["settings"]["final_loss_bound"] == 2.0 ** doubled.metadata["settings"]["doublings"]
    assert doubled.metadata["diagnosis"]["loss_bound"] == max(1.0, problem["loss_bound"])


def test_who_can_be_watched_is() -> None:
    assert run(RUNS["lr-cssp"]).metadata["diagnosis"]["bounds"]["lemma"] > 0.0
    assert (
        run(RUNS["context-blind"]).metadata["diagnosis"] is None
    )  # there is no truth in one component to compare with
    single = {**SMALL, "context_size": 1}
    blind = run(spec_of({"use": "context-blind", "scale": 0.05}, problems=[single]))
    seeing = run(spec_of(problems=[single]))
    assert blind.metadata["diagnosis"] == seeing.metadata["diagnosis"]
    assert blind.metadata["diagnosis"] is not None


def test_what_has_no_bound_is_null() -> None:
    free = {"use": "lr-cssp", "loss_floor": 0.0}
    bounds = run(spec_of(free, episodes=5)).metadata["diagnosis"]["bounds"]
    assert all(value is None or value > 0.0 for value in bounds.values())


def test_a_third_partys_function_gets_what_it_asks_for_by_name() -> None:
    third_party.SEEN.clear()
    run(spec_of({"use": f"{HERE}:asks_for_all", "patience": 5}, seeds=[4]))
    stream = np.random.default_rng(np.random.SeedSequence(4).spawn(3)[2])
    wanted = {"episodes": EPISODES, "draw": stream.random(), "patience": 5}
    assert wanted == third_party.SEEN


def ill(**changes: Any) -> RunSpec:
    """A spec that no file could give, as a service might."""
    values = spec_of().as_json()
    for group, settings in changes.items():
        values[group] = {"use": values[group]["use"], "settings": {}, **settings}
    return RunSpec.from_json(values)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (lambda: spec_of({**NARROW, "widths": "paper", "delta": 2.0}), r"learners \(lr-cssp\): delta 2.0"),
        (lambda: spec_of({"use": "lr-cssp", "support": "none"}), r"learners \(lr-cssp\): support"),
        (lambda: spec_of({"use": f"{HERE}:refuses"}), r"learners \(.*refuses\): patience 3 is a virtue"),
        (lambda: spec_of({"use": f"{HERE}:no_learner"}), r"learners \(.*\): the function made a str"),
        (lambda: spec_of(problems=[{**SMALL, "states": 0}]), r"problems \(random\): "),
        (lambda: spec_of(contexts=[{"use": "dirichlet", "alpha": -1.0}]), r"contexts \(dirichlet\): alpha"),
        (lambda: spec_of(contexts=[{"use": "cyclic", "contexts": [[1.0]]}]), r"contexts \(cyclic\): contexts have 1"),
        (lambda: spec_of(contexts=[{"use": "listed", "contexts": [[1.0, 0.0]]}]), r"contexts \(listed\): 1 contexts"),
        (lambda: ill(learner={"settings": {"wdiths": "paper"}}), 'learners: lr-cssp has no setting "wdiths"'),
        (lambda: ill(problem={"use": "randon"}), 'problems.use: no problem is called "randon"'),
    ],
)
def test_errors_of_settings_name_the_group(spec: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        run(spec())


def test_a_negative_time_between_checkpoints_is_refused() -> None:
    with pytest.raises(InputError, match="checkpoint_every"):
        run(RUNS["lr-cssp"], checkpoint_every=-1.0)


def test_progress_is_reported_the_episodes_and_the_expected_regret_which_is_never_negative() -> None:
    heard = Breaking(EPISODES + 1)
    record = run(RUNS["lr-cssp"], progress=heard)
    assert [call[0] for call in heard.calls] == [7, 14, 21, 28, 30]
    for done, episodes, regret in heard.calls:
        assert episodes == EPISODES
        assert regret == record.table["expected_regret"][done - 1]
        assert regret >= 0.0  # the realised one is below 0 where luck helps


def test_nothing_is_written_after_the_last_episode(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record = run(spec_of(episodes=5), checkpoint=path, checkpoint_every=0.0)
    assert not path.exists()
    write_record(tmp_path / "run.parquet", record)
    assert record_bytes(read_record(tmp_path / "run.parquet")) == record_bytes(record)


def test_a_checkpoint_of_any_size_is_gone_on_from(
    whole: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # All limits are below the size of the file, as if it had more than 4 GiB.
    monkeypatch.setattr(checkpoints, "LIMIT", 1000)
    for function in (array_file.read_array_file, LRCSSP.load.__func__, LRCSSP.restored):  # type: ignore[attr-defined]
        monkeypatch.setitem(function.__kwdefaults__, "limit", 1000)
    path = tmp_path / "run.npz"
    with warnings.catch_warnings():
        warnings.simplefilter("error", LargeFileWarning)
        with monkeypatch.context() as small:
            small.setattr(files_io, "LIMIT", 1000)
            assert len(broken_checkpoint(path)) > 1000
    rest = Breaking(EPISODES + 1)
    assert record_bytes(run(RUNS["lr-cssp"], progress=rest, checkpoint=path)) == whole["lr-cssp"]
    assert rest.calls[0][0] == 21  # it went on after the 14 episodes of the file
