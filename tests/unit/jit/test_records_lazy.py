"""Arrays of zeros that take memory where they are written to."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from goalbound.jit.records import FROM_BYTES, lazy_zeros

MEBIBYTE = 2**20


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("shape", [(0, 3), (4, 2, 2), (FROM_BYTES // 8, 2)])
def test_they_are_zeros_that_kernels_may_write_to(shape: tuple[int, ...]) -> None:
    array = lazy_zeros(shape)
    assert (array.shape, array.dtype, array.any()) == (shape, np.float64, False)
    assert array.flags.c_contiguous
    assert array.flags.writeable


def test_two_of_them_share_nothing() -> None:
    one, other = lazy_zeros((FROM_BYTES,)), lazy_zeros((FROM_BYTES,))
    one[5] = 1.0
    assert not other.any()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is counted as Linux does")
def test_one_number_of_each_mebibyte_takes_a_page_of_it_not_all() -> None:
    before = resident_bytes()
    array = lazy_zeros((64, MEBIBYTE // 8))
    array[:, 7] = 1.0
    assert resident_bytes() - before < 4 * MEBIBYTE  # 64 pages of 4 KiB, and what else goes on in the process
    assert array.sum() == 64.0
