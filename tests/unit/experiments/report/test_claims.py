"""What is said about sets and bounds."""

from goalbound.experiments.report.claims import bound_shares


def test_the_share_of_the_bound_is_of_the_tightest_one(data):
    result = data["panels"][0]["results"][0]
    # The bound made by hand is 500; the realised regret of seed s is (1 + s / 10) 4,000.
    assert [round(share, 6) for share in bound_shares(result)] == [8.0, 8.8, 9.6]
