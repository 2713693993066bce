"""Paired comparisons of learners and their verdicts, shared by report, terminal and files."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from goalbound.experiments.bootstrap import Estimate, symmetric_interval

LEVEL = 0.05
MIN_SEEDS = 6
"""Seeds that an interval needs: with fewer, equal signs on all seeds have a probability of 1/16 or more by chance."""
AHEAD, UNDECIDED, EQUAL, ONE_SEED = "ahead", "not told apart", "equal", "one seed"
METHOD = (
    "One learner is called ahead of another only where two things agree: a paired t test over the seeds, corrected for "
    f"all pairs of learners compared on the problem (Holm), has p below {LEVEL:g}; and the 95% interval of the "
    "difference is above 0. The interval is that of sign flips: it asks for no normal law, only for differences that "
    f"spread alike to both sides, and for {MIN_SEEDS} seeds."
)
"""The decision rule, as text."""


@dataclass(frozen=True)
class Difference:
    """Two learners on the same problem, contexts and seeds.

    Attributes:
        problem: label.
        contexts: label.
        better: the learner with the smaller mean of expected regret.
        worse: the other one.
        seeds: that both have; only these count.
        difference: expected regret of the worse less that of the better, per seed, with the interval of sign flips.
        wins: seeds on which the better one has less.
        losses: seeds on which it has more; the rest are ties.
        p_value: of the paired t test, both sides; None with one seed.
        corrected: the same after Holm, over all pairs that were compared on the problem and its contexts.
        pairs: how many these are.
        same_contexts: whether both had the same contexts; False where an adversary chooses them by the learner.
    """

    problem: str
    contexts: str
    better: str
    worse: str
    seeds: tuple[int, ...]
    difference: Estimate
    wins: int
    losses: int
    p_value: float | None
    corrected: float | None
    pairs: int
    same_contexts: bool

    @property
    def verdict(self) -> str:
        """``ahead``, ``not told apart``, ``equal`` (on every seed) or ``one seed`` (no verdict)."""
        if not self.wins and not self.losses:
            return EQUAL
        if self.corrected is None:
            return ONE_SEED
        low = self.difference.low
        return AHEAD if self.corrected < LEVEL and low is not None and low > 0.0 else UNDECIDED

    def statement(self, form: Callable[[Estimate], str]) -> str:
        """The verdict as a sentence; ``form`` formats a number with its interval."""
        where = "the same contexts" if self.same_contexts else "the same seeds (each met contexts of its own)"
        count = "1 seed" if len(self.seeds) == 1 else f"{len(self.seeds)} seeds"
        by = form(self.difference)
        if self.verdict == EQUAL:
            return f"{self.better} and {self.worse} are equal on {where} ({count})"
        if self.verdict == ONE_SEED:
            return (
                f"of {self.better} and {self.worse} nothing can be said by one seed: on it {self.better} has {by} less "
                f"on {where}"
            )
        tested = f"less on {self.wins} of {count}; p = {self.corrected:.2g}, corrected for {self._family}"
        if self.verdict == AHEAD:
            return f"{self.better} is ahead of {self.worse} by {by} on {where} ({tested})"
        few = f"; it takes {MIN_SEEDS} seeds" if len(self.seeds) < MIN_SEEDS else ""
        return (
            f"{self.better} and {self.worse} cannot be told apart by {count} on {where}: "
            f"{self.better} has {by} less ({tested}{few})"
        )

    @property
    def _family(self) -> str:
        return "1 pair" if self.pairs == 1 else f"{self.pairs} pairs"


def difference(
    labels: tuple[str, str],
    better: tuple[str, Sequence[float]],
    worse: tuple[str, Sequence[float]],
    seeds: tuple[int, ...],
    *,
    same_contexts: bool,
    seed: int = 0,
) -> Difference:
    """Two learners, each a name and its expected regret on every one of the seeds; not corrected yet: see :func:`holm`.

    ``labels`` are those of the problem and of the contexts.
    """
    gaps = [theirs - ours for ours, theirs in zip(better[1], worse[1], strict=True)]
    p_value = paired_t(gaps)
    return Difference(
        *labels, better[0], worse[0], seeds, symmetric_interval(gaps, seed=seed),
        wins=sum(gap > 0.0 for gap in gaps), losses=sum(gap < 0.0 for gap in gaps),
        p_value=p_value, corrected=p_value, pairs=1, same_contexts=same_contexts,
    )  # fmt: skip


def paired_t(gaps: Sequence[float]) -> float | None:
    """The two-sided p-value of the paired t test; None for one gap.

    >>> round(paired_t([3.0, 4.0, 5.0, 6.0]), 5)  # t = 4.5 / (1.29099 / 2) = 6.9714 with 3 degrees of freedom
    0.00606
    """
    from scipy.special import stdtr

    count = len(gaps)
    if count < 2:
        return None
    mean = math.fsum(gaps) / count
    spread = math.sqrt(math.fsum((gap - mean) ** 2 for gap in gaps) / (count - 1))
    if spread == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    return float(2.0 * stdtr(count - 1, -abs(mean) / (spread / math.sqrt(count))))


def holm(found: Sequence[Difference]) -> list[Difference]:
    """The differences of one family, each corrected for all of them, in their order.

    If the uncorrected p-values are valid, the probability that any pair of equal learners falls below a level is at
    most that level, whatever the dependence (Holm, 1979).
    """
    tested = [(one.p_value, place) for place, one in enumerate(found) if one.p_value is not None]
    corrected: dict[int, float] = {}
    largest = 0.0
    for rank, (p_value, place) in enumerate(sorted(tested)):
        largest = max(largest, (len(tested) - rank) * p_value)
        corrected[place] = min(1.0, largest)
    return [replace(one, corrected=corrected.get(place), pairs=max(1, len(tested))) for place, one in enumerate(found)]
