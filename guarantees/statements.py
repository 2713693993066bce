"""l. The paper's statements, recomputed: counterexamples to what is printed, and what holds instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from guarantees import concentration, lemmas, listing
from guarantees.result import Check, Notify, Result, ignore_progress


@dataclass(frozen=True)
class Size:
    """How long the walks are, and how many random cases are tried."""

    steps: int = 3000
    cases: int = 1000


QUICK = Size(steps=500, cases=50)


def statements(size: Size, notify: Notify = ignore_progress) -> Result:
    """Every check, in the order of the paper. A check begins with the key of its claim."""
    checks: list[Callable[[], Check]] = [
        lambda: concentration.confidence_ellipsoid(size.steps),
        listing.goal, listing.own_context, lemmas.known_test, listing.line_13, lambda: listing.clipping(size.cases),
        listing.projection, lambda: concentration.vector_noise(size.cases),
        lambda: lemmas.close_models(size.cases), lemmas.known_pairs,
        lambda: lemmas.potential(size.cases), lemmas.unknown_visits,
        concentration.loss_tail, concentration.interval_tail, listing.realised_losses,
        lemmas.holder, lemmas.twice, lemmas.sum_of_widths,
        lambda: concentration.noise(size.cases), lambda: concentration.azuma(size.steps),
        lemmas.rates, lemmas.corollary_rates, listing.added_loss,
    ]  # fmt: skip
    done: list[Check] = []
    for place, check in enumerate(checks):
        notify(f"statement {place + 1} of {len(checks)}", place, len(checks))
        done.append(check())
    return Result(
        "l", "the paper's statements, recomputed",
        f"exact numbers, no code of the package; walks of {size.steps:,} steps, {size.cases:,} random cases",
        done, [], [], ["a check holds if the printed statement fails as said, and what is given instead holds"],
    )  # fmt: skip
