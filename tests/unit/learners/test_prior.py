"""What users know of single pairs: used as it is, checked at the door, kept in files, and worth something."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound import LRCSSP, Dirichlet, ModelEnvironment, PriorKnowledge, Support, play
from goalbound.confidence import likelihood, paper, sharp
from goalbound.errors import FileFormatError, InputError
from goalbound.learners.settings import LearnerOptions
from goalbound.models import LinearCSSP, Step
from goalbound.planning import solve
from goalbound.problems import dense_random
from goalbound.simulation import bernoulli
from tests.support.driving import Clinic, reloaded, written
from tests.support.ridge import lr_cssp

PROBLEM = dense_random(3, actions=2, context_size=2, seed=4)
SUPPORT = PROBLEM.support
NOTHING = PriorKnowledge.nothing(SUPPORT, 2)
PAIRS = [(int(s), int(a)) for s, a in zip(SUPPORT.pair_state, SUPPORT.pair_action, strict=True)]
ROWS = {pair: PROBLEM.probabilities[SUPPORT.row(i)] for i, pair in enumerate(PAIRS)}
"""All rows are full: [S + 1, d]."""
GIVEN: dict[str, Any] = {"loss_floor": 0.1, "loss_bound": 6.0}


def learner_of(prior: PriorKnowledge | None, **others: Any) -> LRCSSP:
    return lr_cssp(SUPPORT, 2, **{"widths": sharp(), **GIVEN, **others}, prior=prior)


def regret(prior: PriorKnowledge | None, *, episodes: int = 150, **others: Any) -> float:
    history = play(
        PROBLEM, learner_of(prior, **others), Dirichlet.symmetric(2), episodes=episodes, seed=2,
        environment=lambda rng: ModelEnvironment(PROBLEM, losses=bernoulli(), rng=rng),
    )  # fmt: skip
    return history.total_expected_regret


def test_what_is_known_has_intervals_of_no_length() -> None:
    known = NOTHING.with_losses({(1, 0): [0.3, 0.7], (2, 1): 0.5}).with_rows({(0, 1): ROWS[0, 1]})
    learner = Clinic(PROBLEM, learner_of(known), beds=1).run(60).learner
    found, context = learner.confidence_set([0.25, 0.75]), np.array([0.25, 0.75])
    for pair, loss in ((SUPPORT.pair(1, 0), 0.6), (SUPPORT.pair(2, 1), 0.5)):  # 0.25 * 0.3 + 0.75 * 0.7 = 0.6
        assert (found.loss_low[pair], found.loss_high[pair]) == pytest.approx((loss, loss))
    row = SUPPORT.row(SUPPORT.pair(0, 1))
    np.testing.assert_allclose(found.low[row], ROWS[0, 1] @ context, rtol=1e-14)
    np.testing.assert_array_equal(found.low[row], found.high[row])
    others = [i for i in range(SUPPORT.pairs) if PAIRS[i] != (0, 1)]
    assert all((found.high[SUPPORT.row(i)] > found.low[SUPPORT.row(i)]).all() for i in others)


@pytest.mark.parametrize("widths", [sharp(), likelihood(), paper()], ids=str)
def test_known_losses_and_rows_are_those_of_the_plan(widths: Any) -> None:
    known = NOTHING.with_losses(PROBLEM.losses).with_rows({(0, 0): ROWS[0, 0], (1, 1): [0.0, 0.0, 1.0, 0.0]})
    plan = learner_of(known, widths=widths).plan([0.5, 0.5])
    np.testing.assert_allclose(plan.losses, PROBLEM.losses @ [0.5, 0.5], rtol=1e-14)
    np.testing.assert_allclose(plan.rows[SUPPORT.row(0)], ROWS[0, 0] @ [0.5, 0.5], rtol=1e-12)
    assert plan.rows[SUPPORT.row(SUPPORT.pair(1, 1))].tolist() == [0.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("widths", [sharp(), likelihood(), paper()], ids=str)
def test_floors_are_the_least_losses_of_their_pairs(widths: Any) -> None:
    learner = learner_of(NOTHING.with_floors({(0, 1): 0.4}).with_floors({(2, 0): 0.05}), widths=widths)
    losses = learner.plan([0.5, 0.5]).losses
    assert losses[SUPPORT.pair(0, 1)] == 0.4
    assert losses[SUPPORT.pair(2, 0)] == 0.1  # the loss floor of all pairs is higher


def test_what_is_added_where_losses_may_be_zero_is_added_to_what_is_known_too() -> None:
    known = NOTHING.with_losses({(0, 0): 0.3}).with_floors({(0, 1): 0.2})
    learner = LRCSSP(SUPPORT, 2, loss_floor=0.0, options=LearnerOptions(episodes=10**6), widths=sharp(), prior=known)
    assert 0.0 < learner.added_loss < 0.5
    assert learner.plan([0.5, 0.5]).losses[:2] == pytest.approx([0.3 + learner.added_loss, 0.2 + learner.added_loss])


@pytest.mark.parametrize("widths", [sharp(), likelihood(), paper()], ids=str)
def test_with_everything_known_the_learner_plays_optimally_from_the_first_episode(widths: Any) -> None:
    known = NOTHING.with_losses(PROBLEM.losses).with_rows(ROWS)
    learner = learner_of(known, widths=widths, tolerance=1e-9)
    for weight in (0.0, 0.3, 1.0):
        exact = solve(PROBLEM.at([weight, 1.0 - weight]))
        plan = learner.plan([weight, 1.0 - weight])
        np.testing.assert_allclose(plan.values, exact.values, rtol=1e-8)
        assert plan.policy.tolist() == exact.policy.tolist()
        assert plan.known.all()
    history = play(PROBLEM, learner, Dirichlet.symmetric(2), episodes=40, seed=1)
    assert history.total_expected_regret <= 1e-6
    assert (history.intervals == 1).all()  # nothing is unknown, so no plan is made twice
    assert not history.unknown_steps.any()


def test_what_is_known_needs_no_share_of_the_failure_probability() -> None:
    # 6 pairs with 4 next states each. delta = 0.1 is shared by 24 rows and 6 losses; with 2 rows and 5 losses known
    # by 16 and 1.
    nothing, something = learner_of(None)._constants, learner_of(
        NOTHING.with_rows({pair: ROWS[pair] for pair in PAIRS[:2]}).with_losses(dict.fromkeys(PAIRS[:5], 0.5))
    )._constants  # fmt: skip
    assert nothing.sets.sharp.row_log == pytest.approx(math.log(16 * 24 / 0.1))
    assert something.sets.sharp.row_log == pytest.approx(math.log(16 * 16 / 0.1))
    assert nothing.sets.sharp.loss_log == pytest.approx(math.log(8 * 6 / 0.1))
    assert something.sets.sharp.loss_log == pytest.approx(math.log(8 * 1 / 0.1))
    # So the intervals of all others are shorter, from the same data.
    known = NOTHING.with_rows({PAIRS[0]: ROWS[PAIRS[0]]}).with_losses({PAIRS[0]: 0.5})
    widths = []
    for given in (None, known):
        learner = learner_of(given, loss_bound=6.0)
        for k in range(300):
            pair = 1 + k % 5
            state, action = PAIRS[pair]
            episode = learner.begin([0.5, 0.5])
            episode.act(state)
            episode._action = action
            episode.observe(Step(state, action, 0.5, k % 4))
        found = learner.confidence_set([0.5, 0.5])
        widths.append((found.high - found.low)[SUPPORT.row(1)])
    assert (widths[1] < widths[0]).all()


def test_knowing_more_costs_less() -> None:
    nothing = regret(None)
    losses, rows = regret(NOTHING.with_losses(PROBLEM.losses)), regret(NOTHING.with_rows(ROWS))
    everything = regret(NOTHING.with_losses(PROBLEM.losses).with_rows(ROWS), tolerance=1e-9)
    assert losses < 0.9 * nothing
    assert rows < 0.9 * nothing
    assert everything <= 1e-6


def test_optimism_is_kept_with_true_knowledge() -> None:
    known = NOTHING.with_losses({PAIRS[3]: PROBLEM.losses[3]}).with_rows({PAIRS[1]: ROWS[PAIRS[1]]})
    known = known.with_floors(PROBLEM.losses.min(axis=1))
    clinic = Clinic(PROBLEM, learner_of(known), beds=2)
    for _ in range(10):
        clinic.run(40)
        for weight in (0.0, 0.4, 1.0):
            context = [weight, 1.0 - weight]
            assert clinic.learner.confidence_set(context).contains(PROBLEM.at(context))
            assert (clinic.learner.plan(context).values <= solve(PROBLEM.at(context)).values + 1e-9).all()


@pytest.mark.parametrize("widths", [sharp(), likelihood(), paper()], ids=str)
def test_what_a_known_row_excludes_is_an_error_and_is_not_recorded(widths: Any) -> None:
    known = NOTHING.with_rows({(0, 0): [0.0, 0.5, 0.0, 0.5], (0, 1): [0.0, 0.5, 0.0, 0.5]})
    learner = learner_of(known, widths=widths)
    episode = learner.begin([0.5, 0.5])
    action = episode.act(0)
    before = written(learner)
    for following in (0, 2):
        message = f"state 0, action {action} led to state {following}, which the row .* excludes; nothing was recorded"
        with pytest.raises(InputError, match=message):
            episode.observe(Step(0, action, 0.5, following))
    assert written(learner) == before
    assert learner.statistics.visits.sum() == 0
    assert episode.state == 0
    episode.observe(Step(0, action, 0.5, 1))  # the episode goes on
    assert learner.statistics.visits.sum() == 1


def test_a_problem_that_a_known_row_excludes_is_an_error() -> None:
    NOTHING.with_rows(ROWS).check_problem(PROBLEM)
    NOTHING.check_problem(PROBLEM)
    wrong = NOTHING.with_rows({(1, 0): [0.0, 0.5, 0.0, 0.5]})
    with pytest.raises(
        InputError, match=r"state 1, action 0 may lead to state 0 in the problem, which the row .* excl"
    ):
        wrong.check_problem(PROBLEM)
    sparse = LinearCSSP.dense([[[0.5]]], [[[[0.0, 1.0]]]])  # it may stay, with probability 0
    PriorKnowledge.nothing(sparse.support, 1).with_rows({(0, 0): [0.0, 1.0]}).check_problem(sparse)


@pytest.mark.parametrize(
    ("tell", "message"),
    [
        (lambda: NOTHING.with_losses({(0, 0): 1.5}), r"the loss of state 0, action 0: loss 1.5 is not in \[0, 1\]"),
        (lambda: NOTHING.with_losses({(0, 0): math.nan}), "the loss of state 0, action 0: loss nan is not in"),
        (lambda: NOTHING.with_losses({(0, 0): [0.1, 0.2, 0.3]}), r"is \[0.1, 0.2, 0.3\]; it is one number, or .* of 2"),
        (lambda: NOTHING.with_losses({(0, 0): "free"}), "the loss of state 0, action 0 is not an array of numbers"),
        (lambda: NOTHING.with_losses({(0, 7): 0.5}), "no action 7; they are 0 to 1"),
        (lambda: NOTHING.with_losses({3: 0.5}), r"losses has the key 3; keys are pairs: \(state, action\)"),
        (lambda: NOTHING.with_losses([0.5, 0.5]), r"losses has shape \(2,\); give \[N\] = \(6,\) or \[N, d\], or"),
        (lambda: NOTHING.with_floors({(0, 0): -0.1}), "the floor of state 0, action 0: floor -0.1 is not in"),
        (lambda: NOTHING.with_floors({(0, 0): []}), r"the floor of state 0, action 0 is \[\]; it is one number"),
        (lambda: NOTHING.with_rows({(0, 0): [0.5, 0.5]}), r"has shape \(2, 2\); it needs \[S \+ 1\] or \[S \+ 1, d\]"),
        (lambda: NOTHING.with_rows({(0, 0): [0.5, 0.4, 0.0, 0.0]}), "the row of state 0, action 0 sums to 0.9, not 1"),
        (lambda: NOTHING.with_rows({(0, 0): [1.5, -0.5, 0, 0]}), "action 0, next state 0: probability 1.5 is not in"),
        (lambda: NOTHING.with_rows([[0.0, 0.0, 0.0, 1.0]]), r"rows has shape \(1, 4\); give \[M\] = "),
        (lambda: NOTHING.with_rows({0: [0.0, 0.0, 0.0, 1.0]}), "rows has the key 0; keys are pairs"),
        (lambda: NOTHING.with_rows({(0, 0): "home"}), "the row of state 0, action 0 is not an array of numbers"),
    ],
)  # fmt: skip
def test_what_cannot_be_known_is_an_error_that_says_where(tell: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        tell()


def test_a_row_outside_the_support_is_an_error() -> None:
    support = Support.from_pairs([{0: [1, 2]}, {0: [2]}])
    with pytest.raises(InputError, match="the row of state 0, action 0 leads to state 0, which the support does not"):
        PriorKnowledge.nothing(support, 1).with_rows({(0, 0): [0.5, 0.5, 0.0]})


def test_a_known_loss_below_its_floor_is_an_error() -> None:
    # Taken as it is, one of the two would be silently dropped.
    low = NOTHING.with_losses({(1, 1): [0.5, 0.05]})
    with pytest.raises(
        InputError, match=r"the loss of state 1, action 1 is said to be 0.05, below its floor 0.1; lower"
    ):
        learner_of(low)
    learner_of(low, loss_floor=0.05)
    with pytest.raises(InputError, match=r"is said to be 0.3, below its floor 0.4"):
        learner_of(NOTHING.with_losses({(0, 0): 0.3}).with_floors({(0, 0): 0.4}))


def test_knowledge_of_another_support_or_size_is_an_error() -> None:
    for known in (PriorKnowledge.nothing(SUPPORT, 3), PriorKnowledge.nothing(Support.full(2, 2), 2)):
        with pytest.raises(InputError, match="the prior is of another support or context size"):
            learner_of(known)


def test_it_is_frozen_and_added_to_by_new_ones() -> None:
    more = NOTHING.with_losses({(0, 0): 0.5})
    assert not NOTHING.loss_known.any()
    assert more != NOTHING
    assert more == NOTHING.with_losses({(0, 0): [0.5, 0.5]})
    with pytest.raises(ValueError, match="read-only"):
        more.losses[0] = 0.1


def test_a_checkpoint_keeps_what_the_learner_was_reported(tmp_path: Path) -> None:
    known = NOTHING.with_losses({(0, 0): 0.5}).with_rows({(0, 1): ROWS[0, 1]}).with_floors({(2, 1): 0.15})
    for given in (known, NOTHING, None):
        learner = Clinic(PROBLEM, learner_of(given), beds=1).run(31).learner
        again = reloaded(learner)
        assert again.prior == given
        assert written(again) == written(learner)
    learner_of(known).save(tmp_path / "learner")
    assert learner_of(known).restored(tmp_path / "learner").prior == known
    with pytest.raises(FileFormatError, match="has other settings"):
        learner_of(NOTHING).restored(tmp_path / "learner")


def test_the_compiled_loop_refuses_a_problem_that_a_known_row_excludes() -> None:
    problem = dense_random(2, actions=1, context_size=2, seed=0)
    given = PriorKnowledge.nothing(problem.support, 2).with_rows({(0, 0): [0.0, 0.0, 1.0]})
    learner = LRCSSP(problem.support, 2, loss_floor=0.1, loss_bound=50.0, widths=sharp(), prior=given)
    with pytest.raises(InputError, match=r"may lead to state 0 in the problem, which the row .* excludes"):
        play(problem, learner, Dirichlet.symmetric(2), episodes=2)
    assert learner.statistics.visits.sum() == 0


def test_a_next_state_that_only_another_component_allows_is_refused_under_this_context() -> None:
    support = Support.full(1, 1)
    given = PriorKnowledge.nothing(support, 2).with_rows(
        {(0, 0): [[0.0, 0.5], [1.0, 0.5]]}
    )  # it stays in the second only
    learner = LRCSSP(support, 2, loss_floor=0.1, prior=given)
    first = learner.begin([1.0, 0.0])
    first.act(0)
    with pytest.raises(InputError, match="nothing was recorded"):
        first.observe(Step(0, 0, 0.5, 0))
    mixed = learner.begin([0.5, 0.5])
    mixed.act(0)
    mixed.observe(Step(0, 0, 0.5, 0))
    # what came of the first visit is not known: it counts, as one that may have been anything
    assert (learner.statistics.visits.tolist(), learner.statistics.pending.tolist()) == ([2], [1])


def test_a_problem_without_contexts_is_a_guess_for_all_of_them() -> None:
    problem = PROBLEM.component(0)
    guess = PriorKnowledge.around(problem, strength=4, context_size=3)
    assert guess == PriorKnowledge.nothing(SUPPORT, 3).with_model(problem, strength=4)
    with pytest.raises(InputError, match="context_size is missing: model is an SSP"):
        PriorKnowledge.around(problem, strength=4)
    with pytest.raises(InputError, match="model has 2 components, contexts have 3"):
        PriorKnowledge.around(PROBLEM, strength=4, context_size=3)


NAMED = Support.from_names({"new": {"ask": ["new", "open", "goal"]}, "open": {"close": ["open", "goal"]}})


def test_it_is_printed_in_one_line() -> None:
    assert repr(PriorKnowledge.nothing(NAMED, 2)) == (
        "PriorKnowledge(Support(2 states, 2 pairs, 5 next states), 2 components, nothing known)"
    )
    known = PriorKnowledge.nothing(NAMED, 2).with_losses({("new", "ask"): 0.2}).with_floors({("open", "close"): 0.1})
    assert repr(known).endswith("2 components, losses known: 1, floors: 1)")
