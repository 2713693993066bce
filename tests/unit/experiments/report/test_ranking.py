"""The order of the learners of a panel."""

from goalbound.experiments.report.ranking import competing, difference


def test_the_clairvoyant_does_not_compete_and_least_regret_is_first(data):
    ranked = competing(data["panels"][0])
    assert [result["label"] for result in ranked] == ["narrow", "wide", "blind"]
    assert ranked[2]["card"]["sees"] == "nothing"


def test_a_difference_is_found_whichever_is_named_first(data):
    panel = data["panels"][0]
    assert difference(panel, 0, 1) is difference(panel, 1, 0)
    assert difference(panel, 0, 1)["difference"]["mean"] == 3300
    assert difference(panel, 0, 0) is None
