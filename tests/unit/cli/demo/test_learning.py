"""The learning part of the demo."""

import re

import pytest

from goalbound.cli.demo import learning
from goalbound.cli.demo.learning import learning_text
from tests.support.demo_runs import EPISODES, ProgressLog


def test_the_demo_learns_the_same_at_every_run(learned):
    assert learning.make_learning(ProgressLog(), episodes=EPISODES) == learned


def test_the_learners_meet_the_same_patients_and_only_the_blind_one_does_not_look(learned):
    proven, practical, blind = learned.runs
    assert proven.card == blind.card == "widths: likelihood; delta 0.1"  # the same constants
    assert practical.card == "bonus 0.3"
    assert "blind" in blind.name
    # What a patient loses is what the clairvoyant would, the same for all, and the regret.
    assert all(run.early >= learned.early_best and run.late >= learned.late_best for run in learned.runs)


def test_a_curve_ends_at_the_regret_of_all_patients(learned):
    for run in learned.runs:
        patients, regrets = zip(*run.regrets, strict=True)
        assert patients[0] == 1.0
        assert patients[-1] == EPISODES
        assert list(regrets) == sorted(regrets)  # expected regret is never negative
        assert regrets[-1] == pytest.approx(run.regret, rel=1e-12)


def test_the_text_says_what_is_not_proven_and_counts_the_abandoned(learned):
    hurt = learned._replace(runs=[*learned.runs[:2], learned.runs[2]._replace(abandoned=17)])
    calls = learning_text(hurt)
    assert "is optimistic about the next dose only, and nothing is proven of it" in calls
    assert re.search(r"blind to the context +[\d,]+ +[\d.]+ +[\d.]+ +17\n", calls)
