"""Sentences and formatted numbers of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, log10
from typing import Any

from goalbound.experiments.comparisons import METHOD
from goalbound.learners.card import CELLS, MAPPED, NOTHING, THEIRS, TRUTH
from goalbound.models.amounts import cap_in
from goalbound.terminal import pluralize

Data = Mapping[str, Any]
DASH, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"
CONTEXT_VIEWS = {
    NOTHING: "Never shown a context. ",
    CELLS: "One learner for each cell of the contexts, shown nothing else of them. ",
    MAPPED: "Shown only a function of the contexts{}. ",
}
LOSS_LAWS = {
    "deterministic": "Losses have no noise: a pair always loses its mean under the context.",
    "bernoulli": "Losses are drawn: 1 or 0, with the mean of the pair under the context.",
    "bounded": "Losses are drawn around the mean of the pair under the context.",
}


def humanize(value: float | None) -> str:
    """A number for a sentence or a table: four significant digits or all integer digits, with thousands separators.

    >>> humanize(76998.4), humanize(0.51234), humanize(2.5e-7), humanize(6e-12), humanize(-1.0), humanize(None)
    ('76,998', '0.5123', '2.5e-07', '0', '−1', '–')
    """
    if value is None:
        return DASH
    if abs(value) < 1e-9:  # rounding
        return "0"
    text = f"{value:,.0f}" if 1e3 <= abs(value) < 1e12 else f"{value:.4g}"
    return text.replace("-", MINUS, 1) if value < 0 else text


def with_interval(estimate: Data) -> str:
    """A mean with its band, all with the digits that the band supports.

    >>> with_interval({"mean": 4437.2, "low": 3951.7, "high": 4922.7})
    '4,440 (3,950 to 4,920)'
    """
    mean, low, high = supported(estimate)
    return mean if not low else f"{mean} ({low} to {high})"


def supported(estimate: Data) -> tuple[str, str, str]:
    """The mean and the ends of its band as text, rounded to two significant digits of the band's half width.

    Without a band three significant digits are all that is shown, and the ends are empty.

    >>> supported({"mean": 0.51234, "low": 0.4987, "high": 0.5261}), supported({"mean": 76998.4, "low": None})
    (('0.512', '0.499', '0.526'), ('77,000', '', ''))
    """
    mean, low = estimate["mean"], estimate["low"]
    if mean is None:
        return DASH, "", ""
    if low is None:
        return humanize(float(f"{mean:.3g}")), "", ""
    half = (estimate["high"] - low) / 2.0
    if half <= 1e-9 * abs(mean):
        return humanize(mean), humanize(low), humanize(estimate["high"])
    unit = floor(log10(half)) - 1
    return _at_unit(mean, unit), _at_unit(low, unit), _at_unit(estimate["high"], unit)


def divided(estimate: Data, by: float) -> dict[str, Any]:
    """An estimate over a number: the mean and the ends of its band."""
    return {name: None if estimate[name] is None else estimate[name] / by for name in ("mean", "low", "high")}


def _at_unit(value: float, power: int) -> str:
    """A number rounded to a power of ten."""
    text = f"{round(value, -power):,.{max(0, -power)}f}"
    return text.replace("-", MINUS, 1) if value < 0 else text


def joined(words: Sequence[str]) -> str:
    """Phrases joined by commas and "and".

    >>> joined(["a"]), joined(["a", "b", "c"])
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


def exponent_with_interval(estimate: Data) -> str:
    """An exponent with its band.

    >>> exponent_with_interval({"mean": 0.51234, "low": 0.5, "high": 0.6})
    '0.51 (0.50 to 0.60)'
    """
    if estimate["mean"] is None:
        return DASH
    if estimate["low"] is None:
        return f"{estimate['mean']:.2f}"
    return f"{estimate['mean']:.2f} ({estimate['low']:.2f} to {estimate['high']:.2f})"


def setup(data: Data) -> list[str]:
    """The setup of the experiment in a few sentences."""
    seeds = data["seeds"]
    done = sum(len(result["seeds"]) for panel in data["panels"] for result in panel["results"])
    requested = done + len(data["failures"]) + sum(len(one["seeds"]) for one in data["missing"])
    crossed = (("learners", "learner"), ("problems", "problem"), ("contexts", "source of contexts"), ("seeds", "seed"))
    combined = joined([_counted(len(data[name]), noun) for name, noun in crossed])
    ended = f"All {requested} runs ended." if done == requested else f"{done} of the {requested} runs have a result."
    sentences = [
        f"The experiment crosses {combined}: {pluralize(requested, 'run')} of {pluralize_grouped(data['episodes'])} "
        f"each. {ended}",
        "In each episode a context arrives, which mixes the losses and the dynamics of the problem; the learner sees "
        "it and acts until the goal is reached. The regret of an episode is its loss less that of the best policy for "
        "its context. Shown is the expected regret: the sum, over all steps, of how much worse the chosen action is "
        "than the best one. It has the same mean as the realised regret and less noise.",
        _law(data["losses"]) + f" An episode is abandoned after {pluralize_grouped(data['step_limit'], 'step')}; its "
        "regret up to there counts, so the true regret is larger.",
    ]
    if len(seeds) > 1:
        same = " (except for the adversary, which answers each learner)" if _adversary(data) else ""
        few = " With so few seeds they are rough, and tend to be too narrow." if len(seeds) < 10 else ""
        sentences.append(f"With the same seed, all learners meet the same contexts{same}. Numbers are means over the "
                         f"seeds; bands and intervals are 95% bootstrap intervals of these means.{few}")  # fmt: skip
        if any(panel["differences"] for panel in data["panels"]):
            sentences.append(METHOD)
    else:
        sentences.append("There is one seed: no bands, and nothing can be said of who is ahead.")
    return sentences


def _counted(count: int, noun: str) -> str:
    """A count with its noun; of several words the first is the noun."""
    first, _, rest = noun.partition(" ")
    return f"{pluralize(count, first)} {rest}".rstrip()


def pluralize_grouped(count: int, noun: str = "episode") -> str:
    """A count with its noun, with thousands separators."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _law(losses: str | Mapping[str, Any]) -> str:
    if isinstance(losses, str):
        return LOSS_LAWS.get(losses, f"Losses: {losses}.")
    settings = ", ".join(f"{name} {value}" for name, value in losses.items() if name != "law")
    return LOSS_LAWS.get(str(losses.get("law")), "Losses are drawn.") + (f" ({settings})" if settings else "")


def _adversary(data: Data) -> bool:
    return any(source["use"] == "adversary" for source in data["contexts"])


def describe_problem(component: Data) -> str:
    """A problem's size and certified constants."""
    size = component["size"]
    if size is None:
        return "No run of it has a result."
    names = (("states", "states"), ("pairs", "pairs of state and action"), ("context_size", "context components"))
    parts = [f"{humanize(size[name])} {word}" for name, word in names if size.get(name) is not None]
    text = f"{joined(parts)}."
    text += _certified(size)
    if size.get("loss_floor") is not None:
        text += f" No loss is below {humanize(size['loss_floor'])}."
    scale = cap_in(size, "the record")
    return text + (f" A loss of 1 is {humanize(scale)} in the problem's own unit." if scale not in (None, 1.0) else "")


def _certified(size: Data) -> str:
    """B* and T*, with their tolerance; ``context_bounds`` is tighter by default."""
    bounds = []
    for name, word, unit in (("loss_bound", "loses", ""), ("time_bound", "takes", " steps")):
        if size.get(name) is not None:
            least = size.get(f"{name}_lower")
            some = "" if least is None else f" (and under some context from some state {humanize(least)} or more)"
            bounds.append(f"{word} at most {humanize(size[name])}{unit}{some}")
    if not bounds:
        return ""
    said = f" Certified: under every context and from every state the best policy {joined(bounds)}, in the mean."
    tolerance = size.get("bounds_tolerance")
    if tolerance is None:
        return f"{said} These are upper ends; the true ones may be smaller."
    return f"{said} These are upper ends, to within {percent(tolerance)}; context_bounds comes to within 1%."


def prior_information(learner: Data) -> str:
    """The prior information of a learner."""
    settings, card = learner["settings"], learner["card"]
    if card is None:
        return f"No run of it has a result. Settings: {describe_settings(settings) or 'none'}."
    if card["sees"] == TRUTH:
        return "Knows the problem and plays the best policy of each context: it has no regret."
    if card["constants"] == THEIRS or not {"support", "loss_floor"} <= set(settings):
        return f"Settings: {describe_settings(settings) or 'none'}."
    bound = settings.get("loss_bound")
    known = [
        "where each action can lead (the true support)" if settings["support"] == "true" else "",
        _bound_phrase(settings["loss_floor"], "the least loss of the problem", "that no loss is below"),
    ]
    if bound not in (None, "doubling"):
        certified = "the certified bound on what the best policies lose"
        known.append(_bound_phrase(bound, certified, "that no best policy loses more than"))
    if any(used.get("method_time_bound") is not None for used in learner["used"].values()):
        known.append("the certified bound on their steps")
    view = describe_settings({name: settings[name] for name in ("sees", "parts") if name in settings})
    shown = CONTEXT_VIEWS.get(card["sees"], "").format(f" ({view})" if view else "")
    text = f"{shown}Told {joined([one for one in known if one])}."
    if settings["support"] != "true":
        text += " Not told where actions can lead."
    if bound == "doubling":
        text += f" Finds a bound on what the best policies lose by doubling{_final_bounds(learner)}."
    return text


def _bound_phrase(value: str | float, certified: str, words: str) -> str:
    return certified if value == "certified" else f"{words} {humanize(float(value))}"


def _final_bounds(learner: Data) -> str:
    ends = {humanize(used["final_loss_bound"]) for used in learner["used"].values() if used.get("final_loss_bound")}
    return f" (final value {joined(sorted(ends))})" if ends else ""


def describe_settings(settings: Mapping[str, Any]) -> str:
    """Settings as one line."""
    return ", ".join(f"{name} {value}" for name, value in settings.items() if value is not None)


def deviations(data: Data) -> list[str]:
    """Every learner whose constants are not those of its paper, and what they are instead."""
    return [f"{one['tag']} {one['label']}: {one['deviation']}" for one in data["learners"] if one["deviation"]]
