"""What is known of a learner: decided from what it is and was set to, not from its name, and the same everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from goalbound import LRCSSP, ContextBlind, scaled, sharp
from goalbound.experiments.cards import LearnerCard, card_from_record, card_from_settings, learner_card, weakest
from goalbound.experiments.learners import LEARNERS
from goalbound.experiments.records import RunRecord
from goalbound.experiments.report import report_data, report_page
from goalbound.experiments.run import run
from goalbound.experiments.spec import ExperimentSpec
from goalbound.experiments.summary import summarize
from goalbound.models import ModelError, Support
from tests.unit.experiments.report_cases import case, spec
from tests.unit.experiments.synthetic import power, record, run_spec
from tests.unit.experiments.third_party import Open, drugs

HERE = "tests.unit.experiments.third_party"
PAPERS = "All constants are those of the paper."
SETTINGS = {"support": Support.full(2, 2), "context_size": 2, "loss_floor": 0.1}


def page_of(*learners: dict[str, Any]) -> str:
    return report_page(report_data(**case(spec(learners=list(learners), seeds=1, plugins=[HERE]))))


def played(**learner: Any) -> RunRecord:
    asked = ExperimentSpec.of({
        "name": "a-few", "episodes": 5, "seeds": 1, "problems": [{"use": "treatment-ladder", "levels": 2}],
        "learners": [learner],
    })  # fmt: skip
    return run(asked.runs()[0])


def test_the_report_names_practical_among_what_is_not_proven_and_does_not_speak_of_the_papers_constants() -> None:
    page = page_of({"use": "lr-cssp", "label": "papers"}, {"use": "practical", "label": "quick"})
    assert PAPERS not in page
    assert "B quick: widths: 0.5 x sharp, not proven; delta 0.1" in page
    assert "A papers" not in page.partition("Constants that deviate from the paper")[2].partition("</div>")[0]


def test_the_report_says_of_a_third_partys_learner_that_no_guarantee_is_known() -> None:
    page = page_of({"use": "lr-cssp", "label": "papers"}, {"use": f"{HERE}:told", "label": "theirs"})
    assert PAPERS not in page
    assert "B theirs: no guarantee is known to goalbound" in page


def test_sharp_widths_are_proven_and_not_those_of_the_paper() -> None:
    page = page_of({"use": "lr-cssp", "label": "sharp", "widths": "sharp"})
    assert PAPERS not in page
    assert "A sharp: widths: sharp; delta 0.1 (proven, and not those of the paper)" in page
    assert "has a guarantee only where" not in page


def test_learners_without_a_bound_are_named_too_and_a_clairvoyant_is_not() -> None:
    page = page_of({"use": "greedy-ridge", "label": "greedy"}, {"use": "clairvoyant", "label": "all-knowing"})
    assert PAPERS not in page
    assert "A greedy: no bound of its regret is known" in page
    assert "B all-knowing:" not in page
    assert PAPERS in page_of({"use": "lr-cssp", "label": "papers"}, {"use": "clairvoyant"})


def test_practical_at_a_scale_of_1_is_described_as_the_same_learner_by_its_other_name() -> None:
    practical = played(use="practical", label="one", scale=1.0)
    by_hand = played(use="lr-cssp", label="one", widths="sharp", replan_factor=2.0)
    assert practical.table["loss"].tolist() == by_hand.table["loss"].tolist()
    assert card_from_record(practical) == card_from_record(by_hand)
    assert card_from_record(practical).constants == "widths: sharp; delta 0.1"
    assert card_from_record(practical).guarantee == "proven"
    assert summarize([practical]).groups[0].constants == summarize([by_hand]).groups[0].constants


def test_the_name_of_a_setting_makes_no_guarantee() -> None:
    theirs = record(run_spec(settings={"widths": "paper", "scale": 1.0}), power(1.0, 0.5),
                    metadata={"settings": {"widths": "paper", "scale": 1.0, "delta": 0.1}})  # fmt: skip
    assert card_from_record(theirs).guarantee == "unknown"
    (group,) = summarize([theirs]).groups
    assert (group.guarantee, group.constants) == ("unknown", "no guarantee is known to goalbound")
    assert "A: no guarantee is known to goalbound" in summarize([theirs]).table(width=200)


@pytest.mark.parametrize(
    ("widths", "guarantee", "words"),
    [
        (sharp(), "proven", "widths: sharp; delta 0.1"),
        (sharp(variance=False), "proven", "widths: sharp without variance; delta 0.1"),
        (scaled(sharp(), by=0.5), "unproven", "widths: 0.5 x sharp, not proven; delta 0.1"),
        (scaled(sharp(), by=2.0), "proven", "widths: 2 x sharp; delta 0.1"),
    ],
)
def test_one_of_our_learners_is_known_whoever_made_it(widths: Any, guarantee: str, words: str) -> None:
    learner = LRCSSP(Support.full(2, 2), 1, loss_floor=0.1, widths=widths)
    for seen in (learner, ContextBlind(learner)):
        card = learner_card(seen, {"spread": 3.0})  # of a third party's function, and of no meaning here
        assert (card.guarantee, card.constants, card.tells_known) == (guarantee, words, True)


def test_a_subclass_of_a_learner_of_ours_is_not_ours() -> None:
    assert learner_card(Open(drugs()), {}).guarantee == "unknown"
    subclass = type("Tuned", (LRCSSP,), {})
    assert learner_card(subclass(Support.full(2, 2), 2, loss_floor=0.1), {}).guarantee == "unknown"


@pytest.mark.parametrize("name", list(LEARNERS.entries))
def test_what_a_run_writes_of_each_learner_is_what_its_settings_said_before(name: str) -> None:
    played_now = played(use=name)
    assert card_from_record(played_now) == card_from_settings(name, played_now.spec.learner.settings)
    assert played_now.metadata["card"] is not None


def test_a_record_without_a_card_is_judged_by_its_settings() -> None:
    new = played(use="practical")
    old = RunRecord(new.spec, dict(new.table), {name: fact for name, fact in new.metadata.items() if name != "card"})
    assert card_from_record(old) == card_from_record(new)


@pytest.mark.parametrize(
    "change",
    [{"guarantee": "sworn"}, {"scale": "1"}, {"scale": True}, {"delta": "0.1"}, {"others": {"a": "b"}}, {"more": 1}],
)
def test_a_card_that_is_none_is_refused(change: dict[str, Any]) -> None:
    good = LearnerCard("unproven", "widths", "sharp", 0.5, 0.1).as_json()
    assert LearnerCard.from_json(good).as_json() == good
    with pytest.raises(ModelError, match="the learner's card is"):
        LearnerCard.from_json({**good, **change})
    made = record(run_spec(), power(1.0, 0.5))
    with pytest.raises(ModelError, match="the learner's card is"):
        RunRecord(made.spec, dict(made.table), {**made.metadata, "card": {**good, **change}})


def test_of_runs_that_differ_the_weakest_guarantee_is_told() -> None:
    proven, unknown = LearnerCard("proven"), LearnerCard("unknown")
    assert weakest([proven, unknown, proven]) is unknown


def test_known_steps_are_told_alike_in_the_report_and_in_the_summary() -> None:
    records = [played(use=name, label=name) for name in ("practical", "greedy-ridge", "bernstein-ssp", "kwik-rmax")]
    told = {group.learner: group.known_share.mean is not None for group in summarize(records).groups}
    assert told == {"practical": True, "greedy-ridge": False, "bernstein-ssp": False, "kwik-rmax": True}
    assert all(np.isfinite(record.table["loss"]).all() for record in records)
