"""The sums of one learner in another: added, on a larger support, under other settings. A witness adds them densely."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound import widths
from goalbound.confidence.regression import UNIT
from goalbound.errors import ArgumentError, LearnerError
from goalbound.learners.learner import RidgeLearner
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.ridge import EpsilonGreedy, GreedyRidge, KwikRmax, PosteriorSampling
from goalbound.learners.settings import LearnerOptions
from goalbound.models import Step, Support
from tests.support.driving import reloaded, written
from tests.support.seen_steps import RAGGED, Seen, some_steps, steps_of
from tests.support.strategies import contexts

SHARP, PAPER = widths.sharp(), widths.paper()
LARGE = Support.from_pairs(
    [
        {1: [0, 4]},  # led to the goal alone before
        {0: [4], 3: [0, 1, 2, 3, 4]},
        {0: [0, 4], 2: [0, 1, 2, 3, 4], 3: [4]},  # (a, z) may lead to the new state
        {0: [2, 3, 4]},  # could not lead to the goal before
    ],
    state_names=["b", "new", "a", "c"],
    action_names=["x", "y", "z", "w"],
)
GUESS = PriorKnowledge.nothing(RAGGED, 2).with_guesses(
    {("a", "x"): 0.4}, {("a", "x"): [0.0, 0.5, 0.0, 0.5]}, strength=5
)


def a_learner(support: Support = RAGGED, size: int = 2, **more: Any) -> LRCSSP:
    return LRCSSP(support, size, **{"loss_floor": 0.1, **more})


def learned(seen: Seen, **more: Any) -> LRCSSP:
    learner = a_learner(**more)
    learner.learn_log(seen)
    return learner


def named(support: Support, step: Step) -> tuple[int, int]:
    """The pair and the triple of a step of RAGGED in another support, by names."""
    names, actions = [*(RAGGED.state_names or ()), "goal"], RAGGED.action_names or ()
    pair = support.pair(names[int(step.state)], actions[int(step.action)])
    row = support.row(pair)
    return pair, row.start + support.next_state[row].tolist().index(support.state(names[int(step.next_state)]))


def assert_sums_of(learner: RidgeLearner, seen: Seen, *, ridge: float = 1.0) -> None:
    """The witness: dense sums of all steps, in the order in which they were made."""
    support, size, pooled = learner.support, learner.context_size, learner.settings.prior_visits
    prior = ridge * np.eye(size) + (0.0 if pooled is None else pooled / size - ridge) / size
    gram = np.repeat(prior[None], support.pairs, axis=0)
    visits, losses = np.zeros(support.pairs, dtype=int), np.zeros((support.pairs, size))
    following = np.zeros((support.triples, size))
    for context, step in seen:
        pair, place = named(support, step)
        visits[pair] += 1
        gram[pair] += np.outer(context, context)
        losses[pair] += step.loss * context
        following[place] += context
    found = learner.statistics
    np.testing.assert_array_equal(found.visits, visits)
    for name, expected in (("gram", gram), ("loss_sums", losses), ("next_sums", following)):
        np.testing.assert_allclose(getattr(found, name), expected, rtol=1e-13, atol=1e-13, err_msg=name)
    np.testing.assert_allclose(found.inverse_gram, np.linalg.inv(gram), rtol=1e-9, atol=1e-12)
    exact = np.linalg.slogdet(gram)[1] - np.linalg.slogdet(prior)[1]
    assert (learner._state.log_det >= exact - 1e-12).all()
    np.testing.assert_allclose(learner._state.log_det, exact, atol=1e-9)


def logs(size: int) -> st.SearchStrategy[Seen]:
    return st.lists(st.tuples(contexts(size), steps_of(RAGGED)), max_size=15)


@pytest.mark.parametrize("size", [1, 3])
@given(data=st.data(), rule=st.sampled_from([PAPER, SHARP, widths.likelihood()]))
def test_sums_that_are_merged_extended_and_resettled_are_those_of_all_steps(
    size: int, data: st.DataObject, rule: widths.Widths
) -> None:
    first, second = data.draw(logs(size)), data.draw(logs(size))
    one, other = a_learner(size=size, widths=rule), a_learner(size=size, widths=rule)
    one.learn_log(first)
    other.learn_log(second)
    before = written(other)
    one.merge(other)
    assert written(other) == before
    assert_sums_of(one, [*first, *second])
    kept = written(one)
    larger = one.extended(LARGE)
    assert_sums_of(larger, [*first, *second])
    flatter = larger.with_settings(options=LearnerOptions(regularization=0.25))
    assert_sums_of(flatter, [*first, *second], ridge=0.25)
    assert written(reloaded(flatter)) == written(flatter)
    assert written(one) == kept


KINDS: dict[str, Any] = {
    "greedy": lambda: GreedyRidge(RAGGED, 2, loss_floor=0.1),
    "epsilon": lambda: EpsilonGreedy(RAGGED, 2, loss_floor=0.1, rng=np.random.default_rng(1)),
    "ps": lambda: PosteriorSampling(RAGGED, 2, loss_floor=0.1, rng=np.random.default_rng(1)),
    "kwik": lambda: KwikRmax(RAGGED, 2, loss_floor=0.1, options=LearnerOptions(regularization=0.5)),
    "paper": lambda: a_learner(widths=PAPER),
    "sharp": lambda: a_learner(widths=SHARP),
}


@given(some_steps, st.sampled_from(sorted(KINDS)), st.sampled_from(sorted(KINDS)))
def test_the_data_of_any_kind_serves_any_other(seen: Seen, of: str, to: str) -> None:
    source, target, twin = KINDS[of](), KINDS[to](), KINDS[to]()
    source.learn_log(seen)
    target.merge(source)
    twin.learn_log(seen)
    assert_sums_of(target, seen, ridge=target.settings.regularization)
    np.testing.assert_allclose(target.estimate.rows, twin.estimate.rows, atol=1e-8)
    np.testing.assert_allclose(target.estimate.losses, twin.estimate.losses, atol=1e-12)


@given(some_steps, some_steps)
def test_a_guess_is_no_data_and_one_that_both_have_counts_once(first: Seen, second: Seen) -> None:
    one, other, whole = (GreedyRidge(RAGGED, 2, loss_floor=0.1, prior=GUESS) for _ in range(3))
    one.learn_log(first)
    other.learn_log(second)
    whole.learn_log([*first, *second])
    one.merge(other)
    np.testing.assert_allclose(one.estimate.rows, whole.estimate.rows, atol=1e-9)
    np.testing.assert_allclose(one.statistics.gram, whole.statistics.gram, atol=1e-13)
    plain = a_learner(widths=SHARP)
    plain.merge(one)
    assert_sums_of(plain, [*first, *second])
    assert_sums_of(one.with_settings(prior=None), [*first, *second], ridge=one.settings.regularization)


def waiting(ridge: float, lost: list[list[float]]) -> LRCSSP:
    learner = a_learner(options=LearnerOptions(regularization=ridge))
    for context in lost:
        episode = learner.begin(context)
        episode.act("a", allowed=["z"])
        episode.abandon("lost")
    return learner


@pytest.mark.parametrize("ridge", [0.01, 0.5, 100.0])
def test_visits_without_an_outcome_weigh_at_least_as_much_as_they_must(ridge: float) -> None:
    """The norms of their contexts in the inverse of the Gram matrix of all of them, under the ridge of now."""
    mine, theirs = [[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5]]
    one, other = waiting(1.0, mine), waiting(2.0, theirs)
    one.merge(other)
    found = one.extended(LARGE).with_settings(options=LearnerOptions(regularization=ridge))
    pair, lost = LARGE.pair("a", "z"), np.array(mine + theirs)
    inverse = np.linalg.inv(ridge * np.eye(2) + lost.T @ lost)
    least = sum(float(np.sqrt(context @ inverse @ context)) for context in lost)
    pending = found._state.pending
    assert (pending.visits[pair], found.statistics.visits[pair]) == (3, 3)
    assert pending.norms[pair] * UNIT >= least - 1e-9
    np.testing.assert_allclose(pending.contexts[pair] * UNIT, lost.sum(axis=0), atol=4 * UNIT)
    assert found.abandoned == {"lost": 3}
    assert written(reloaded(found)) == written(found)


def test_what_cannot_be_merged_is_said_and_changes_nothing() -> None:
    one = learned([(np.array([0.5, 0.5]), Step(0, 0, 0.5, 1))])
    before, busy = written(one), a_learner()
    held = busy.begin([0.5, 0.5], id="case 17")
    forgetting = a_learner(options=LearnerOptions(forget=True))
    told = a_learner(prior=PriorKnowledge.nothing(RAGGED, 2).with_rows({("a", "x"): [0.0, 0.0, 0.0, 1.0]}))
    for mine, other, error, message in (
        (one, one, ArgumentError, "with itself"),
        (one, None, ArgumentError, "other is"),
        (one, a_learner(size=3), ArgumentError, "other knows contexts of 3 entries, this one of 2"),
        (one, a_learner(LARGE), ArgumentError, r"another support.*other.extended\(support\)"),
        (one, busy, LearnerError, r"other has open episodes \('case 17'\).*abandon\(reason\) them"),
        (one, forgetting, LearnerError, "other has forget=True"),
        (forgetting, one, LearnerError, "the learner has forget=True"),
        (told, one, ArgumentError, r'led to state 1 \("b"\), which the row'),
    ):
        kept = written(mine)
        with pytest.raises(error, match=message):
            mine.merge(other)  # type: ignore[arg-type]
        assert written(mine) == kept
    assert written(one) == before
    assert not held.ended
    one.merge(copy.deepcopy(one))  # nothing tells a copy from a learner that saw the like
    assert one.statistics.visits.sum() == 2


@pytest.mark.parametrize(
    ("support", "said"),
    [
        (
            Support.from_pairs([{0: [1]}], state_names=["a"], action_names=["x"]),
            'the learner: state "b" is not in the support',
        ),
        (
            Support.from_pairs([{0: [3]}, {0: [3]}, {0: [3]}], state_names=["a", "b", "c"], action_names=["x"]),
            'the learner: action "y" is not in the support',
        ),
        (Support.full(2, 3), "the learner: state 2 is not in the support, whose last is 1"),
        (Support.from_pairs([{0: [1, 3], 2: [3]}, {1: [3]}, {0: [3]}]), "which the support does not allow"),
        (
            Support.from_pairs([{0: [1, 3]}, {1: [3], 2: [3]}, {0: [3]}]),
            'the learner: state 0 ("a"), action 2 ("z") is not in the support',
        ),
    ],
)
def test_a_support_that_lacks_something_is_refused(support: Support, said: str) -> None:
    with pytest.raises(ArgumentError) as error:
        a_learner().extended(support)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"delta": 2.0}, "delta"),
        ({"loss_floor": None}, "loss_floor"),
        ({"loss_bound": 0.5}, "loss_bound"),
        ({"widths": None}, "widths"),
        ({"prior": "nothing"}, "prior"),
        ({"prior": PriorKnowledge.nothing(Support.full(2, 2), 2)}, "prior is of another support"),
        ({"options": None}, "options"),
        ({"options": LearnerOptions(forget=True)}, "forget=True"),
        ({"widths": PAPER, "options": LearnerOptions(regularization=1e6)}, "regularization"),
        (
            {"prior": PriorKnowledge.nothing(RAGGED, 2).with_rows({("a", "x"): [0.0, 0.0, 0.0, 1.0]})},
            'led to state 1 ("b"), which the row',
        ),
    ],
)
def test_settings_that_cannot_be_are_refused(change: dict[str, Any], said: str) -> None:
    source = learned([(np.array([0.5, 0.5]), Step(0, 0, 0.25, 1))])
    with pytest.raises(ArgumentError) as error:
        source.with_settings(**change)
    assert said in str(error.value)


@pytest.mark.parametrize("name", ["loss_bound", "widths", "delta"])
def test_what_a_learner_does_not_have_cannot_be_changed(name: str) -> None:
    changes: dict[str, Any] = {"loss_bound": 2.0, "widths": SHARP, "delta": 0.2}
    with pytest.raises(ArgumentError, match=f"{name} is a setting of LRCSSP; a GreedyRidge has none"):
        GreedyRidge(RAGGED, 2, loss_floor=0.1).with_settings(**{name: changes[name]})


def test_open_episodes_are_named_and_data_that_is_forgotten_stays() -> None:
    learner = a_learner()
    held = [learner.begin([0.5, 0.5], id="case 17"), learner.begin([0.5, 0.5])]
    forgetting = a_learner(options=LearnerOptions(forget=True))
    for move in (lambda one: one.extended(LARGE), lambda one: one.with_settings(delta=0.2)):
        with pytest.raises(LearnerError, match=r"open episodes \('case 17', number 1\)"):
            move(learner)
        with pytest.raises(LearnerError, match="the learner has forget=True"):
            move(forgetting)
    assert len(held) == 2


def test_what_was_known_beforehand_is_still_known_and_new_next_states_of_it_cannot_follow() -> None:
    prior = PriorKnowledge.nothing(RAGGED, 2).with_rows({("a", "z"): [0.2, 0.3, 0.0, 0.5]})
    prior = prior.with_losses({("c", "x"): [0.2, 0.4]}).with_floors({("b", "y"): 0.3})
    known = a_learner(prior=prior).extended(LARGE).prior
    assert known is not None
    assert np.flatnonzero(known.row_known).tolist() == [LARGE.pair("a", "z")]
    assert known.rows[LARGE.row(LARGE.pair("a", "z"))].T.tolist() == [[0.3, 0.0, 0.2, 0.0, 0.5]] * 2  # b, new, a, c
    assert np.flatnonzero(known.loss_known).tolist() == [LARGE.pair("c", "x")]
    assert known.losses[LARGE.pair("c", "x")].tolist() == [0.2, 0.4]
    assert known.floors[LARGE.pair("b", "y")] == 0.3
    assert known.floors.sum() == 0.3


def test_counters_the_loss_bound_and_reasons_go_on_and_add_up() -> None:
    one, other = a_learner(widths=PAPER), a_learner(widths=PAPER)
    for learner, episodes in ((one, 5), (other, 3)):
        for number in range(episodes):
            episode = learner.begin([0.5, 0.5])
            episode.act("c")
            episode.observe(Step(2, 0, 1.0, 0))
            episode.abandon(f"reason {number % 2}")
    one._state.totals["loss_bound"], other._state.totals["loss_bound"] = 4.0, 8.0
    intervals = one.intervals + other.intervals
    one.merge(other)
    for found in (one, one.extended(LARGE), one.with_settings(delta=0.2)):
        assert (found.intervals, found.loss_bound) == (intervals, 8.0)
        assert found.abandoned == {"reason 0": 5, "reason 1": 3}
        assert found.begin([0.5, 0.5]).number == 8
    assert a_learner(loss_bound=20.0).with_settings(loss_bound=None).loss_bound == 1.0


@pytest.mark.parametrize("kind", [LRCSSP, GreedyRidge, PosteriorSampling])
def test_it_goes_on_from_its_file_bit_for_bit(kind: Any, tmp_path: Path) -> None:
    more: dict[str, Any] = {"rng": np.random.default_rng(3)} if kind is PosteriorSampling else {}
    learner = kind(RAGGED, 2, loss_floor=0.1, **more)
    learner.merge(learned([(np.array([0.3, 0.7]), Step(0, 2, 0.5, 2)), (np.array([0.6, 0.4]), Step(2, 0, 0.5, 0))]))
    larger = learner.extended(LARGE)
    larger.save(tmp_path / "saved")
    again = kind.load(tmp_path / "saved")
    for one in (larger, again):
        episode = one.begin([0.4, 0.6])
        episode.observe(Step("c", episode.act("c"), 0.25, "goal"))
        assert episode.ended
    assert written(larger) == written(again)


def test_streams_go_on_and_are_not_shared() -> None:
    source = PosteriorSampling(RAGGED, 2, loss_floor=0.1, rng=np.random.default_rng(1))
    other = source.with_settings(loss_floor=0.2)
    assert other._rng is not source._rng
    assert other._rng.random() == source._rng.random()


def test_supports_without_names_are_matched_by_numbers() -> None:
    learner = LRCSSP(Support.full(1, 2), 1, loss_floor=0.1)
    learner.learn_log([([1.0], Step(0, 1, 0.5, 1)), ([1.0], Step(0, 1, 0.5, 0))])
    larger = learner.extended(Support.full(3, 3))
    assert larger.statistics.visits.tolist() == [0, 2, 0] + [0] * 6
    assert larger.statistics.next_sums[4:8, 0].tolist() == [1.0, 0.0, 0.0, 1.0]  # the goal is the last
