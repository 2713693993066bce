"""Maps over contexts: regret per episode, and where the learned policy differs from the optimal one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.experiments.metadata import policy_regions
from goalbound.experiments.summary import RunGroup

SimplexMap = dict[str, Any]
NO_REGRET = 1e-6
"""A whole run's regret below this is rounding."""


def regret_maps(group: RunGroup) -> list[SimplexMap] | None:
    """Episodes and regret per episode by cell, all seeds together; None for contexts of one component, or no regret.

    Two components: one field of ``bins`` cells along the first. More: a field for each pair of components (three: the
    first pair, which says all), the cells (i, j) with i + j < bins, row by row.
    """
    metadata = [record.metadata["simplex"] for record in group.records.values()]
    size = next(iter(group.records.values())).metadata["problem"]["context_size"]
    if size < 2 or not metadata or not metadata[0]["pairs"]:
        return None
    if max(float(np.sum(one["expected_regret"])) for one in metadata) < NO_REGRET:
        return None
    bins = int(metadata[0]["bins"])
    fields = []
    for place, pair in enumerate(metadata[0]["pairs"][: 1 if size <= 3 else None]):
        count, regret = (
            np.sum([one[name][place] for one in metadata], axis=0, dtype=np.float64).reshape(bins, bins)
            for name in ("count", "expected_regret")
        )
        cells = _line if size == 2 else _triangle
        fields.append({"components": list(pair), **_per_episode(cells(count), cells(regret))})
    return fields


def _line(cells: NDArray[np.float64]) -> NDArray[np.float64]:
    return cells.sum(axis=1)


def _triangle(cells: NDArray[np.float64]) -> NDArray[np.float64]:
    """The cells with i + j < bins, row by row."""
    folded = fold_edges(cells)
    return np.concatenate([row[: len(cells) - i] for i, row in enumerate(folded)])


def fold_edges(cells: NDArray[np.float64]) -> NDArray[np.float64]:
    """A table [bins, bins] over two components; cells on the edge i + j = bins are added to those that they touch.

    A context such as (1/2, 1/2, 0) is in parts 6 and 6 of 12, a cell that has only this point of the triangle.
    """
    folded = cells.copy()
    bins = len(cells)
    for i in range(1, bins):
        folded[i - 1, bins - i] += folded[i, bins - i]
        folded[i, bins - i] = 0.0
    return folded


def _per_episode(count: NDArray[np.float64], regret: NDArray[np.float64]) -> SimplexMap:
    share = [float(f"{r / c:.4g}") if c else None for c, r in zip(count, regret, strict=True)]
    return {"count": [int(one) for one in count], "value": share}


def policy_maps(groups: Sequence[RunGroup]) -> dict[str, Any]:
    """``best``: contexts, the number of the best policy at each, and what these do by names; ``learned``: one per
    group, or None.

    Of several seeds: the mean gap of those whose policy is proper, how many are not, the mean share of other actions.
    """
    found = [[record.metadata.get("policies") for record in group.records.values()] for group in groups]
    records = (record for group in groups for record in group.records.values())
    some = next((record.metadata for record in records if record.metadata.get("policies")), None)
    if some is None or len(some["policies"]["contexts"][0]) < 2:
        return {"best": None, "learned": [None] * len(groups)}
    return {"best": best_policies(some), "learned": [_learned([one for one in runs if one]) for runs in found]}


def best_policies(metadata: Mapping[str, Any]) -> SimplexMap:
    """Of a record that has policies: contexts, the number of the best policy at each, and what these do by names."""
    actions = metadata.get("actions")
    return {
        "contexts": metadata["policies"]["contexts"], "best": metadata["policies"]["optimal"],
        "regions": policy_regions(actions) if actions else None,
    }  # fmt: skip


def _learned(runs: Sequence[SimplexMap]) -> SimplexMap | None:
    if not runs or all(one.get("learned_gap") is None for one in runs):
        return None
    gaps = np.array([[np.nan if gap is None else gap for gap in one["learned_gap"]] for one in runs], dtype=np.float64)
    proper = ~np.isnan(gaps)
    total = np.where(proper, gaps, 0.0).sum(axis=0)
    mean = [float(f"{t / p:.4g}") if p else None for t, p in zip(total, proper.sum(axis=0), strict=True)]
    differs = np.array([[0.0 if one is None else one for one in run["differs"]] for run in runs], dtype=np.float64)
    return {
        "runs": len(runs),
        "gap": mean,
        "improper": (~proper).sum(axis=0).tolist(),
        "differs": [float(f"{share:.4g}") for share in differs.sum(axis=0) / np.maximum(proper.sum(axis=0), 1)],
    }
