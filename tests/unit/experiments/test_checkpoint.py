"""Checkpoints of runs: what is restored, and what is refused."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound.errors import InputError, LargeFileWarning
from goalbound.experiments.record_file import record_bytes
from goalbound.experiments.run_spec import RunSpec
from goalbound.jit.records import field_arrays, new_record
from goalbound.kernels.audit import AUDIT_TOTALS
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.models.files import array_file
from goalbound.models.files import io as files_io
from tests.support.small_runs import EPISODES, HERE, NARROW, RUNS, Breaking, run, spec_of

pytestmark = pytest.mark.usefixtures("small_chunks")


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
    patterns |= {rf"audit\.totals\.{name}": array.dtype.str for name, array in fields.items()}
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
        ({}, {"audit.totals.widths": np.full(1, np.nan)}, "not finite"),
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


def test_a_checkpoint_of_any_size_is_gone_on_from(
    whole: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # All limits are below the size of the file, as if it had more than 4 GiB.
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
