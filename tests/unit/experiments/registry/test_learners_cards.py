"""What records, summaries, reports and the command line say of a learner: what its card says, the same everywhere."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound.errors import InputError
from goalbound.experiments.records import RunRecord
from goalbound.experiments.registry.learners import LEARNERS, catalogued_card
from goalbound.experiments.report import report_data, report_page
from goalbound.experiments.run import run
from goalbound.experiments.spec import ExperimentSpec
from goalbound.experiments.summary import summarize
from tests.support.report_cases import case, spec

HERE = "tests.support.third_party_learner"
PAPERS = "All constants are those of the paper."
WITH_KNOWN_TEST = {"lr-cssp", "scaled-sharp", "context-blind", "kwik-rmax", "hoeffding-ssp"}


def page_of(*learners: dict[str, Any]) -> str:
    return report_page(report_data(**case(spec(learners=list(learners), seeds=1, plugins=[HERE]))))


def played(*learners: dict[str, Any], **changes: Any) -> list[RunRecord]:
    asked = ExperimentSpec.of({
        "name": "a-few", "episodes": 5, "seeds": 1, "problems": [{"use": "treatment-ladder", "levels": 2}],
        "learners": list(learners), **changes,
    })  # fmt: skip
    return [run(one) for one in asked.runs()]


def test_the_report_names_practical_among_what_is_not_proven_and_does_not_speak_of_the_papers_constants() -> None:
    page = page_of({"use": "lr-cssp", "label": "papers"}, {"use": "scaled-sharp", "label": "quick"})
    assert PAPERS not in page
    assert "B quick: widths: 0.5 x sharp, not proven; delta 0.1" in page
    assert "A papers" not in page.partition("Constants that deviate from the paper")[2].partition("</div>")[0]


def test_the_report_says_of_a_third_partys_learner_that_no_guarantee_is_known() -> None:
    page = page_of({"use": "lr-cssp", "label": "papers"}, {"use": f"{HERE}:given", "label": "theirs"})
    assert PAPERS not in page
    assert "B theirs: no guarantee is known to goalbound" in page


def test_sharp_widths_are_proven_and_not_those_of_the_paper() -> None:
    page = page_of({"use": "lr-cssp", "label": "sharp", "widths": "sharp"})
    assert PAPERS not in page
    assert "A sharp: widths: sharp; delta 0.1 (proven, and not those of the paper)" in page
    assert "has a guarantee only where" not in page


def test_what_a_run_writes_of_each_learner_is_what_the_command_line_lists() -> None:
    # The clairvoyant of another problem says the same; thresholds depend on the size of the contexts.
    for name in sorted(set(LEARNERS.entries) - {"kwik-rmax"}):
        (now,) = played({"use": name}, episodes=1)
        assert now.card == catalogued_card(name), name


def test_known_steps_are_a_dash_without_a_known_test_wherever_they_are_reported(tmp_path: Path) -> None:
    learners = [{"use": name, "label": name} for name in LEARNERS.entries]
    records = played(*learners, episodes=2)
    summary = summarize(records)
    given = {group.learner: group.known_share.mean is not None for group in summary.groups}
    assert {name for name, known in given.items() if known} == WITH_KNOWN_TEST
    assert {group.learner for group in summary.groups if group.known_curve is not None} == WITH_KNOWN_TEST
    summary.to_csv(tmp_path / "summary.csv")
    with open(tmp_path / "summary.csv", newline="") as file:
        assert {row["learner"] for row in csv.DictReader(file) if row["known_share"]} == WITH_KNOWN_TEST
    asked = ExperimentSpec.of({
        "name": "a-few", "episodes": 2, "seeds": 1, "problems": [{"use": "treatment-ladder", "levels": 2}],
        "learners": learners,
    })  # fmt: skip
    data = report_data(asked, summary, records)
    (panel,) = data["panels"]
    for result in panel["results"]:
        label = data["learners"][result["learner"]]["label"]
        assert (result["known"] is not None) == (label in WITH_KNOWN_TEST)
        assert (result["numbers"]["known_share"]["mean"] is not None) == (label in WITH_KNOWN_TEST)
    assert all(np.isfinite(record.table["loss"]).all() for record in records)


def test_an_adversary_refuses_a_learner_that_keeps_nothing_on_contexts_before_the_run() -> None:
    with pytest.raises(InputError, match=r"learners \(random\): an adversary inspects"):
        played({"use": "random"}, contexts=[{"use": "adversary"}])
