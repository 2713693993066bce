"""Arrays by planes of bytes: the same to the bit, smaller where numbers are alike, and never more than was claimed."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound import LRCSSP
from goalbound.errors import FileFormatError
from goalbound.learners import byte_planes, checkpoint, repeated_rows
from goalbound.learners.byte_planes import packed, packed_types, unpacked, unpacked_bytes
from goalbound.models.files.array_file import write_array_file
from tests.support.checkpoints import parts
from tests.support.driving import MODES, Clinic, learner_of, reloaded, small_problem, written

PROBLEM = small_problem()
TYPES = {"a": "<f8", "b": "<i4"}


def counts() -> NDArray[np.float64]:
    """[5000, 2] numbers of which most bytes are alike."""
    return np.arange(10_000.0).reshape(5000, 2)


@given(
    st.sampled_from([np.float64, np.int64, np.int32, np.uint8]),
    st.sampled_from([(20_000,), (0,), (5000, 4), (5000, 2, 2)]),
    st.integers(0, 10**6),
    st.booleans(),
)
def test_what_comes_back_is_the_same_to_the_bit(dtype: Any, shape: tuple[int, ...], seed: int, few: bool) -> None:
    rng = np.random.default_rng(seed)
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    array = np.frombuffer(rng.integers(0, 3 if few else 256, size).astype(np.uint8).tobytes(), dtype).reshape(shape)
    types = {"a": array.dtype.newbyteorder("<").str}
    arrays = packed({"a": array})
    assert unpacked(arrays, types)["a"].tobytes() == array.tobytes()
    assert unpacked(arrays, types)["a"].shape == shape
    assert sum(one.nbytes for one in arrays.values()) <= array.nbytes
    assert unpacked_bytes(arrays, types) == (array.nbytes - arrays["a.planes"].nbytes if "a.planes" in arrays else 0)


def test_numbers_that_are_alike_take_less_and_random_ones_stay_whole() -> None:
    assert packed({"a": counts()})["a.planes"].nbytes < 0.2 * counts().nbytes
    noise = np.frombuffer(np.random.default_rng(0).bytes(80_000), np.int64)
    assert packed({"a": noise}).keys() == {"a"}


def test_small_arrays_and_flags_stay_whole() -> None:
    given = {"small": np.zeros(100), "flags": np.zeros(10**6, dtype=np.bool_)}
    assert packed(given).keys() == given.keys()


def test_the_parts_of_what_was_learned_are_named_by_a_pattern() -> None:
    assert packed_types(r"state\.") == {
        r"state\.[a-z0-9_.]{1,90}\.layout": "<i8", r"state\.[a-z0-9_.]{1,90}\.planes": "|u1"
    }  # fmt: skip


def as_bytes(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data, np.uint8)


def layout(*numbers: int) -> NDArray[np.int64]:
    return np.array(numbers, dtype=np.int64)


BOMB = zlib.compress(bytes(10**6))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a.layout": layout(2, *[2] * 8)}, "of a only one of .layout and .planes is there"),
        ({"a.planes": as_bytes(b"")}, "of a only one of .layout and .planes is there"),
        ({"c.layout": layout(0), "c.planes": as_bytes(b"")}, "'c' is not part of a goalbound checkpoint"),
        ({"a.layout": layout(*[2] * 8), "a.planes": as_bytes(bytes(16))}, "a.layout is no shape and 8 numbers"),
        ({"a.layout": layout(1, 1, 1, 2, *[2] * 8), "a.planes": as_bytes(bytes(16))}, "a.layout is no shape"),
        ({"a.layout": layout(-2, *[2] * 8), "a.planes": as_bytes(bytes(16))}, "a.layout is no shape"),
        ({"a.layout": layout(2**62, *[2] * 8), "a.planes": as_bytes(bytes(16))}, "a.layout is no shape"),
        ({"a.layout": layout(2, *[2] * 8), "a.planes": as_bytes(bytes(15))}, "a.layout says other lengths"),
        ({"a.layout": layout(1, *[2] * 8), "a.planes": as_bytes(bytes(16))}, "a.layout says other lengths"),
        (
            {"a.layout": layout(1000 * len(BOMB), *[len(BOMB)] * 8), "a.planes": as_bytes(8 * BOMB)},
            "a plane of a.planes is not of the",
        ),
        (
            {"a.layout": layout(len(BOMB) + 1, *[len(BOMB)] * 8), "a.planes": as_bytes(8 * BOMB)},
            "a plane of a.planes is not of the",
        ),
        (
            {"b.layout": layout(10**6, *[len(BOMB)] * 4), "b.planes": as_bytes(4 * BOMB), "b": np.zeros(1, np.int32)},
            "b is in planes, and it is whole too",
        ),
    ],
)
def test_planes_that_do_not_fit_are_refused(arrays: dict[str, NDArray[Any]], message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        unpacked(arrays, TYPES)


def test_a_bomb_is_counted_before_it_is_unpacked() -> None:
    claims = {"a.layout": layout(10**6, *[len(BOMB)] * 8), "a.planes": as_bytes(8 * BOMB)}
    assert unpacked_bytes(claims, TYPES) == 8 * 10**6 - 8 * len(BOMB)
    with pytest.raises(FileFormatError, match=r"more in memory, which count 8-fold.*raise it with limit="):
        checkpoint._from_stored(claims, TYPES, 10**6)
    assert len(checkpoint._from_stored(claims, TYPES, 10**8)["a"]) == 10**6


def test_arrays_are_not_packed_into_a_file_that_would_be_too_small_for_the_memory_that_they_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learned = {"state.a": np.zeros(10**6)}  # 8 MB; packed 64 MB count, as they are far more than the file
    assert checkpoint._as_stored(learned, beside=0)[0].keys() == {"state.a.layout", "state.a.planes"}
    monkeypatch.setattr(checkpoint, "LIMIT", 10**7)
    assert checkpoint._as_stored(learned, beside=0) == (learned, 0)


@pytest.mark.parametrize("mode", MODES)
def test_a_learner_whose_arrays_are_all_packed_goes_on_as_if_nothing_had_happened(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clinic = Clinic(PROBLEM, learner_of(PROBLEM, **MODES[mode]), beds=2, seed=5).run(40)
    whole = written(clinic.learner)
    monkeypatch.setattr(byte_planes, "FROM_BYTES", 0)
    monkeypatch.setattr(repeated_rows, "FROM_BYTES", 0)
    again = reloaded(clinic.learner)
    monkeypatch.undo()
    assert written(again) == whole


def test_files_of_version_11_which_have_nothing_packed_are_read(tmp_path: Path) -> None:
    clinic = Clinic(PROBLEM, learner_of(PROBLEM, loss_floor=0.1), beds=2, seed=5).run(40)
    learner = clinic.learner
    header, arrays = parts(written(learner))
    write_array_file(tmp_path / "then.npz", header | {"version": 11}, arrays)
    assert written(LRCSSP.load(tmp_path / "then.npz")) == written(learner)
