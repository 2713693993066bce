"""Sentences about what learners know and see."""

import pytest

from goalbound.experiments.registry.learners import catalogued_card
from goalbound.experiments.report import report_data
from goalbound.experiments.report.phrases import prior_information
from tests.support.many_learners import given


@pytest.fixture(scope="module")
def data():
    return report_data(**given())


def test_what_a_learner_was_reported_and_shown_is_said(data):
    words = {learner["label"]: prior_information(learner) for learner in data["learners"]}
    assert words["UC"] == (
        "One learner for each cell of the contexts, shown nothing else of them. Told where each action can lead (the "
        "true support) and the least loss of the problem."
    )
    assert words["ULCVI"].startswith("Never shown a context. Told")
    assert words["ULCVI"].endswith(
        "the certified bound on what the best policies lose and the certified bound on their steps."
    )
    assert words["greedy"] == "Told where each action can lead (the true support) and the least loss of the problem."


@pytest.mark.parametrize(
    ("use", "settings", "expected", "words"),
    [
        ("clairvoyant", {}, "oracle", "no constants"),
        ("lr-cssp", {"widths": "printed"}, "unproven", "widths: printed, not proven; delta 0.1"),
        ("ulcvi", {"scale": 1e-10}, "unproven", "bonuses: 1e-10 x its paper, not proven; delta 0.1"),
        ("bernstein-ssp", {"scale": 2.0}, "unproven", "radii: 2 x its paper, not proven; delta 0.1"),
        ("psrl-ssp", {}, "proven", "spread of the losses: its paper; delta 0.1"),
        ("epsilon-greedy", {}, "none", "explore 1; fade 0.333"),
        ("ps-cssp", {"spread": 0.1}, "none", "spread 0.1"),
        ("local-optimism", {}, "none", "bonus 0.3"),
        ("random", {}, "none", "no constants"),
    ],
)
def test_what_constants_rest_on(use, settings, expected, words):
    card = catalogued_card(use, settings)
    assert (card.guarantee, card.description) == (expected, words)
