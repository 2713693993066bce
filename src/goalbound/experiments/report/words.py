"""What was asked and what came out, as sentences. They say no more than the numbers do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from goalbound.experiments.tables import counted

Data = Mapping[str, Any]
DASH, MINUS, TIMES = "\N{EN DASH}", "\N{MINUS SIGN}", " \N{MULTIPLICATION SIGN} "
THEIRS = "lr-cssp"
"""The learner that the theorem is about."""
LAWS = {
    "deterministic": "Losses have no noise: a pair always loses its mean under the context.",
    "bernoulli": "Losses are drawn: 1 or 0, with the mean of the pair under the context.",
    "bounded": "Losses are drawn around the mean of the pair under the context.",
}


def spoken(value: float | None) -> str:
    """A number for a sentence or a table: four digits or all whole ones, thousands parted.

    >>> spoken(76998.4), spoken(0.51234), spoken(2.5e-7), spoken(6e-12), spoken(-1.0), spoken(None)
    ('76,998', '0.5123', '2.5e-07', '0', '−1', '–')
    """
    if value is None:
        return DASH
    if abs(value) < 1e-9:  # rounding
        return "0"
    text = f"{value:,.0f}" if 1e3 <= abs(value) < 1e12 else f"{value:.4g}"
    return text.replace("-", MINUS, 1) if value < 0 else text


def banded(estimate: Data) -> str:
    """A mean with its band.

    >>> banded({"mean": 2.0, "low": 1.0, "high": 3.5})
    '2 (1 to 3.5)'
    """
    if estimate["low"] is None:
        return spoken(estimate["mean"])
    return f"{spoken(estimate['mean'])} ({spoken(estimate['low'])} to {spoken(estimate['high'])})"


def listed(words: Sequence[str]) -> str:
    """Words as one speaks them.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def percent(share: float) -> str:
    """A share; 100% and 0% only if it is.

    >>> percent(1.0), percent(0.99999), percent(0.1234), percent(0.00001)
    ('100%', 'more than 99.9%', '12.3%', 'less than 0.1%')
    """
    if 0.999 < share < 1.0:
        return "more than 99.9%"
    if 0.0 < share < 0.001:
        return "less than 0.1%"
    return f"{100.0 * share:.3g}%"


def setup(data: Data) -> list[str]:
    """What was done, in a few sentences."""
    seeds = data["seeds"]
    done = sum(len(result["seeds"]) for panel in data["panels"] for result in panel["results"])
    asked = done + len(data["failures"]) + sum(len(one["seeds"]) for one in data["missing"])
    combined = TIMES.join([counted(len(data["problems"]), "problem"),
                           counted(len(data["contexts"]), "source") + " of contexts",
                           counted(len(data["learners"]), "learner"), counted(len(seeds), "seed")])  # fmt: skip
    ended = f"All {asked} runs ended." if done == asked else f"{done} of the {asked} runs have a result."
    sentences = [
        f"{combined}: {counted(asked, 'run')} of {counted_episodes(data['episodes'])}. {ended}",
        "In each episode a context arrives, which mixes the losses and the dynamics of the problem; the learner sees "
        "it and acts until the goal. The regret of an episode is what it loses beyond the best policy for its context. "
        "Shown is the expected regret: the sum, over all steps, of how much worse the chosen action is than the best "
        "one. It has the mean of the realised regret and less noise.",
        _law(data["losses"]) + f" An episode of {counted_episodes(data['step_limit'], 'step')} is abandoned; "
        "its regret then counts up to there, and the true one is larger.",
    ]  # fmt: skip
    if len(seeds) > 1:
        same = " (but for the adversary, who answers each learner)" if _adversary(data) else ""
        few = " With so few seeds it is rough, and tends to be too narrow." if len(seeds) < 10 else ""
        sentences.append(f"All learners of a seed meet the same contexts{same}. Numbers are means over the seeds; "
                         f"bands are 95% bootstrap bands of these means.{few}")  # fmt: skip
    else:
        sentences.append("There is one seed: no bands, and how much of a difference is chance cannot be seen.")
    return sentences


def counted_episodes(count: int, thing: str = "episode") -> str:
    """A number of things, thousands parted."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def _law(losses: str | Mapping[str, Any]) -> str:
    if isinstance(losses, str):
        return LAWS.get(losses, f"Losses: {losses}.")
    settings = ", ".join(f"{name} {value}" for name, value in losses.items() if name != "law")
    return LAWS.get(str(losses.get("law")), "Losses are drawn.") + (f" ({settings})" if settings else "")


def _adversary(data: Data) -> bool:
    return any(source["use"] == "adversary" for source in data["contexts"])


def problem_words(thing: Data) -> str:
    """A problem's size and certified constants."""
    size = thing["size"]
    if size is None:
        return "No run of it has a result."
    names = (("states", "states"), ("pairs", "pairs of state and action"), ("context_size", "context components"))
    parts = [f"{spoken(size[name])} {word}" for name, word in names if size.get(name) is not None]
    text = f"{listed(parts)}."
    bounds = []
    if size.get("loss_bound") is not None:
        bounds.append(f"loses at most {spoken(size['loss_bound'])}")
    if size.get("time_bound") is not None:
        bounds.append(f"takes at most {spoken(size['time_bound'])} steps")
    if bounds:
        text += f" Certified: under every context and from every state the best policy {listed(bounds)}, in the mean."
    if size.get("loss_floor") is not None:
        text += f" No loss is below {spoken(size['loss_floor'])}."
    scale = size.get("loss_scale")
    return text + (f" A loss of 1 is {spoken(scale)} in the problem's own unit." if scale not in (None, 1.0) else "")


def told(learner: Data) -> str:
    """What a learner knew before its first episode."""
    settings = learner["settings"]
    if learner["knows"]:
        return "Knows the problem and plays the best policy of each context: it has no regret."
    if not {"support", "loss_floor", "loss_bound"} <= set(settings):
        return f"Settings: {settings_words(settings) or 'none'}."
    known = [
        "where each action can lead (the true support)" if settings["support"] == "true" else "",
        _said(settings["loss_floor"], "the least loss of the problem", "that no loss is below"),
    ]
    if settings["loss_bound"] != "doubling":
        certified = "the certified bound on what the best policies lose"
        known.append(_said(settings["loss_bound"], certified, "that no best policy loses more than"))
    text = f"Told {listed([one for one in known if one])}."
    if settings["support"] != "true":
        text += " Not told where actions can lead."
    if settings["loss_bound"] == "doubling":
        text += f" Finds a bound on what the best policies lose by doubling{_found(learner)}."
    return ("Never shown a context. " if learner["use"] == "context-blind" else "") + text


def _said(value: str | float, certified: str, words: str) -> str:
    return certified if value == "certified" else f"{words} {spoken(float(value))}"


def _found(learner: Data) -> str:
    ends = {spoken(used["final_loss_bound"]) for used in learner["used"].values() if used.get("final_loss_bound")}
    return f" (it came to {listed(sorted(ends))})" if ends else ""


def settings_words(settings: Mapping[str, Any]) -> str:
    """Settings as one line."""
    return ", ".join(f"{name} {value}" for name, value in settings.items() if value is not None)


def departures(data: Data) -> list[str]:
    """Every constant away from the paper's: the learner, and what it used."""
    return [
        f"{learner['tag']} {learner['label']}: {learner['constants']}"
        + (" (wider than the paper's: the theorem covers it)" if learner["proven"] else "")
        for learner in data["learners"]
        if learner["has_widths"] and (not learner["proven"] or learner["scale"] not in (None, 1.0))
    ]


def headline(data: Data) -> str:
    """Who has least regret, over all panels; empty where there is nothing to compare."""
    learners = data["learners"]
    first = [ranked[0]["learner"] for panel in data["panels"] if len(ranked := _competing(panel, learners)) > 1]
    if len(first) < 2:
        return ""
    counts = {learner: first.count(learner) for learner in dict.fromkeys(first)}
    said = [
        f"{_with_proof(learners[learner])} in {count} of {len(first)} settings" for learner, count in counts.items()
    ]
    return f"Least expected regret: {listed(said)}."


def _with_proof(learner: Data) -> str:
    return learner["label"] + (" (widths not proven)" if learner["has_widths"] and not learner["proven"] else "")


def answer(data: Data) -> list[dict[str, Any]]:
    """What came out: a title and sentences for each panel."""
    learners = data["learners"]
    parts = (_ranking, _growth, _guarantees, _abandoned)
    return [
        {"title": panel["title"], "sentences": [sentence for part in parts for sentence in part(panel, learners)]}
        for panel in data["panels"]
    ]


def _competing(panel: Data, learners: Sequence[Data]) -> list[Data]:
    """Results of those who have to learn, least regret first."""
    found = [result for result in panel["results"] if not learners[result["learner"]]["knows"]]
    return sorted(found, key=lambda result: result["numbers"]["expected_regret"]["mean"])


def _ranking(panel: Data, learners: Sequence[Data]) -> Iterable[str]:
    ranked = _competing(panel, learners)
    if not ranked:
        return
    best, episodes = ranked[0], panel["episode"][-1]
    regret = best["numbers"]["expected_regret"]
    per = f"{spoken(regret['mean'] / episodes)} per episode"
    optimal = f"where the best policy loses {spoken(best['optimal_loss'] / episodes)}"
    name, after = _with_proof(learners[best["learner"]]), f"after {counted_episodes(episodes)}"
    if len(ranked) == 1:
        yield f"{name} has an expected regret of {banded(regret)} {after}: {per}, {optimal}."
        return
    yield f"{name} has the least expected regret {after}: {banded(regret)}, or {per} {optimal}."
    others = [f"{learners[one['learner']]['label']}: {banded(one['numbers']['expected_regret'])}" for one in ranked[1:]]
    yield f"The others: {'; '.join(others)}."
    yield from _told_apart(panel, learners, ranked)


def _told_apart(panel: Data, learners: Sequence[Data], ranked: Sequence[Data]) -> Iterable[str]:
    """Whether the first is really ahead of the second, by the seeds that both have."""
    pair = {ranked[0]["learner"], ranked[1]["learner"]}
    found = next((one for one in panel["differences"] if {one["better"], one["worse"]} == pair), None)
    if found is None:
        yield "The first two share no seed, so they were not compared on the same contexts."
        return
    first, second = (learners[found[side]]["label"] for side in ("better", "worse"))
    gap, seeds = found["difference"], len(found["seeds"])
    where = "the same contexts" if found["same_contexts"] else "the same seeds, each with contexts of its own"
    if not found["wins"] and not found["losses"]:
        yield f"{first} and {second} are equal on {where}."
    elif gap["low"] is None:
        yield f"On {where} {first} is ahead of {second} by {spoken(gap['mean'])}; with one seed chance is not excluded."
    elif gap["low"] <= 0.0:
        apart = f"cannot be told apart by {counted(seeds, 'seed')}"
        yield f"{first} and {second} {apart}: the difference on {where} is {banded(gap)}."
    else:
        yield (
            f"On {where} {first} is ahead of {second} by {banded(gap)}, and on {found['wins']} of {seeds} seeds "
            f"(sign test: p = {found['sign_test']:.2g})."
        )


def _growth(panel: Data, learners: Sequence[Data]) -> Iterable[str]:
    ranked = _competing(panel, learners)
    said = [
        f"K^{banded_exponent(result['numbers']['exponent'])} for {learners[result['learner']]['label']}"
        for result in ranked
        if result["numbers"]["exponent"]["mean"] is not None
    ]
    if not said:
        return
    last = panel["episode"][-1]
    rate = ""
    if any(learners[result["learner"]]["proven"] and learners[result["learner"]]["use"] == THEIRS for result in ranked):
        rate = " The theorem promises K^0.5 in the long run, up to logarithms, to LR-CSSP with the proven widths."
    yield f"Over the last decade (episodes {round(last / 10):,} to {last:,}) regret grows as {listed(said)}.{rate}"


def banded_exponent(estimate: Data) -> str:
    """An exponent with its band.

    >>> banded_exponent({"mean": 0.51234, "low": 0.5, "high": 0.6})
    '0.51 (0.50 to 0.60)'
    """
    if estimate["mean"] is None:
        return DASH
    if estimate["low"] is None:
        return f"{estimate['mean']:.2f}"
    return f"{estimate['mean']:.2f} ({estimate['low']:.2f} to {estimate['high']:.2f})"


def _guarantees(panel: Data, learners: Sequence[Data]) -> Iterable[str]:
    """Whether the regret is below its bound and the sets held the truth, learner by learner."""
    for result in panel["results"]:
        learner, shares = learners[result["learner"]], bound_shares(result)
        covered = [one for one in result["numbers"]["covered"]["values"] if one is not None]
        said = []
        if covered:
            runs = f"{int(sum(covered))} of {counted(len(covered), 'run')}"
            text = f"its confidence sets held the truth throughout in {runs}"
            share = result["numbers"]["coverage"]["mean"]
            said.append(text if all(covered) or share is None else f"{text} ({percent(share)} of the intervals)")
        if shares:
            below = sum(share < 1.0 for share in shares)
            most = (
                f"at most {percent(max(shares))} of it" if below == len(shares) else f"up to {max(shares):.3g} times it"
            )
            proven = "" if learner["proven"] else ", which is not proven for its widths"
            runs = f"{below} of {counted(len(shares), 'run')}"
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
        f"{spoken(sum(result['numbers']['abandoned']['values']))} by {learners[result['learner']]['label']}"
        for result in panel["results"]
        if result["numbers"]["abandoned"]["mean"]
    ]
    if some:
        yield f"Episodes abandoned at the step limit, all seeds together: {listed(some)}; the true regret is larger."
    else:
        yield "No episode was abandoned."
