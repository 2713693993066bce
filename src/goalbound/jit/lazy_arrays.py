"""Arrays of zeros that take memory only where something was written: most pairs of a large support are never played.

The system hands out pages when they are first written to. NumPy asks for huge pages of 2 MiB for large arrays, so that
one number would claim as much; these arrays ask for pages of 4 KiB. Where the system cannot be asked, they are plain.
"""

from __future__ import annotations

import math
import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

FROM_BYTES = 2**20
"""Smaller arrays are plain: they are no larger than a few pages."""


def lazy_zeros(shape: tuple[int, ...], dtype: type[Any] = np.float64) -> NDArray[Any]:
    """Zeros that may be written to, C-contiguous; memory is taken page by page.

    >>> array = lazy_zeros((1_000_000, 10))
    >>> array[123_456, 7] = 1.0
    >>> array.shape, array.sum()
    ((1000000, 10), np.float64(1.0))
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < FROM_BYTES or not hasattr(mmap, "MADV_NOHUGEPAGE"):
        return np.zeros(shape, dtype=dtype)
    # Private: a fork has its own. Not reserved: there may be more room than memory, as most of it stays empty.
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    memory = mmap.mmap(-1, size, flags=flags)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype=dtype).reshape(shape)
