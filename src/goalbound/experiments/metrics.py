"""Metrics of one record: totals, growth of the regret, curves over the episodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from goalbound.experiments.records import RunRecord

FIT_POINTS = 100
"""Points of the fit of the growth, evenly spaced in the logarithm, as in ``History.growth_exponent``."""
CURVE_POINTS = 60
"""Points of a curve."""
ROUNDING = 4e-9
"""Optimal values are certified to 1e-9, relative; a step's regret below this share of the loss bound is rounding."""
NO_REGRET = "no regret"
NOT_AUDITED = "the learner is not audited"
DISPLAY_ORDER = ("switching", "dynamics", "martingale", "losses", "planning", "own", "measured", "lemma")
"""The display order of terms and bounds; in files keys are sorted."""
OptionalNumber = tuple[float | None, str]
"""A number, or None and the reason."""


def total(record: RunRecord, name: str) -> OptionalNumber:
    """The sum of a column over all episodes."""
    return float(record.metadata["totals"][name]), ""


def realised_regret(record: RunRecord) -> OptionalNumber:
    """The loss less the optimal one."""
    return total(record, "regret")


def loss_share(record: RunRecord) -> OptionalNumber:
    """The loss over the optimal one."""
    totals = record.metadata["totals"]
    optimal = float(totals["optimal_loss"])
    return (float(totals["loss"]) / optimal, "") if optimal > 0.0 else (None, "the optimal loss is 0")


def intervals(record: RunRecord) -> OptionalNumber:
    """The number of intervals."""
    found = float(record.metadata["totals"]["intervals"])
    return (found, "") if found else (None, "the learner has no intervals")


def known_share(record: RunRecord) -> OptionalNumber:
    """The share of the steps that played a known pair; only of learners that have a known test."""
    totals = record.metadata["totals"]
    if not record.card.has_known_test:
        return None, "the learner has no known test"
    return 1.0 - int(totals["unknown_steps"]) / int(totals["steps"]), ""


def covered(record: RunRecord) -> OptionalNumber:
    """Whether the confidence sets held the truth throughout, as 0 or 1."""
    found = diagnosis(record)
    return (None, NOT_AUDITED) if found is None else (float(bool(found["covered"])), "")


def coverage(record: RunRecord) -> OptionalNumber:
    """The share of the intervals that began with the truth in all sets."""
    found = diagnosis(record)
    return (None, NOT_AUDITED) if found is None else (found["coverage"], NOT_AUDITED)


def growth_exponent(record: RunRecord) -> OptionalNumber:
    """The x with regret ~ episodes^x over the last decade: least squares on the logarithms.

    Fitted at the kept rows nearest to points evenly spaced in the logarithm.
    """
    episode, regret, steps = (record.table[name] for name in ("episode", "expected_regret", "steps"))
    last = int(episode[-1])
    a_step = ROUNDING * max(1.0, _finite(record.metadata["problem"].get("loss_bound")) or 1.0)
    if regret[-1] <= a_step * steps[-1]:
        return None, NO_REGRET
    if last < 10:
        return None, f"{last} episodes are less than a decade"
    rows = np.unique(nearest_rows(episode, np.rint(np.geomspace(last / 10.0, last, FIT_POINTS))))
    if regret[rows[0]] <= a_step * steps[rows[0]]:
        return None, "no regret before the last decade"
    x, y = np.log(episode[rows]), np.log(regret[rows])
    x = x - x.mean()
    return float((x * y).sum() / (x * x).sum()), ""


def curve_episodes(episode: NDArray[np.int64]) -> NDArray[np.int64]:
    """Kept episodes for a curve, about evenly spaced in the logarithm; the first and the last are among them."""
    return episode[np.unique(nearest_rows(episode, np.geomspace(episode[0], episode[-1], CURVE_POINTS)))]


def cumulative_at(record: RunRecord, column: str, at: NDArray[np.int64 | np.float64]) -> NDArray[np.float64]:
    """A cumulative column at some episodes: exact at kept rows, linearly interpolated elsewhere."""
    episode = np.concatenate([[0.0], record.table["episode"]])
    return np.interp(at, episode, np.concatenate([[0.0], record.table[column]]))


def known_share_at(record: RunRecord, at: NDArray[np.int64]) -> NDArray[np.float64]:
    """The share of known steps among the steps since the previous mark, at each mark."""
    steps, unknown = (np.diff(cumulative_at(record, name, at), prepend=0.0) for name in ("steps", "unknown_steps"))
    return 1.0 - unknown / steps


def nearest_rows(episode: NDArray[np.int64], wanted: NDArray[np.float64]) -> NDArray[np.int64]:
    """Indices of the kept rows nearest to the wanted episodes; ties go to the earlier."""
    after = np.clip(np.searchsorted(episode, wanted), 1, max(len(episode) - 1, 1))
    if len(episode) == 1:
        return np.zeros(len(wanted), dtype=np.int64)
    return np.where(wanted - episode[after - 1] <= episode[after] - wanted, after - 1, after)


def diagnosis(record: RunRecord) -> Mapping[str, Any] | None:
    """The diagnostics of an audited learner."""
    return record.metadata.get("diagnosis")


def diagnosis_parts(record: RunRecord, name: str) -> dict[str, float | None]:
    """The numbers under a name of the diagnosis: ``decomposition`` or ``bounds``; empty where not audited."""
    found = (diagnosis(record) or {}).get(name) or {}
    order = sorted(found, key=lambda key: DISPLAY_ORDER.index(key) if key in DISPLAY_ORDER else len(DISPLAY_ORDER))
    return {key: _finite(found[key]) for key in order}


def _finite(value: Any) -> float | None:
    number = float("nan") if value is None else float(value)
    return number if np.isfinite(number) else None
