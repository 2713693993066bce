"""What a learner says that it is: from what it was set to, not from its name, and honest where nothing is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from goalbound import LRCSSP, ContextBlind
from goalbound.around.contexts import Discretized, MappedContexts
from goalbound.baselines import Method, TabularLearner
from goalbound.confidence import Widths, likelihood, paper, printed, scaled, sharp
from goalbound.confidence.widths import IntervalPieces
from goalbound.errors import InputError
from goalbound.learners import ridge
from goalbound.learners.card import COROLLARY, THEOREM, THIRD_PARTY, LearnerCard, learner_card, weakest
from goalbound.learners.own_card import Card
from goalbound.learners.reference import Clairvoyant, RandomWalk
from goalbound.learners.settings import LearnerOptions
from goalbound.models import LinearCSSP, Support

SUPPORT = Support.full(2, 2)
PROBLEM = LinearCSSP.dense([[[0.5, 0.2]]], [[[[0.0, 1.0], [0.9, 0.1]]]])


def lr_cssp(size: int = 2, **changes: Any) -> LRCSSP:
    return LRCSSP(SUPPORT, size, **{"loss_floor": 0.1, **changes})


@pytest.mark.parametrize(
    ("widths", "guarantee", "words"),
    [
        (paper(), "proven", "widths: paper; delta 0.1"),
        (printed(), "unproven", "widths: printed, not proven; delta 0.1"),
        (scaled(paper(), by=2.0), "proven", "widths: 2 x paper; delta 0.1"),
        (sharp(), "proven", "widths: sharp; delta 0.1"),
        (likelihood(), "proven", "widths: likelihood; delta 0.1"),
        (sharp(variance=False), "proven", "widths: sharp without variance; delta 0.1"),
        (scaled(sharp(), by=0.5), "unproven", "widths: 0.5 x sharp, not proven; delta 0.1"),
        (scaled(sharp(), by=2.0), "proven", "widths: 2 x sharp; delta 0.1"),
    ],
)
def test_the_rule_of_the_widths_says_whether_they_are_proven(widths: Widths, guarantee: str, words: str) -> None:
    learner = lr_cssp(1, widths=widths)
    for seen in (learner, ContextBlind(learner)):
        card = learner_card(seen)
        assert (card.guarantee, card.description, card.has_known_test) == (guarantee, words, True)


def test_a_name_that_begins_like_a_proven_rule_proves_nothing_and_another_name_takes_no_proof_away() -> None:
    posing = lr_cssp(widths=Widths("sharp without proof", joint=False))
    assert posing.card.guarantee == "unproven"
    renamed = lr_cssp(widths=Widths("intervals", joint=True, intervals=IntervalPieces()))
    assert renamed.card.guarantee == "proven"


def test_practical_at_a_scale_of_1_has_the_card_of_sharp_widths() -> None:
    practical = LRCSSP.scaled(SUPPORT, 2, loss_floor=0.1, scale=1.0)
    assert practical.card == lr_cssp(widths=sharp(), options=LearnerOptions(replan_factor=2.0)).card
    assert practical.card.guarantee == "proven"
    assert LRCSSP.scaled(SUPPORT, 2, loss_floor=0.1).card.guarantee == "unproven"


def test_the_theorem_is_named_and_is_the_corollary_where_losses_may_be_zero() -> None:
    assert lr_cssp().card.theorem == THEOREM
    assert lr_cssp(loss_floor=0.0, options=LearnerOptions(episodes=1000)).card.theorem == COROLLARY
    assert lr_cssp(widths=scaled(paper(), by=0.5)).card.theorem == ""


def test_only_learners_with_a_known_test_say_so() -> None:
    arguments: dict[str, Any] = {"loss_floor": 0.1}
    learners = {
        "lr-cssp": lr_cssp(),
        "greedy": ridge.GreedyRidge(SUPPORT, 2, **arguments),
        "epsilon": ridge.EpsilonGreedy(SUPPORT, 2, **arguments),
        "local": ridge.LocalOptimism(SUPPORT, 2, **arguments),
        "posterior": ridge.PosteriorSampling(SUPPORT, 2, **arguments),
        "rmax": ridge.KwikRmax(SUPPORT, 2, **arguments),
        "hoeffding": TabularLearner(SUPPORT, Method("hoeffding-ssp", loss_bound=2.0), **arguments),
        "bernstein": TabularLearner(SUPPORT, Method("bernstein-ssp"), **arguments),
        "oracle": Clairvoyant(PROBLEM),
        "random": RandomWalk(SUPPORT),
    }
    with_test = {name for name, learner in learners.items() if learner_card(learner).has_known_test}
    assert with_test == {"lr-cssp", "rmax", "hoeffding"}


def test_ridge_learners_that_are_not_optimistic_have_constants_and_no_guarantee() -> None:
    assert ridge.GreedyRidge(SUPPORT, 2, loss_floor=0.1).card.description == "no constants"
    epsilon = ridge.EpsilonGreedy(SUPPORT, 2, loss_floor=0.1, explore=0.5)
    assert (epsilon.card.guarantee, epsilon.card.description) == ("none", "explore 0.5; fade 0.333")


def test_the_papers_of_others_prove_their_constants_as_they_are() -> None:
    as_printed, wider = (
        TabularLearner(SUPPORT, Method("uc-ssp", scale=scale), loss_floor=0.1).card for scale in (1.0, 2.0)
    )
    assert (as_printed.guarantee, as_printed.uses_paper_constants) == ("proven", True)
    assert (wider.guarantee, wider.description) == ("unproven", "radii: 2 x its paper, not proven; delta 0.1")


def test_wrappers_say_what_the_learner_inside_sees_of_the_contexts() -> None:
    inside = lr_cssp(1)
    tabular = TabularLearner(SUPPORT, Method("uc-ssp"), loss_floor=0.1)
    assert lr_cssp().card.sees == "contexts"
    assert ContextBlind(inside).card == replace(inside.card, sees="nothing")
    assert MappedContexts(lr_cssp(), np.eye(2)).card == replace(lr_cssp().card, sees="mapped contexts")
    assert Discretized(lambda rng: lr_cssp(1), 2).card == replace(inside.card, sees="cells")
    assert Discretized(lambda rng: tabular, 2).card.sees == "cells"
    assert ContextBlind(tabular).card == tabular.card
    assert tabular.card.sees == "nothing"
    assert ContextBlind(_Uniform()).card == replace(THIRD_PARTY, sees="nothing")


def test_an_oracle_that_is_shown_something_else_is_no_oracle() -> None:
    assert (Clairvoyant(PROBLEM).card.sees, Clairvoyant(PROBLEM).card.guarantee) == ("truth", "oracle")
    blind = ContextBlind(Clairvoyant(PROBLEM)).card
    assert (blind.sees, blind.guarantee) == ("nothing", "none")


def test_the_theorem_is_about_contexts_that_are_seen() -> None:
    assert lr_cssp().card.is_covered(2)
    blind = ContextBlind(lr_cssp(1)).card
    assert (blind.is_covered(2), blind.is_covered(1)) == (False, True)
    assert not lr_cssp(widths=scaled(sharp(), by=0.5)).card.is_covered(1)


class _Uniform:
    context_size = 1

    def begin(self, context: Any) -> None: ...


def test_of_a_learner_that_says_nothing_nothing_is_known() -> None:
    card = learner_card(_Uniform())
    assert (card.sees, card.has_known_test, card.guarantee, card.constants) == (
        "unknown",
        False,
        "unknown",
        "third party",
    )
    assert card.description == "no guarantee is known to goalbound"


def test_third_parties_say_what_they_are_and_nothing_else_is_taken_for_it() -> None:
    class Bandit(_Uniform):
        card = LearnerCard(sees="contexts", guarantee="proven", theorem="Theorem 2 of theirs", constants="third party")

    assert learner_card(Bandit()).theorem == "Theorem 2 of theirs"
    assert not learner_card(Bandit()).uses_paper_constants
    Bandit.card = "proven"  # type: ignore[assignment]
    with pytest.raises(InputError, match="card of a Bandit is 'proven'; it is a LearnerCard, or is left out"):
        learner_card(Bandit())


def test_a_subclass_is_a_third_partys_until_it_says_what_it_is() -> None:
    tuned = type("Tuned", (LRCSSP,), {})
    assert tuned(SUPPORT, 2, loss_floor=0.1).card == THIRD_PARTY
    named = type("Named", (LRCSSP,), {"card": Card(lambda learner: LearnerCard(sees="contexts", guarantee="none"))})
    assert named(SUPPORT, 2, loss_floor=0.1).card.guarantee == "none"


@pytest.mark.parametrize(
    "change",
    [
        {"guarantee": "sworn"}, {"sees": "all"}, {"scale": "1"}, {"scale": True}, {"delta": "0.1"},
        {"others": {"a": "b"}}, {"has_known_test": 1}, {"more": 1}, {"theorem": THEOREM}, {"sees": "truth"},
    ],
)  # fmt: skip
def test_a_card_that_is_none_is_refused(change: dict[str, Any]) -> None:
    good = LearnerCard(guarantee="unproven", quantity="widths", constants="sharp", scale=0.5, delta=0.1).as_json()
    assert LearnerCard.from_json(good).as_json() == good
    with pytest.raises(InputError, match="the learner's card"):
        LearnerCard.from_json({**good, **change})


def test_of_cards_that_differ_the_weakest_guarantee_is_reported() -> None:
    proven = LearnerCard(guarantee="proven")
    assert weakest([proven, THIRD_PARTY, proven]) is THIRD_PARTY
