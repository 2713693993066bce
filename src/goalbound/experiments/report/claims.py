"""Sentences about guarantees: whether confidence sets held the truth, whether bounds held, who abandoned episodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from goalbound.experiments.report.phrases import humanize, joined, percent
from goalbound.learners.card import PROVEN
from goalbound.terminal import pluralize

Data = Mapping[str, Any]


def guarantees(panel: Data) -> Iterable[str]:
    """Whether the sets held the truth and the regret is below its bound, learner by learner."""
    for result in panel["results"]:
        said = [*_coverage(result), *_bounds(result)]
        if said:
            yield f"{result['label']}: {'; '.join(said)}."


def _coverage(result: Data) -> Iterable[str]:
    covered = [one for one in result["numbers"]["covered"]["values"] if one is not None]
    if not covered:
        return
    text = f"the confidence sets held the truth throughout in {int(sum(covered))} of {pluralize(len(covered), 'run')}"
    share = result["numbers"]["coverage"]["mean"]
    yield text if all(covered) or share is None else f"{text}, and in {percent(share)} of the intervals"


def _bounds(result: Data) -> Iterable[str]:
    shares = bound_shares(result)
    if not shares:
        return
    below, most = sum(share < 1.0 for share in shares), max(shares)
    reached = f"at most {percent(most)} of it" if below == len(shares) else f"up to {most:.3g} times it"
    unproven = "" if result["card"]["guarantee"] == PROVEN else "; for these widths the bound is not proven"
    runs = f"{below} of {pluralize(len(shares), 'run')}"
    yield f"the realised regret is below the a-posteriori bound in {runs} ({reached}{unproven})"


def bound_shares(result: Data) -> list[float]:
    """Realised regret over the tightest bound, of each run that has one."""
    shares = []
    for place, regret in enumerate(result["numbers"]["regret"]["values"]):
        bounds = [one["values"][place] for one in result["bounds"].values() if one["values"][place] is not None]
        if bounds and regret is not None and min(bounds) > 0.0:
            shares.append(regret / min(bounds))
    return shares


def abandoned_some(result: Data) -> bool:
    """Whether the step limit ended some of its episodes."""
    return bool(result["numbers"]["abandoned"]["mean"])


def abandoned(panel: Data) -> Iterable[str]:
    """Who gave up episodes at the step limit, and what that means."""
    some = [
        f"{humanize(sum(result['numbers']['abandoned']['values']))} by {result['label']}"
        for result in sorted(panel["results"], key=lambda one: -(one["numbers"]["abandoned"]["mean"] or 0.0))
        if abandoned_some(result)
    ]
    if some:
        yield f"Episodes abandoned at the step limit, over all seeds: {joined(some)}. The true regret is larger."
    else:
        yield "No episode was abandoned."
