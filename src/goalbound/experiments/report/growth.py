"""How the regret grows, beside what the theorem promises: reached, or not yet at this number of episodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from goalbound.experiments.report.phrases import exponent_with_interval, joined
from goalbound.experiments.report.ranking import competing
from goalbound.learners.card import REGRET_RATES, THEOREM, LearnerCard

Data = Mapping[str, Any]
MAX_LISTED = 6
"""Up to this many learners are described one by one; of more only the first three."""
LOGARITHMS = 0.05
"""An exponent so much above the rate is still called reached: the theorem has logarithms too."""


def growth(panel: Data) -> Iterable[str]:
    """The exponents over the last decade, and the theorem beside them."""
    ranked = competing(panel)
    listed = ranked if len(ranked) <= MAX_LISTED else ranked[:3]
    said = [
        f"K^{exponent_with_interval(result['numbers']['exponent'])} for {result['label']}"
        for result in listed
        if result["numbers"]["exponent"]["mean"] is not None
    ]
    if not said:
        return
    last = panel["episode"][-1]
    yield f"Over the last decade, episodes {round(last / 10):,} to {last:,}, the regret grew as {joined(said)}."
    for result in ranked:
        rate = promised_exponent(result["card"], panel["context_size"])
        if rate is not None and result["numbers"]["exponent"]["mean"] is not None:
            yield _beside_theorem(result, rate, last)


def _beside_theorem(result: Data, rate: float, last: int) -> str:
    """The theorem is about the long run: a larger exponent contradicts nothing, but is not yet its rate."""
    name, exponent = result["label"], result["numbers"]["exponent"]
    low = exponent["mean"] if exponent["low"] is None else exponent["low"]
    theorem = "theorem" if result["card"]["theorem"] == THEOREM else "corollary, where losses may be zero,"
    promise = f"The {theorem} promises {name} K^{rate:.2g} in the long run, up to logarithms"
    if low > rate + LOGARITHMS:
        return f"{promise}; at K = {last:,} it is not there yet."
    return f"{promise}; it grows no faster than that at K = {last:,}."


def promised_exponent(card: Data, context_size: int) -> float | None:
    """The exponent of the theorem about this learner, with such contexts; None without one of the paper's."""
    if not LearnerCard.from_json(dict(card)).is_covered(context_size) or card["theorem"] not in REGRET_RATES:
        return None
    return float(REGRET_RATES[card["theorem"]].removeprefix("K^"))


def panel_promise(panel: Data) -> float | None:
    """The exponent that is promised to a learner of a panel, the smallest if there are several."""
    rates = [promised_exponent(one["card"], panel["context_size"]) for one in competing(panel)]
    return min((rate for rate in rates if rate is not None), default=None)
