"""The results as sentences: who had the least regret, whether the lead is significant, and what this does not show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from goalbound.experiments.comparisons import AHEAD, EQUAL, MIN_SEEDS, ONE_SEED
from goalbound.experiments.report.claims import abandoned, abandoned_some, guarantees
from goalbound.experiments.report.growth import growth
from goalbound.experiments.report.phrases import divided, humanize, joined, pluralize_grouped, supported, with_interval
from goalbound.experiments.report.ranking import competing, difference
from goalbound.learners.card import CELLS, NOTHING, PROVEN
from goalbound.terminal import pluralize

Data = Mapping[str, Any]
MAX_LISTED = 6
"""Up to this many learners are described one by one; more are only ranked."""
OUTLIER_FACTOR = 5.0
"""A seed with more than this multiple of the median regret is reported,"""
OUTLIER_MIN_SHARE = 0.01
"""if it exceeds this share of the optimal loss."""
CAVEAT = (
    "These results are about these learners on these problems, at this size and for this many episodes and seeds; on "
    "other problems the order may be another. Proven constants are conservative, most of all while little is known. "
    "A scale below 1 was chosen after looking at runs and has no guarantee; nor has a learner without a regret bound. "
    "One that wins here may settle on a bad policy elsewhere without noticing it."
)
BLIND = (
    " Learners that do not see the context, or see only its cell, have no guarantee where contexts differ, whatever "
    "their constants are."
)


def headline(data: Data) -> str:
    """The learner with least regret in each panel, counted; empty with fewer than two panels to compare."""
    ranked = [found for panel in data["panels"] if len(found := competing(panel)) > 1]
    if len(ranked) < 2:
        return ""
    first = [found[0]["full_label"] for found in ranked]
    said = [f"{label} in {first.count(label)}" for label in dict.fromkeys(first)]
    ahead = sum(_leads(panel) for panel in data["panels"])
    return (
        f"Least expected regret, over {len(first)} settings: {joined(said)}. "
        f"The lead over the runner-up is significant in {ahead} of {len(first)}."
    )


def _leads(panel: Data) -> bool:
    """Whether the first is significantly ahead of the second."""
    ranked = competing(panel)
    return len(ranked) > 1 and _is_ahead(panel, ranked[0]["learner"], ranked[1]["learner"])


def caveat(data: Data) -> str:
    """The limits of the comparison; empty without a comparison."""
    if not any(len(competing(panel)) > 1 for panel in data["panels"]):
        return ""
    contexts = any(panel["context_size"] > 1 for panel in data["panels"])
    cards = [one["card"] for one in data["learners"] if one["card"]]
    blind = any(card["sees"] in (NOTHING, CELLS) and card["quantity"] for card in cards)
    return CAVEAT + (BLIND if contexts and blind else "")


def conclusions(data: Data) -> list[dict[str, Any]]:
    """For each panel its title, the answer in one or two sentences, and the other results."""
    parts = (_ranking, _outliers, growth, guarantees, abandoned)
    return [
        {
            "title": panel["title"],
            "answer": list(_answer(panel)),
            "sentences": [sentence for part in parts for sentence in part(panel)],
        }
        for panel in data["panels"]
    ]


def _answer(panel: Data) -> Iterable[str]:
    """Who had the least regret and by how much, and whether it is chance."""
    ranked = competing(panel)
    if not ranked:
        return
    best, episodes = ranked[0], pluralize_grouped(panel["episode"][-1])
    name, regret = best["full_label"], with_interval(best["numbers"]["expected_regret"])
    if len(ranked) == 1:
        yield f"{name} had an expected regret of {regret} after {episodes}."
        return
    second = ranked[1]
    other = f"{with_interval(second['numbers']['expected_regret'])} for {second['label']}"
    yield f"After {episodes}, {name} had the least expected regret: {regret}, against {other}, the runner-up."
    yield _lead(panel, best["learner"], second["learner"])


def _lead(panel: Data, first: int, second: int) -> str:
    """Whether the lead of one learner over another is significant."""
    found = difference(panel, first, second)
    if found is None:
        return "They have no seed in common, so the lead cannot be tested."
    seeds = pluralize(len(found["seeds"]), "seed")
    if found["verdict"] == ONE_SEED:
        return "There is one seed, so nothing can be said about chance."
    if found["verdict"] == EQUAL:
        return f"The two are equal on all {seeds}."
    tested = (
        f"less on {found['wins']} of {seeds}; paired t test, p = {found['corrected']:.2g} after Holm's correction for "
        f"{pluralize(found['pairs'], 'pair')}"
    )
    contexts = "" if found["same_contexts"] else ", though each met contexts of its own"
    if found["verdict"] == AHEAD:
        return f"The lead of {with_interval(found['difference'])} is significant ({tested}){contexts}."
    few = f"; it takes {MIN_SEEDS} seeds" if len(found["seeds"]) < MIN_SEEDS else ""
    return f"The lead of {with_interval(found['difference'])} may be chance ({tested}{few}){contexts}."


def _ranking(panel: Data) -> Iterable[str]:
    ranked = competing(panel)
    if not ranked:
        return
    best, episodes = ranked[0], panel["episode"][-1]
    per = supported(divided(best["numbers"]["expected_regret"], episodes))[0]
    optimal = humanize(best["optimal_loss"] / episodes)
    name = best["label"]
    yield f"The regret of {name} is {per} per episode; the best policies lose {optimal} per episode."
    if len(ranked) > MAX_LISTED:
        yield from _order(panel, ranked)
        yield from _best_of_each_kind(panel, ranked)
        return
    if len(ranked) > 2:
        others = [f"{one['label']} had {with_interval(one['numbers']['expected_regret'])}" for one in ranked[2:]]
        yield f"Of the others, {joined(others)}."
        yield from _others(panel, ranked)


def _others(panel: Data, ranked: Sequence[Data]) -> Iterable[str]:
    """Which of the learners after the second the first is significantly ahead of."""
    rest = [one for one in ranked[2:] if len(one["seeds"]) > 1]
    first = ranked[0]["learner"]
    behind = [one["label"] for one in rest if _is_ahead(panel, first, one["learner"])]
    equal = [one["label"] for one in rest if _may_be_equal(panel, first, one["learner"])]
    name = ranked[0]["label"]
    if behind:
        yield f"{name} is significantly ahead of {joined(behind)}."
    if equal:
        yield f"Whether {name} is ahead of {joined(equal)} cannot be said with these seeds."


def _order(panel: Data, ranked: Sequence[Data]) -> Iterable[str]:
    """All learners by regret; those not significantly different from the first of a group share it."""
    groups: list[list[Data]] = []
    for result in ranked:
        if groups and _may_be_equal(panel, groups[-1][0]["learner"], result["learner"]):
            groups[-1].append(result)
        else:
            groups.append([result])
    said = [", ".join(f"{one['label']} {_marked_regret(one)}" for one in group) for group in groups]
    note = (
        " An asterisk marks abandoned episodes: the true regret is larger." if any(map(abandoned_some, ranked)) else ""
    )
    if all(len(result["seeds"]) == 1 for result in ranked):
        yield f"On the one seed that there is, in order of regret: {', '.join(said)}.{note}"
    elif len(groups) == 1:
        yield f"No learner is significantly worse than the first. In order of regret: {said[0]}.{note}"
    else:
        numbered = "; ".join(f"({place}) {text}" for place, text in enumerate(said, start=1))
        yield (
            f"By regret, the learners form {len(groups)} groups; no learner is significantly worse than the first of "
            f"its group: {numbered}.{note}"
        )


def _marked_regret(result: Data) -> str:
    return supported(result["numbers"]["expected_regret"])[0] + ("*" if abandoned_some(result) else "")


def _may_be_equal(panel: Data, one: int, two: int) -> bool:
    """Whether they do not differ significantly on their common seeds, if any."""
    found = difference(panel, one, two)
    return found is None or found["verdict"] != AHEAD


def _is_ahead(panel: Data, one: int, two: int) -> bool:
    """Whether the first of two learners is ahead of the second on their common seeds."""
    found = difference(panel, one, two)
    return found is not None and found["verdict"] == AHEAD and found["better"] == one


def _best_of_each_kind(panel: Data, ranked: Sequence[Data]) -> Iterable[str]:
    """The first of those with the constants of a paper, and of those that do not see the context, if others win."""
    least = ranked[0]["numbers"]["expected_regret"]["mean"]
    kinds = [("with proven constants", [one for one in ranked if one["card"]["guarantee"] == PROVEN])]
    if panel["context_size"] > 1:
        for sees, words in ((NOTHING, "that never see the context"), (CELLS, "that see only the cell of the context")):
            kinds.append((words, [one for one in ranked if one["card"]["sees"] == sees]))
    for words, results in kinds:
        if results and results[0] is not ranked[0]:
            regret = results[0]["numbers"]["expected_regret"]
            times = f", {humanize(round(regret['mean'] / least, 1))} times the least" if least > 0.0 else ""
            yield f"Of the learners {words}, {results[0]['label']} did best: {with_interval(regret)}{times}."


def _outliers(panel: Data) -> Iterable[str]:
    """Seeds with far more regret than the median: the mean and its band say little about such a learner."""
    said = []
    for result in competing(panel):
        values = result["numbers"]["expected_regret"]["values"]
        usual, worst = median(values), max(values)
        limit = max(OUTLIER_FACTOR * usual, OUTLIER_MIN_SHARE * result["optimal_loss"])
        if len(values) > 2 and worst > limit:
            seeds = f"{sum(value > limit for value in values)} of {pluralize(len(values), 'seed')}"
            where = f"{humanize(worst)} on seed {result['seeds'][values.index(worst)]}, median {humanize(usual)}"
            said.append(f"{result['label']} on {seeds} ({where})")
    if said:
        yield f"Single seeds went far worse than the median: {joined(said)}."
