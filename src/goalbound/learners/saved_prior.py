"""Prior knowledge in the file of a learner: the arrays of its fields, as ``prior.losses`` and so on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.learners.guesses import LARGEST_STRENGTH
from goalbound.learners.prior import PriorKnowledge
from goalbound.models import Support
from goalbound.models.files.ranges import matching, within
from goalbound.models.validation import set_readonly

_PREFIX = "prior."
_OF_PAIRS = {"rows": "row_known", "guess_rows": "guessed"}
"""Rows that are empty where no pair has one, and the pairs that have."""


def prior_arrays(prior: PriorKnowledge | None) -> dict[str, NDArray[Any]]:
    """Prior knowledge as a file has it."""
    fields = {} if prior is None else vars(prior)
    return {f"{_PREFIX}{name}": array for name, array in fields.items() if isinstance(array, np.ndarray)}


def prior_from(arrays: Mapping[str, NDArray[Any]], support: Support, size: int) -> PriorKnowledge | None:
    """The prior knowledge of a file, checked as if it were given now."""
    if not any(name.startswith(_PREFIX) for name in arrays):
        return None
    nothing = PriorKnowledge.nothing(support, size)
    found: dict[str, Any] = {}
    for path, like in prior_arrays(nothing).items():
        name = path.removeprefix(_PREFIX)
        if name not in _OF_PAIRS:
            found[name] = matching(arrays, path, like.shape, like.dtype)
    for name, flag in _OF_PAIRS.items():
        rows = support.triples if found[flag].any() else 0
        table = found[name] = matching(arrays, f"{_PREFIX}{name}", (rows, size), np.float64)
        if rows:
            sums = np.add.reduceat(table, support.next_start[:-1], axis=0)[found[flag]]
            within(f"a row of {_PREFIX}{name}", sums, 1.0 - 1e-9, 1.0 + 1e-9)
    for name, table in found.items():
        if table.dtype == np.float64:
            within(f"{_PREFIX}{name}", table, 0.0, LARGEST_STRENGTH if name == "strength" else 1.0)
    frozen: dict[str, Any] = {name: set_readonly(table.copy()) for name, table in found.items()}
    return replace(nothing, **frozen)
