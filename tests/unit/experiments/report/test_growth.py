"""What is said about growth beside the theorem."""

from goalbound.experiments.report.growth import growth, panel_promise, promised_exponent


def said(panel):
    return " ".join(growth(panel))


def test_a_rate_that_is_reached_is_said_to_be(data):
    text = said(data["panels"][0])
    assert (
        "K^0.50 (0.50 to 0.50) for narrow, K^0.50 (0.50 to 0.50) for wide and K^1.00 (1.00 to 1.00) for blind" in text
    )
    assert (
        "The theorem promises wide K^0.5 in the long run, up to logarithms; it grows no faster than that at K" in text
    )


def test_the_promise_is_to_learners_that_see_the_context(data):
    assert panel_promise(data["panels"][0]) == 0.5
    cards = [one["card"] for one in data["learners"]]
    assert [promised_exponent(card, 2) for card in cards[:3]] == [0.5, None, None]
    assert promised_exponent(cards[2], 1) == 0.5  # with one component there is nothing to be blind to
