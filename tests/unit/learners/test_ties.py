"""Tied losses and rows: what they are, what a learner makes of them, and that pooled sets are those of one pair."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from goalbound import LRCSSP, Dirichlet, GreedyRidge, LinearCSSP, ModelEnvironment, PriorKnowledge, Step, Support, play
from goalbound import widths as rules
from goalbound.errors import ArgumentError
from goalbound.learners.ties import Groups, Ties, ties_of
from goalbound.problems import windy_grid
from goalbound.simulation import bernoulli
from goalbound.testing import check_learner
from tests.support.driving import reloaded, written

GRID = windy_grid(2, 4)
RULES = [rules.likelihood(), rules.sharp()]


def twins() -> LinearCSSP:
    """Two states with the same action, but for the names of next states, and one with another."""
    rows = {
        (0, 0): {1: [0.7, 0.2], 0: [0.3, 0.8]},
        (1, 0): {2: [0.7, 0.2], 1: [0.3, 0.8]},
        (2, 0): {3: [0.5, 0.9], 2: [0.5, 0.1]},
    }
    support = Support.from_pairs([{0: list(rows[state, 0])} for state in range(3)])
    losses = np.array([[0.3, 0.8], [0.3, 0.8], [0.3, 0.5]])
    table = [rows[pair, 0][int(t)] for pair in range(3) for t in support.next_state[support.row(pair)]]
    return LinearCSSP(support, losses, np.array(table), 0)


TWINS = twins()


def tied_twins() -> PriorKnowledge:
    nothing = PriorKnowledge.nothing(TWINS.support, 2)
    return nothing.with_tied_losses([[(0, 0), (1, 0)]]).with_tied_rows([{(0, 0): [1, 0], (1, 0): [2, 1]}])


def learner_of(problem: LinearCSSP, prior: PriorKnowledge | None, **others: Any) -> LRCSSP:
    settings = {"widths": rules.likelihood(), "loss_bound": 20.0, **others}
    return LRCSSP(problem.support, problem.context_size, loss_floor=0.1, prior=prior, **settings)


def tied_grid(**others: Any) -> LRCSSP:
    prior = PriorKnowledge.nothing(GRID.support, 3).with_ties_of(GRID)
    return learner_of(GRID, prior, **others)


def run(learner: Any, episodes: int, problem: LinearCSSP = GRID, **options: Any) -> Any:
    """Play; audited, which changes nothing of what is played: so published experiments do, and the compiled program is
    theirs. A program takes some 15 seconds to compile."""
    environment = partial(ModelEnvironment, problem, losses=bernoulli())
    source, options = Dirichlet.symmetric(problem.context_size), {"step_limit": 1000, "audit": True, **options}
    return play(problem, learner, source, episodes=episodes, environment=environment, **options)


def twin_steps(count: int, *, pair: int | None = None) -> list[tuple[Any, Step, int]]:
    """Steps of both twins in turn, or of one; with the outcome: 0 ahead, 1 stays."""
    rng = np.random.default_rng(5)
    steps = []
    for k in range(count):
        context, state = rng.dirichlet([1.0, 1.0]), k % 2 if pair is None else pair
        ahead = rng.random() < context @ [0.7, 0.2]
        loss = float(rng.random() < context @ [0.3, 0.8])
        steps.append((context, Step(state, 0, loss, state + 1 if ahead else state), int(not ahead)))
    return steps


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_sets_of_tied_pairs_are_those_of_one_pair_that_saw_all_steps(rule: Any) -> None:
    """A learner of a single pair, given the same shares of delta, is the witness. Its sharp sets are the same; its
    forecasts differ a little before all next states were seen."""
    atol = 1e-3 if rule.likelihood else 1e-12
    in_order = PriorKnowledge.nothing(TWINS.support, 2).with_tied_losses([[(0, 0), (1, 0)]])
    learner = learner_of(TWINS, in_order.with_tied_rows([[(0, 0), (1, 0)]]), widths=rule)
    single = LinearCSSP(Support.from_pairs([{0: [0, 1]}]), [[0.3, 0.8]], [[0.3, 0.8], [0.7, 0.2]], 0)
    witness = LRCSSP(single.support, 2, loss_floor=0.1, loss_bound=20.0, widths=rule)
    shares = learner._constants
    witness._constants = witness._constants._replace(
        intervals=shares.intervals,
        likelihood=witness._constants.likelihood._replace(
            loss_log=shares.likelihood.loss_log, row_log=shares.likelihood.row_log
        ),
    )
    for context, step, outcome in twin_steps(200):
        learner.learn(context, step)
        witness.learn(context, Step(0, 0, step.loss, 1 - outcome))
    for context in ([0.3, 0.7], [1.0, 0.0]):
        mine, theirs = learner.confidence_set(context), witness.confidence_set(context)
        np.testing.assert_allclose(mine.loss_low[:2], theirs.loss_low[0], rtol=0, atol=atol)
        np.testing.assert_allclose(mine.loss_high[:2], theirs.loss_high[0], rtol=0, atol=atol)
        # Next states of the twins in the order of the support: stay, ahead; those of the witness likewise.
        for place in range(4):
            np.testing.assert_allclose(mine.low[place], theirs.low[place % 2], rtol=0, atol=atol)
            np.testing.assert_allclose(mine.high[place], theirs.high[place % 2], rtol=0, atol=atol)


def test_shares_of_delta_are_divided_by_groups() -> None:
    """3 losses, 2 of them tied: 2 numbers instead of 3. 3 rows of two next states, likewise."""
    plain, tied = (learner_of(TWINS, prior)._constants.likelihood for prior in (None, tied_twins()))
    assert plain.loss_log - tied.loss_log == pytest.approx(np.log(3 / 2))
    assert plain.row_log - tied.row_log == pytest.approx(np.log(3 / 2))


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_whole_runs_keep_the_truth_in_all_sets(rule: Any) -> None:
    """delta is 0.1: of 20 runs more than 5 failures have a chance of at most 0.011."""
    failed = 0
    for seed in range(20):
        history = run(tied_grid(widths=rule), 60, seed=seed)
        failed += not history.diagnostics.covered
    print(f"{rule}: {failed} of 20 runs lost the truth")
    assert failed <= 5


def test_ties_learn_faster_and_end_at_the_same_policy() -> None:
    prior = PriorKnowledge.nothing(GRID.support, 3)
    tied, plain = (run(learner_of(GRID, one), 1500).expected_regret.sum() for one in (prior.with_ties_of(GRID), prior))
    assert tied < 0.4 * plain


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_both_loops_checkpoints_and_copies_give_the_same_run(rule: Any) -> None:
    one, other = tied_grid(widths=rule), tied_grid(widths=rule)
    run(one, 25)
    run(other, 25, compiled=False)
    assert written(one) == written(other)
    again = reloaded(one)
    assert written(again) == written(one)
    for learner in (one, again):
        run(learner, 10, seed=3)
    assert written(again) == written(one)


def test_the_learner_keeps_its_contract() -> None:
    def make(problem: LinearCSSP) -> LRCSSP:
        prior = PriorKnowledge.nothing(problem.support, problem.context_size).with_ties_of(problem)
        return LRCSSP(problem.support, problem.context_size, loss_floor=0.1, widths=rules.sharp(), prior=prior)

    check_learner(make)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_outcomes_in_another_order_leave_the_same_sums_and_wider_sets_until_they_come(rule: Any) -> None:
    """Two open episodes at tied pairs: the outcome of the later one counts the earlier visit as pending."""
    ordered, late = (learner_of(TWINS, tied_twins(), widths=rule) for _ in range(2))
    steps = twin_steps(30)
    for learner in (ordered, late):
        for context, step, _ in steps:
            learner.learn(context, step)
    before = late.confidence_set([0.4, 0.6])
    first, second = late.begin([0.2, 0.8]), late.begin([0.9, 0.1])
    first.act(0)
    second.act(1)
    second.observe(Step(1, 0, 1.0, 2))
    group = late._state.ties.pending
    assert group.visits.tolist()[:2] == [1, 1]  # of the loss, and of the row
    waiting = late.confidence_set([0.4, 0.6])
    assert (waiting.loss_high - waiting.loss_low)[0] > 0.9 * (before.loss_high - before.loss_low)[0]
    first.observe(Step(0, 0, 0.0, 0))
    assert group.visits.tolist()[:2] == [0, 0]
    ordered.learn([0.2, 0.8], Step(0, 0, 0.0, 0))
    ordered.learn([0.9, 0.1], Step(1, 0, 1.0, 2))
    mine, theirs = ordered._state.ties.regression, late._state.ties.regression
    np.testing.assert_allclose(mine.gram, theirs.gram, atol=1e-12)
    np.testing.assert_allclose(mine.loss_sums, theirs.loss_sums, atol=1e-12)


def test_merged_learners_have_the_groups_of_both() -> None:
    one, other, both = (learner_of(TWINS, tied_twins()) for _ in range(3))
    steps = twin_steps(60)
    for k, (context, step, _) in enumerate(steps):
        (one if k < 30 else other).learn(context, step)
        both.learn(context, step)
    one.merge(other)
    np.testing.assert_allclose(one._state.ties.regression.gram, both._state.ties.regression.gram, atol=1e-9)
    assert one._state.ties.regression.visits.tolist() == both._state.ties.regression.visits.tolist()
    context = [0.5, 0.5]
    mine, theirs = one.confidence_set(context), both.confidence_set(context)
    assert np.abs(mine.low - theirs.low).max() < 0.15  # forecasts of two halves are a little worse than of one whole


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_data_of_pairs_becomes_that_of_groups(rule: Any) -> None:
    """A learner without ties gives its data to one with: sums are those of a learner that had them from the start."""
    plain, tied = learner_of(TWINS, None, widths=rule), learner_of(TWINS, tied_twins(), widths=rule)
    for context, step, _ in twin_steps(80):
        plain.learn(context, step)
        tied.learn(context, step)
    changed = plain.with_settings(prior=tied_twins())
    for name in ("gram", "loss_sums", "next_sums"):
        found, wanted = getattr(changed._state.ties.regression, name), getattr(tied._state.ties.regression, name)
        rows = slice(1, None) if name == "next_sums" else slice(None)  # where the group of a loss leads says nothing
        np.testing.assert_allclose(found[rows], wanted[rows], atol=1e-12)
    wide, narrow = (one.confidence_set([0.5, 0.5]) for one in (plain, changed))
    assert (narrow.high - narrow.low)[:4].max() < 1.2 * (wide.high - wide.low)[:4].max()
    again = tied.with_settings(delta=0.05)
    np.testing.assert_array_equal(again._state.ties.likelihood.log_loss, tied._state.ties.likelihood.log_loss)
    np.testing.assert_allclose(again._state.ties.regression.gram, tied._state.ties.regression.gram, atol=1e-12)


def test_estimates_are_pooled() -> None:
    learner = learner_of(TWINS, tied_twins())
    for context, step, _ in twin_steps(400, pair=0):
        learner.learn(context, step)
    model = learner.estimate.model()
    np.testing.assert_allclose(model.losses[1], model.losses[0])
    np.testing.assert_allclose(model.probabilities[2:4], model.probabilities[:2])
    np.testing.assert_allclose(model.losses[0], [0.3, 0.8], atol=0.15)


def test_a_wrong_tie_raises_an_alarm() -> None:
    wrong = PriorKnowledge.nothing(TWINS.support, 2).with_tied_losses([[(0, 0), (2, 0)]])
    learner = learner_of(TWINS, wrong, widths=rules.sharp())
    rng = np.random.default_rng(0)
    log = []
    for k in range(3000):
        state = 0 if k % 2 else 2
        log.append(([0.0, 1.0], Step(state, 0, float(rng.random() < (0.9 if state == 0 else 0.1)), state + 1)))
    with pytest.warns(UserWarning, match="linear"):
        learner.learn_log(log)
    assert learner.alarm is not None


def test_equal_losses_and_rows_of_a_model_are_tied() -> None:
    found = ties_of(TWINS)
    assert found.losses.tolist() == [0, 0, -1]
    assert found.rows.tolist() == [0, 0, -1]
    grid = ties_of(GRID)
    assert grid.losses.max() == 1  # walking and drifting
    for group in range(int(grid.rows.max()) + 1):
        members = np.flatnonzero(grid.rows == group)
        tables = []
        for pair in members.tolist():
            row = GRID.support.row(pair)
            tables.append(GRID.probabilities[row][np.argsort(grid.places[row])])
        np.testing.assert_allclose(tables[1:], np.broadcast_to(tables[0], (len(tables) - 1, *tables[0].shape)))


def test_groups_are_pairs_of_a_support_of_their_own() -> None:
    groups = Groups.of(TWINS.support, tied_twins()._ties)
    assert (groups.losses, groups.count) == (1, 2)
    assert np.diff(groups.support.next_start).tolist() == [1, 2]
    assert groups.members[0].tolist() == [0, 2, 4]
    assert groups.members[1].tolist() == [0, 1, 0, 1]
    assert groups.classes.tolist() == [0, 0, 2]
    assert Ties.none(TWINS.support).losses.max() == -1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda prior: prior.with_tied_losses([[(0, 0)]]), "two pairs or more"),
        (lambda prior: prior.with_tied_losses({(0, 0): (1, 0)}), "no sequence of groups"),
        (lambda prior: prior.with_tied_losses([[(0, 0), (1, 0)], [(1, 0), (2, 0)]]), "tied twice"),
        (lambda prior: prior.with_tied_losses([[(0, 0), (0, 0)]]), "tied twice"),
        (lambda prior: prior.with_tied_rows([{(0, 0): [0, 2], (1, 0): [2, 1]}]), "are given as"),
    ],
)
def test_ties_that_mean_nothing_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make(PriorKnowledge.nothing(TWINS.support, 2))


def test_rows_of_different_lengths_cannot_be_tied() -> None:
    support = Support.from_pairs([{0: [0, 1]}, {0: [0, 1, 2]}])
    with pytest.raises(ArgumentError, match=r"has 2 next states .* has 3"):
        PriorKnowledge.nothing(support, 2).with_tied_rows([[(0, 0), (1, 0)]])


def test_ties_with_what_is_known_or_free_of_noise_are_checked() -> None:
    tied = PriorKnowledge.nothing(TWINS.support, 2).with_tied_losses([[(0, 0), (1, 0)]])
    with pytest.raises(ArgumentError, match="is known, and tied"):
        learner_of(TWINS, tied.with_losses({(0, 0): 0.5}))
    with pytest.raises(ArgumentError, match="only the first is said to be free of noise"):
        learner_of(TWINS, tied.with_noise_free_losses([(0, 0)]))
    learner_of(TWINS, tied.with_noise_free_losses())


def test_learners_that_cannot_use_ties_say_so() -> None:
    with pytest.raises(ArgumentError, match="paper widths cannot use them"):
        learner_of(TWINS, tied_twins(), widths=rules.paper())
    with pytest.raises(ArgumentError, match="a learner that is greedy cannot use them"):
        GreedyRidge(TWINS.support, 2, loss_floor=0.1, prior=tied_twins())


def test_tied_losses_without_noise_share_their_equations() -> None:
    learner = learner_of(TWINS, tied_twins().with_noise_free_losses())
    learner.learn([1.0, 0.0], Step(0, 0, 0.3, 1))
    learner.learn([0.0, 1.0], Step(1, 0, 0.8, 2))
    sets = learner.confidence_set([0.5, 0.5])
    np.testing.assert_allclose(sets.loss_low[:2], 0.55, atol=1e-6)
    with pytest.raises(ArgumentError, match="it and the losses it is tied to were"):
        learner.learn([0.5, 0.5], Step(0, 0, 0.6, 1))


def test_a_larger_support_keeps_ties_of_pairs_that_lead_no_further() -> None:
    learner = learner_of(TWINS, tied_twins())
    for context, step, _ in twin_steps(20):
        learner.learn(context, step)
    pairs = [{0: [0, 1]}, {0: [1, 2]}, {0: [2, 4], 1: [3]}, {0: [4]}]
    larger = learner.extended(Support.from_pairs(pairs))
    assert larger._state.ties.regression.visits.tolist()[:2] == [20, 20]
    with pytest.raises(ArgumentError, match="is tied to others, and has more next states"):
        learner.extended(Support.from_pairs([{0: [0, 1, 3]}, {0: [1, 2]}, {0: [2, 3]}]))
