"""Uniform numbers that tests write down instead of drawing them."""

from __future__ import annotations

from typing import Any

import numpy as np

LARGEST = 1.0 - 2.0**-53
"""The largest number that ``Generator.random`` gives."""


class Numbers(np.random.Generator):
    """A stream of uniform numbers written down by hand; counts what is left."""

    def __init__(self, *values: float) -> None:
        super().__init__(np.random.PCG64(0))
        self.left = list(values)

    def random(self, *_: Any) -> float:  # type: ignore[override]
        return self.left.pop(0)
