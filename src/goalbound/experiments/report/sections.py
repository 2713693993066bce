"""What the template of a report shows, section by section, as plain values; the template escapes all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from goalbound.experiments.report import phrases, tables
from goalbound.experiments.report.charts import TERMS
from goalbound.experiments.report.ranking import competing
from goalbound.learners.card import GUARANTEE_LABELS, NONE, ORACLE, PROVEN
from goalbound.terminal import pluralize

Data = Mapping[str, Any]
PAPER = "D. Polikar, A. Cohen: Regret Guarantees for Linear Contextual Stochastic Shortest Path"
MANY = 8
"""With more learners than colours, only the best are shown at first."""


def sections(data: Data) -> dict[str, Any]:
    """The values of the template."""
    return {
        "name": data["name"],
        "question": data["question"] or data["name"],
        "headline": data["phrases"]["headline"],
        "caveat": data["phrases"]["caveat"],
        "setup": data["phrases"]["setup"],
        "panels": [_panel(panel, data) for panel in data["panels"]],
        "learners": data["learners"],
        "guarantees": guarantee_options(data),
        "many": len(data["learners"]) > MANY,
        "bounded": _any_result(data, "bound"),
        "bands": _any_result(data, "low"),
        "timed": any(result["seconds_per_step"] is not None for panel in data["panels"] for result in panel["results"]),
        "constants": _constants(data),
        "alarms": [_alarm(alarm) for alarm in data["alarms"]],
        "components": _components(data),
        "deviations": _deviations(data),
        "failures": data["failures"],
        "missing": data["missing"],
        "terms": TERMS,
        "provenance": _provenance(data),
        "powers": powers,
    }


def _any_result(data: Data, name: str) -> bool:
    return any(result["regret"][name] is not None for panel in data["panels"] for result in panel["results"])


def guarantee_options(data: Data) -> list[tuple[str, str]]:
    """The guarantees that some learner has, and what they are called, to filter by."""
    found = {one["card"]["guarantee"] for one in data["learners"] if one["card"]}
    return [(name, label) for name, label in GUARANTEE_LABELS.items() if name in found]


def _panel(panel: Data, data: Data) -> dict[str, Any]:
    comparison = tables.comparison(panel, data)
    return {
        "place": panel["place"],
        "title": panel["title"],
        **{name: data["phrases"]["conclusions"][panel["place"]][name] for name in ("answer", "sentences")},
        "comparison": comparison,
        "meanings": tables.meanings(comparison, data),
        "differences": tables.differences(panel),
        "first": _first(panel),
        "size": panel["context_size"],
        "components": panel["components"],
        "nothing_known": _nothing_known(panel),
        "results": [(result["learner"], result["label"]) for result in panel["results"]],
        "policies": tables.best_policies(panel),
        "changes": tables.policy_changes(panel),
        "gaps": tables.policy_gaps(panel),
    }


def _first(panel: Data) -> str:
    ranked = competing(panel)
    return ranked[0]["label"] if ranked else ""


def _nothing_known(panel: Data) -> bool:
    """Whether there are learners that test for known pairs, and none of them ever knew one."""
    shares = [result["numbers"]["known_share"]["mean"] for result in panel["results"] if result["known"]]
    return bool(shares) and all(share == 0.0 for share in shares)


def _constants(data: Data) -> str:
    shown = [one for one in data["learners"] if one["card"] and one["card"]["guarantee"] not in (NONE, ORACLE)]
    return "; ".join(f"{one['tag']}: {one['constants']}" for one in shown)


def _alarm(alarm: Data) -> dict[str, str]:
    return {
        "where": ", ".join(alarm[kind] for kind in ("learner", "problem", "contexts")),
        "text": f"{len(alarm['seeds'])} of {pluralize(alarm['runs'], 'run')}. "
        f"Seed {alarm['seeds'][0]}, {alarm['text']}.",
    }


def _components(data: Data) -> dict[str, list[tuple[str, str, str]]]:
    """Name, what it is made by, and what is known of it, of problems, contexts and learners."""
    return {
        "Problems": [
            (one["label"], _used(one), f"{one['summary']} {phrases.describe_problem(one)}") for one in data["problems"]
        ],
        "Contexts": [(one["label"], _used(one), one["summary"]) for one in data["contexts"]],
        "Learners": [
            (f"{one['tag']} {one['label']}", f"{one['use']}; {one['constants']}", phrases.prior_information(one))
            for one in data["learners"]
        ],
    }


def _used(component: Data) -> str:
    settings = phrases.describe_settings(component["settings"])
    return component["use"] + (f": {settings}" if settings else "")


def _deviations(data: Data) -> dict[str, Any]:
    """Deviations from the constants of the papers, and whether some learner has no theorem because of them."""
    found = phrases.deviations(data)
    guarantees = [one["card"]["guarantee"] for one in data["learners"] if one["card"]]
    proven = PROVEN in guarantees and len(guarantees) == len(data["learners"])
    return {
        "list": found,
        "none": not found and proven,
        "warn": not all(one in (PROVEN, ORACLE) for one in guarantees),
    }


def powers(text: str) -> Markup:
    """K^0.5 as a power; all else is escaped.

    >>> powers("as K^0.5 <b>")
    Markup('as K<sup>0.5</sup> &lt;b&gt;')
    """
    head, *rest = text.split("K^")
    parts = [escape(head)]
    for part in rest:
        digits = len(part) - len(part.lstrip("0123456789."))
        number = part[:digits].rstrip(".")
        parts.append(Markup("K<sup>{}</sup>{}").format(number, part[len(number) :]))
    return Markup("").join(parts)


def _provenance(data: Data) -> dict[str, Any]:
    found = data["provenance"]
    allowed = "".join(f" --plugin {module}" for module in _plugins(data))
    version = ", ".join(found["versions"].get("goalbound", ["unknown"]))
    return {
        "versions": "; ".join(f"{name} {', '.join(every)}" for name, every in sorted(found["versions"].items())),
        "mixed": any(len(every) > 1 for every in found["versions"].values()),
        "timed": f"{found['timed']} timed runs took {phrases.humanize(found['seconds'])} seconds of computing in all."
        if found["seconds"]
        else "",
        "runs": tables.runs(data),
        "command": f"goalbound run spec.toml --out {data['name']}-again{allowed}",
        "paper": PAPER,
        "bibtex": bibtex(version),
    }


def bibtex(version: str) -> str:
    """The entries of goalbound and of the paper."""
    return f"""@software{{goalbound,
  author  = {{{{The goalbound authors}}}},
  title   = {{goalbound: linear contextual stochastic shortest path problems}},
  version = {{{version}}}
}}
@misc{{polikar_cohen_lcssp,
  author        = {{Polikar, Dor and Cohen, Alon}},
  title         = {{Regret Guarantees for Linear Contextual Stochastic Shortest Path}},
  year          = {{2025}},
  eprint        = {{2511.12534}},
  archiveprefix = {{arXiv}}
}}"""


def _plugins(data: Data) -> Sequence[str]:
    """The modules that the spec names, and that are to be allowed."""
    uses = [one["use"] for group in ("problems", "contexts", "learners") for one in data[group]]
    return sorted({use.partition(":")[0] for use in uses if ":" in use})
