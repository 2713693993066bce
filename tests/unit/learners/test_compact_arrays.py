"""Large arrays in parts: the same to the bit, whatever they hold, and nothing that does not fit is taken."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound import LRCSSP, Step, Support, widths
from goalbound.errors import FileFormatError, LargeFileWarning
from goalbound.learners import compact_arrays
from goalbound.learners.checkpoint import fill
from goalbound.learners.compact_arrays import compacted, filled_bytes, has_matrices, part_types, spread
from goalbound.models.files import io as files_io
from tests.support.driving import MODES, Clinic, learner_of, reloaded, small_problem, written

PROBLEM = small_problem()


@st.composite
def mostly_alike(draw: st.DrawFn) -> NDArray[Any]:
    """[n, d], [n, d, d] or [n, d, 2]: some rows drawn, the others alike; zeros of both signs among them."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    count, side = draw(st.integers(1, 200)), draw(st.integers(1, 4))
    shape = draw(st.sampled_from([(side,), (side, side), (side, 2)]))
    array = np.zeros((count, *shape)) + draw(st.sampled_from([0.0, -0.0, 1.5]))
    chosen = rng.random(count) < draw(st.sampled_from([0.0, 0.1, 1.0]))
    array[chosen] = rng.choice([0.0, -0.0, 1.0, rng.standard_normal()], (chosen.sum(), *shape))
    if shape == (side, side) and draw(st.booleans()):
        array = array + array.transpose(0, 2, 1)
    return array.astype(np.int64) if draw(st.booleans()) else array


@given(mostly_alike())
def test_what_comes_back_is_the_same_to_the_bit(array: NDArray[Any]) -> None:
    again, arrays = np.full_like(array, 7), compacted({"a": array}, from_bytes=0)
    fill([("a", again)], arrays)
    assert again.tobytes() == array.tobytes()
    if "a" not in arrays:  # in parts only where that is smaller
        assert arrays["a.entries"].nbytes + arrays["a.rows"].nbytes - 8 < array.nbytes


def test_small_arrays_vectors_and_flags_stay_whole() -> None:
    given = {"small": np.zeros((9, 2)), "vector": np.zeros(10**5), "flags": np.zeros((10**5, 2), dtype=np.bool_)}
    assert compacted(given).keys() == given.keys()


def test_symmetric_matrices_are_kept_by_halves() -> None:
    symmetric = np.arange(3.0)[:, None, None] + np.eye(4)
    arrays = compacted({"a": symmetric}, from_bytes=0)
    assert arrays["a.entries"].shape == (2, 10)  # 4 * 5 / 2; one of the three is the usual one
    assert has_matrices("a", (3, 4, 4), arrays)
    assert not has_matrices("a", (4, 4, 4), arrays)
    assert not has_matrices("a", (3, 5, 5), arrays)


def test_only_rows_that_are_not_zero_take_memory_that_is_not_in_the_file() -> None:
    units = np.repeat(np.eye(3)[None], 10, axis=0)
    units[4] = 2.0
    arrays = compacted({"zeros": np.zeros((10, 3)), "units": units}, from_bytes=0)
    assert filled_bytes(arrays) == 9 * 3 * 3 * 8


def test_parts_have_types() -> None:
    assert part_types({"a": "<f8", "b": "<i4"}) == {"a.usual": "<f8", "a.rows": "<i8", "a.entries": "<f8"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"a.rows": None}, "a is in parts, and a.rows is missing"),
        ({"a": np.zeros((9, 2))}, "a is in parts, and it is whole too"),
        ({"a.rows": np.array([3, 3, 9])}, r"a.rows holds numbers that are not increasing"),
        ({"a.rows": np.array([-1, 3, 9])}, r"a.rows holds numbers that are not increasing"),
        ({"a.rows": np.array([3, 4, 4])}, r"a.rows holds numbers that are not increasing"),
        ({"a.rows": np.array([3, 9])}, r"the parts of a have the shapes \(1, 2\), \(2,\) and \(2, 2\)"),
        ({"a.rows": np.array([3, 4, 8])}, r"a has shape \(8, 2\); the support asks for \(9, 2\)"),
        ({"a.usual": np.zeros((2, 2))}, "the parts of a have the shapes"),
        ({"a.usual": np.zeros((1, 3))}, "the parts of a have the shapes"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes: dict[str, Any], message: str) -> None:
    array = np.zeros((9, 2))
    array[3:5] = 1.0
    arrays = {**compacted({"a": array}, from_bytes=0), **changes}
    with pytest.raises(FileFormatError, match=message):
        spread("a", {name: part for name, part in arrays.items() if part is not None}, array)


@pytest.mark.parametrize("mode", MODES)
def test_a_learner_whose_arrays_are_all_in_parts_goes_on_as_if_nothing_had_happened(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clinic = Clinic(PROBLEM, learner_of(PROBLEM, **MODES[mode]), beds=2, seed=5).run(40)
    whole = written(clinic.learner)
    monkeypatch.setattr(compact_arrays, "FROM_BYTES", 0)
    again = reloaded(clinic.learner)
    monkeypatch.undo()
    assert written(again) == whole


LARGE = Support.from_pairs([{0: [s, 1000]} for s in range(1000)])
SIZE = 8


def seen_once() -> LRCSSP:
    learner = LRCSSP(LARGE, SIZE, loss_floor=0.1, widths=widths.sharp())
    learner.learn(np.full(SIZE, 1.0 / SIZE), Step(17, 0, 0.5, 1000))
    return learner


def test_a_file_has_what_was_learned_not_what_might_be(tmp_path: Path) -> None:
    learner = seen_once()
    learner.save(tmp_path / "a.npz")
    in_memory = sum(array.nbytes for _, array in learner._state_arrays())
    assert (tmp_path / "a.npz").stat().st_size < 0.2 * in_memory
    assert written(LRCSSP.load(tmp_path / "a.npz")) == written(learner)


@pytest.mark.parametrize(("expansion", "weight"), [(files_io.EXPANSION, 1), (1, 8)])
def test_memory_that_no_file_shows_counts_towards_the_limit_and_the_limit_that_is_named_suffices(
    expansion: int, weight: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eightfold where it is far more than the file; else a learner that was saved is loaded as it is."""
    path = tmp_path / "a.npz"
    monkeypatch.setattr(files_io, "LIMIT", 100)
    monkeypatch.setattr(files_io, "EXPANSION", expansion)
    with pytest.warns(LargeFileWarning) as heard:
        seen_once().save(path)
    matrices = 2 * 999 * SIZE * SIZE * 8  # Gram matrices and their inverses, of pairs that were never played
    named = int(str(heard[0].message).split("limit=")[1])
    assert named == path.stat().st_size + weight * matrices
    with pytest.raises(FileFormatError, match=rf"{matrices} more in memory.* raise it with limit=[0-9]+$") as caught:
        LRCSSP.load(path, limit=path.stat().st_size + weight * matrices - matrices // 2)
    assert LRCSSP.load(path, limit=int(str(caught.value).split("limit=")[1]))._steps == 1
    assert LRCSSP.load(path, limit=named)._steps == 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is counted as Linux does")
def test_a_learner_that_is_loaded_takes_no_memory_for_pairs_that_were_never_played(tmp_path: Path) -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    support = Support.from_pairs([{0: [*range(s % 990, s % 990 + 8), 4000]} for s in range(4000)])
    learner = LRCSSP(support, SIZE, loss_floor=0.1, widths=widths.sharp())
    learner.save(tmp_path / "a.npz")
    before = resident()
    again = LRCSSP.load(tmp_path / "a.npz")
    # 9.2 MB of variances and 4.1 MB of sums stay untouched; Gram matrices and inverses have 4.1 MB
    assert resident() - before < 0.6 * sum(array.nbytes for _, array in again._state_arrays())
