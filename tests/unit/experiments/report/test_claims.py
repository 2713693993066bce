"""What is said about sets and bounds."""

from goalbound.experiments.report.claims import abandoned, abandoned_some, bound_shares, guarantees


def test_the_share_of_the_bound_is_of_the_tightest_one(data):
    result = data["panels"][0]["results"][0]
    # The bound made by hand is 500; the realised regret of seed s is (1 + s / 10) 4,000.
    assert [round(share, 6) for share in bound_shares(result)] == [8.0, 8.8, 9.6]


def test_only_audited_learners_are_spoken_of(data):
    found = list(guarantees(data["panels"][0]))
    assert [one.partition(":")[0] for one in found] == ["wide", "narrow"]


def test_no_episode_was_abandoned(data):
    panel = data["panels"][0]
    assert list(abandoned(panel)) == ["No episode was abandoned."]
    assert not any(map(abandoned_some, panel["results"]))
