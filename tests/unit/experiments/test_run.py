"""A run depends on its spec, and on nothing else: not on how it is cut, stopped, killed or watched."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound.errors import InputError
from goalbound.experiments import run as running
from goalbound.experiments.record_file import read_record, record_bytes, write_record
from goalbound.experiments.run_spec import RunSpec
from goalbound.learners.lr_cssp import LRCSSP
from tests.support import third_party_learner as third_party
from tests.support.small_runs import EPISODES, HERE, NARROW, RUNS, SMALL, Breaking, run, spec_of

pytestmark = pytest.mark.usefixtures("small_chunks")

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("size", [1, 13])
@pytest.mark.parametrize("name", RUNS)
def test_how_a_run_is_cut_is_not_seen(
    name: str, size: int, whole: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "CHUNK", size)
    monkeypatch.setattr(running, "FIRST_PART", size)
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


def test_progress_that_cannot_be_called_is_an_error_that_says_so() -> None:
    with pytest.raises(InputError, match="progress is 'x'; it is a function of"):
        run(RUNS["lr-cssp"], progress="x")  # type: ignore[arg-type]


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
from goalbound.experiments.run_spec import RunSpec

running.CHUNK = running.FIRST_PART = 7

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


def test_all_learners_of_a_seed_meet_the_same_contexts() -> None:
    blind = run(RUNS["context-blind"]).metadata["simplex"]["count"]
    assert blind == run(RUNS["lr-cssp"]).metadata["simplex"]["count"]
    assert blind != run(spec_of(seeds=[1])).metadata["simplex"]["count"]


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


def test_there_is_progress_after_the_first_episode_and_parts_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "CHUNK", 8)
    monkeypatch.setattr(running, "FIRST_PART", 1)
    monkeypatch.setattr(running, "SHORT_SECONDS", 1000.0)
    heard = Breaking(EPISODES + 1)
    run(RUNS["lr-cssp"], progress=heard)
    assert [call[0] for call in heard.calls] == [1, 3, 7, 15, 23, 30]
