"""The order of the learners of a panel."""

from goalbound.experiments.report.ranking import card_of, competing, difference, label_of


def test_the_clairvoyant_does_not_compete_and_least_regret_is_first(data):
    panel, learners = data["panels"][0], data["learners"]
    ranked = competing(panel, learners)
    assert [label_of(result, learners) for result in ranked] == ["narrow", "wide", "blind"]
    assert card_of(ranked[2], learners)["sees"] == "nothing"


def test_a_difference_is_found_whichever_is_named_first(data):
    panel = data["panels"][0]
    assert difference(panel, 0, 1) is difference(panel, 1, 0)
    assert difference(panel, 0, 1)["difference"]["mean"] == 3300
    assert difference(panel, 0, 0) is None
