"""The conclusions as sentences: who has the least regret, whether it is significant, and the caveats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from goalbound.experiments.comparisons import AHEAD, ONE_SEED
from goalbound.experiments.report.phrases import (
    exponent_with_interval,
    humanize,
    joined,
    percent,
    pluralize_grouped,
    with_interval,
)
from goalbound.learners.card import CELLS, NOTHING, PROVEN, REGRET_RATES, THEOREM, TRUTH, LearnerCard
from goalbound.terminal import pluralize

Data = Mapping[str, Any]
MAX_LISTED = 6
"""Up to this many learners are described one by one; more are only ranked."""
OUTLIER_FACTOR = 5.0
"""A seed with more than this multiple of the median regret is reported,"""
OUTLIER_MIN_SHARE = 0.01
"""if it exceeds this share of the optimal loss."""
CAVEAT = (
    "What this shows is how these learners did on these problems, at this size, for so many episodes and seeds; other "
    "problems may put them in another order. Proven constants are loose, and are paid for while little is known. A "
    "scale below 1 was chosen by inspecting runs, and has no guarantee; nor has a learner without a bound. What wins "
    "here without one may settle for a bad policy elsewhere, and not notice."
)
BLIND = (
    " Learners that do not see the context, or only its cell, are promised nothing where contexts differ, whatever "
    "their constants."
)


def headline(data: Data) -> str:
    """The learner with least regret in each panel, counted; empty if there is nothing to compare."""
    learners = data["learners"]
    first = [ranked[0]["learner"] for panel in data["panels"] if len(ranked := _competing(panel, learners)) > 1]
    if len(first) < 2:
        return ""
    counts = {learner: first.count(learner) for learner in dict.fromkeys(first)}
    said = [
        f"{_full_label(learners[learner])} in {count} of {len(first)} settings" for learner, count in counts.items()
    ]
    ahead = sum(_first_is_ahead(panel, learners) for panel in data["panels"])
    return f"Least expected regret: {joined(said)}; told apart from the next in {ahead} of {len(first)}."


def _first_is_ahead(panel: Data, learners: Sequence[Data]) -> bool:
    ranked = _competing(panel, learners)
    return len(ranked) > 1 and _is_ahead(panel, ranked[0]["learner"], ranked[1]["learner"])


def _full_label(learner: Data) -> str:
    return f"{learner['label']}{learner['label_suffix']}"


def caveat(data: Data) -> str:
    """The limits of the comparison; empty without a comparison."""
    learners = data["learners"]
    if not any(len(_competing(panel, learners)) > 1 for panel in data["panels"]):
        return ""
    contexts = any(panel["context_size"] > 1 for panel in data["panels"])
    blind = any(one["card"] and one["card"]["sees"] in (NOTHING, CELLS) and one["card"]["quantity"] for one in learners)
    return CAVEAT + (BLIND if contexts and blind else "")


def conclusions(data: Data) -> list[dict[str, Any]]:
    """A title and sentences for each panel."""
    learners = data["learners"]
    parts = (_ranking, _outliers, _growth, _guarantees, _abandoned)
    return [
        {"title": panel["title"], "sentences": [sentence for part in parts for sentence in part(panel, learners)]}
        for panel in data["panels"]
    ]


def _competing(panel: Data, learners: Sequence[Data]) -> list[Data]:
    """Results of all learners but the clairvoyant, least regret first."""
    found = [result for result in panel["results"] if learners[result["learner"]]["card"]["sees"] != TRUTH]
    return sorted(found, key=lambda result: result["numbers"]["expected_regret"]["mean"])


def _ranking(panel: Data, learners: Sequence[Data]) -> Iterable[str]:
    ranked = _competing(panel, learners)
    if not ranked:
        return
    best, episodes = ranked[0], panel["episode"][-1]
    regret = best["numbers"]["expected_regret"]
    per = f"{humanize(regret['mean'] / episodes)} per episode"
    optimal = f"where the best policy loses {humanize(best['optimal_loss'] / episodes)}"
    name, after = _full_label(learners[best["learner"]]), f"after {pluralize_grouped(episodes)}"
    if len(ranked) == 1:
        yield f"{name} has an expected regret of {with_interval(regret)} {after}: {per}, {optimal}."
        return
    yield f"{name} has the least expected regret {after}: {with_interval(regret)}, or {per} {optimal}."
    if len(ranked) > MAX_LISTED:
        yield from _order(panel, learners, ranked)
        yield from _best_of_each_kind(panel, learners, ranked)
        return
    others = [
        f"{learners[one['learner']]['label']}: {with_interval(one['numbers']['expected_regret'])}" for one in ranked[1:]
    ]
    yield f"The others: {'; '.join(others)}."
    yield from _separation(panel, learners, ranked)


def _order(panel: Data, learners: Sequence[Data], ranked: Sequence[Data]) -> Iterable[str]:
    """All learners by regret; those not significantly different from the first of a rank share it."""
    places: list[list[Data]] = []
    for result in ranked:
        if places and _may_be_equal(panel, places[-1][0]["learner"], result["learner"]):
            places[-1].append(result)
        else:
            places.append([result])
    said = [
        f"{place}. " + ", ".join(f"{_learner(one, learners)['label']} ({_marked_regret(one)})" for one in group)
        for place, group in enumerate(places, start=1)
    ]
    note = " * abandoned some episodes, and has more in truth." if any(map(_abandoned_some, ranked)) else ""
    if all(len(result["seeds"]) == 1 for result in ranked):
        plain = ", ".join(f"{_learner(one, learners)['label']} ({_marked_regret(one)})" for one in ranked)
        yield f"On the one seed that there is, which says nothing of who is ahead: {plain}.{note}"
        return
    if len(places) == 1:
        yield f"In order (none can be told from the first on the same seeds): {said[0].removeprefix('1. ')}.{note}"
        return
    how = "who shares a place cannot be told from its first on the same seeds"
    yield f"In order ({how}): {'; '.join(said)}.{note}"


def _marked_regret(result: Data) -> str:
    return humanize(result["numbers"]["expected_regret"]["mean"]) + ("*" if _abandoned_some(result) else "")


def _abandoned_some(result: Data) -> bool:
    """Whether the step limit ended some of its episodes."""
    return bool(result["numbers"]["abandoned"]["mean"])


def _may_be_equal(panel: Data, one: int, two: int) -> bool:
    """Whether they do not differ significantly on their common seeds, if any."""
    found = _difference(panel, one, two)
    return found is None or found["verdict"] != AHEAD


def _is_ahead(panel: Data, one: int, two: int) -> bool:
    """Whether the first of two learners is ahead of the second on their common seeds."""
    found = _difference(panel, one, two)
    return found is not None and found["verdict"] == AHEAD and found["better"] == one


def _difference(panel: Data, one: int, two: int) -> Data | None:
    return next((found for found in panel["differences"] if {found["better"], found["worse"]} == {one, two}), None)


def _best_of_each_kind(panel: Data, learners: Sequence[Data], ranked: Sequence[Data]) -> Iterable[str]:
    """The first of those with the constants of a paper, and of those that do not see the context, if others win."""
    least = ranked[0]["numbers"]["expected_regret"]["mean"]
    kinds = [("with proven constants", [one for one in ranked if _card(one, learners)["guarantee"] == PROVEN])]
    if panel["context_size"] > 1:
        for sees, words in ((NOTHING, "who never see the context"), (CELLS, "who see only the cell of the context")):
            kinds.append((words, [one for one in ranked if _card(one, learners)["sees"] == sees]))
    for words, results in kinds:
        if results and results[0] is not ranked[0]:
            regret = results[0]["numbers"]["expected_regret"]
            times = f", {humanize(round(regret['mean'] / least, 1))} times the least" if least > 0.0 else ""
            label = _learner(results[0], learners)["label"]
            yield f"Of those {words}, {label} has least: {with_interval(regret)}{times}."


def _learner(result: Data, learners: Sequence[Data]) -> Data:
    found: Data = learners[result["learner"]]
    return found


def _card(result: Data, learners: Sequence[Data]) -> Data:
    """The card of the learner of a result."""
    found: Data = learners[result["learner"]]["card"]
    return found


def _separation(panel: Data, learners: Sequence[Data], ranked: Sequence[Data]) -> Iterable[str]:
    """The learners that the first is ahead of, on common seeds."""
    found = _difference(panel, ranked[0]["learner"], ranked[1]["learner"])
    if found is None:
        yield "The first two share no seed, so they were not compared on the same contexts."
        return
    said = found["statement"]
    yield f"{said[:1].upper()}{said[1:]}." if found["verdict"] == ONE_SEED else f"{said}."
    first = _learner(ranked[0], learners)["label"]
    rest = [one["learner"] for one in ranked[2:] if len(one["seeds"]) > 1]
    behind = [learners[one]["label"] for one in rest if _is_ahead(panel, ranked[0]["learner"], one)]
    others = [learners[one]["label"] for one in rest if _may_be_equal(panel, ranked[0]["learner"], one)]
    if behind:
        yield f"{first} is ahead of {joined(behind)}{' too' if found['verdict'] == AHEAD else ''}."
    if others:
        yield f"{first} cannot be told apart from {joined(others)}."


def _outliers(panel: Data, learners: Sequence[Data]) -> Iterable[str]:
    """Seeds with far more regret than the median: the mean and its band say little about such a learner."""
    said = []
    for result in _competing(panel, learners):
        values = result["numbers"]["expected_regret"]["values"]
        usual, worst = median(values), max(values)
        limit = max(OUTLIER_FACTOR * usual, OUTLIER_MIN_SHARE * result["optimal_loss"])
        if len(values) > 2 and worst > limit:
            seeds = f"{sum(value > limit for value in values)} of {pluralize(len(values), 'seed')}"
            where = (
                f"{seeds}; {humanize(worst)} on seed {result['seeds'][values.index(worst)]}, median {humanize(usual)}"
            )
            said.append(f"{_learner(result, learners)['label']} ({where})")
    if said:
        yield f"Far worse on single seeds than on most: {joined(said)}."


def _growth(panel: Data, learners: Sequence[Data]) -> Iterable[str]:
    ranked = _competing(panel, learners)
    said = [
        f"K^{exponent_with_interval(result['numbers']['exponent'])} for {learners[result['learner']]['label']}"
        for result in (ranked if len(ranked) <= MAX_LISTED else ranked[:3])
        if result["numbers"]["exponent"]["mean"] is not None
    ]
    if not said:
        return
    last = panel["episode"][-1]
    promised = [rate for result in ranked if (rate := _promised_rate(_card(result, learners), panel["context_size"]))]
    rate = ""
    if promised:
        rates = joined(list(dict.fromkeys(promised)))
        rate = f" The theorem promises {rates} in the long run, up to logarithms, to LR-CSSP with the proven widths."
    yield f"Over the last decade (episodes {round(last / 10):,} to {last:,}) regret grows as {joined(said)}.{rate}"


def _promised_rate(card: Data, context_size: int) -> str:
    """How the regret grows at most by the theorem about this learner, here; empty without one of the paper's."""
    covered = LearnerCard.from_json(dict(card)).is_covered(context_size)
    if not covered or card["theorem"] not in REGRET_RATES:
        return ""
    losses = "" if card["theorem"] == THEOREM else " (its corollary, where losses may be zero)"
    return f"{REGRET_RATES[card['theorem']]}{losses}"


def _guarantees(panel: Data, learners: Sequence[Data]) -> Iterable[str]:
    """Whether the regret is below its bound and the sets held the truth, learner by learner."""
    for result in panel["results"]:
        learner, shares = learners[result["learner"]], bound_shares(result)
        covered = [one for one in result["numbers"]["covered"]["values"] if one is not None]
        said = []
        if covered:
            runs = f"{int(sum(covered))} of {pluralize(len(covered), 'run')}"
            text = f"its confidence sets held the truth throughout in {runs}"
            share = result["numbers"]["coverage"]["mean"]
            said.append(text if all(covered) or share is None else f"{text} ({percent(share)} of the intervals)")
        if shares:
            below = sum(share < 1.0 for share in shares)
            most = (
                f"at most {percent(max(shares))} of it" if below == len(shares) else f"up to {max(shares):.3g} times it"
            )
            proven = "" if learner["card"]["guarantee"] == PROVEN else ", which is not proven for its widths"
            runs = f"{below} of {pluralize(len(shares), 'run')}"
            said.append(f"its realised regret is below its a-posteriori bound in {runs} ({most}{proven})")
        if said:
            yield f"{learner['label']}: {'; '.join(said)}."


def bound_shares(result: Data) -> list[float]:
    """Realised regret over the tightest bound, of each run that has one."""
    shares = []
    for place, regret in enumerate(result["numbers"]["regret"]["values"]):
        bounds = [one["values"][place] for one in result["bounds"].values() if one["values"][place] is not None]
        if bounds and regret is not None and min(bounds) > 0.0:
            shares.append(regret / min(bounds))
    return shares


def _abandoned(panel: Data, learners: Sequence[Data]) -> Iterable[str]:
    some = [
        f"{humanize(sum(result['numbers']['abandoned']['values']))} by {_learner(result, learners)['label']}"
        for result in sorted(panel["results"], key=lambda one: -(one["numbers"]["abandoned"]["mean"] or 0.0))
        if _abandoned_some(result)
    ]
    if some:
        yield f"Episodes abandoned at the step limit, all seeds together: {joined(some)}; the true regret is larger."
    else:
        yield "No episode was abandoned."
