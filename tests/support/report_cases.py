"""An experiment made by hand, for the tests of its report: what is drawn is known beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any

from goalbound.experiments.records import RunRecord
from goalbound.experiments.registry.learners import catalogued_card
from goalbound.experiments.run_spec import RunSpec
from goalbound.experiments.spec import ExperimentSpec
from goalbound.experiments.summary import summarize
from goalbound.learners.card import LearnerCard
from tests.support.synthetic import diagnosis, policies, power, record, simplex

HOSTILE = '</script><img src=x onerror="alert(1)">{{data}} & <b>'
EPISODES = 10_000
FACTORS = {"wide": 40.0, "narrow": 10.0, "blind": 1.0}
EXPONENTS = {"wide": 0.5, "narrow": 0.5, "blind": 1.0}


def spec(*, plugins: Sequence[str] = (), **changes: Any) -> ExperimentSpec:
    """Two problems, four learners, three seeds; labels and others may be changed."""
    values = {
        "name": "by-hand",
        "question": "Who looks, learns?",
        "episodes": EPISODES,
        "seeds": 3,
        "problems": [{"use": "random", "label": "flat"}, {"use": "treatment-ladder", "label": "ladder"}],
        "learners": [
            {"use": "lr-cssp", "label": "wide"},
            {"use": "lr-cssp", "label": "narrow", "scale": 0.1},
            {"use": "context-blind", "label": "blind"},
            {"use": "clairvoyant", "label": "clairvoyant"},
        ],
    }
    return ExperimentSpec.of(values | changes, plugins=plugins)


_MADE: dict[Any, RunRecord] = {}


def made(run: RunSpec, *, context_size: int | None = None) -> RunRecord:
    """The regret of seed s is (1 + s / 10) factor K^exponent; flat has two components, ladder three. Made once."""
    size = context_size or (2 if run.problem.label == "flat" else 3)
    key = (run.id, run.group, size)
    if key not in _MADE:
        _MADE[key] = _make(run, size)
    return _MADE[key]


def _make(run: RunSpec, size: int) -> RunRecord:
    label = run.learner.label
    metadata: dict[str, Any] = {
        "problem": {"states": 4, "pairs": 8, "triples": 20, "context_size": size, "loss_bound": 3.0, "time_bound": 9.0,
                    "loss_floor": 0.1, "loss_scale": 1.0, "component_names": None},
        "provenance": {"seed": run.seed, "id": run.id, "goalbound": "0.2.0", "numpy": "2.4.6"},
        "settings": {},
        "card": card(run).as_json(),
    }  # fmt: skip
    if label in ("wide", "narrow"):
        metadata["diagnosis"] = diagnosis(covered=label == "wide", coverage=1.0 if label == "wide" else 0.25)
        metadata["policies"] = policies(size) if size in (2, 3) else None
    if "scale" in run.learner.settings:
        metadata["settings"] = {name: run.learner.settings.get(name) for name in ("widths", "scale", "delta")}
    if label == "clairvoyant":
        cells = simplex(size, EPISODES)
        metadata["simplex"] = cells | {"expected_regret": [[0.0] * 144 for _ in cells["pairs"]]}
        return record(run, power(0.0, 1.0), context_size=size, metadata=metadata)
    factor = (1.0 + run.seed / 10.0) * FACTORS.get(label, 5.0)
    return record(run, power(factor, EXPONENTS.get(label, 0.5)), context_size=size, metadata=metadata)


def card(run: RunSpec) -> LearnerCard:
    """What the learner of a run says of itself; of a plug-in nothing is known."""
    return LearnerCard() if ":" in run.learner.use else catalogued_card(run.learner.use, run.learner.settings)


def case(asked: ExperimentSpec | None = None, **kept: Any) -> dict[str, Any]:
    """The arguments of ``report_data`` for a spec; ``only(run)`` says which runs have a record."""
    asked = asked or spec()
    only = kept.get("only", lambda _: True)
    records = [made(run, context_size=kept.get("context_size")) for run in asked.runs() if only(run)]
    times = [{"id": one.spec.id, "seconds": 1.5, "steps": 30_000} for one in records]
    return {
        "spec": asked,
        "summary": summarize(records, times=times, runs=asked.runs()),
        "records": records,
        "failures": kept.get("failures", []),
        "times": times,
    }


class Outline(HTMLParser):
    """Tags with their attributes, and all text outside of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.texts.append(data)


def result_of(data, problem, learner):
    panel = next(one for one in data["panels"] if one["problem"] == problem)
    return panel, next(one for one in panel["results"] if data["learners"][one["learner"]]["label"] == learner)


def sentences(data, place=0):
    found = data["phrases"]["conclusions"][place]
    return " ".join([*found["answer"], *found["sentences"]])
