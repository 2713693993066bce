"""Laws of steps that anyone chose: learned they count as played, in any form of the kernels, and the sets hold."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.baselines import TabularLearner
from goalbound.confidence import Widths, likelihood, paper, scaled, sharp
from goalbound.learners.base import LearnerBase
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.models import IntervalSet, LinearCSSP, Step, Support
from tests.support import tabular_driving
from tests.support.behaviour import Log, at_random, by_context_and_past, log_of
from tests.support.driving import MODES, draw_step, learner_of, small_problem, written
from tests.support.kernel_forms import COMPILED, PYTHON, kernels
from tests.support.ridge import LEARNERS
from tests.support.seen_steps import RAGGED, some_steps
from tests.support.strategies import examples

PROBLEM = small_problem()
SHARP: dict[str, Any] = {"loss_floor": 0.1, "widths": sharp(), "check_linearity": True}
KINDS = {**{name: mode for name, mode in MODES.items() if name != "forgetting"}, "sharp": SHARP}
"""Not with forgetting: there an interval that is too long wipes the data, and a log has no intervals."""


def learned(learner: LearnerBase) -> dict[str, NDArray[Any]]:
    """What a ridge learner knows, by name."""
    wanted = ("regression", "pending", "log_det", "sets", "watch")
    return {name: array.copy() for name, array in learner._state_arrays() if name.split(".")[1] in wanted}


def play(learner: Any, problem: LinearCSSP, steps: int, seed: int) -> Log:
    """The steps of episodes that the learner plays, one after the other."""
    rng = np.random.default_rng(seed)
    log: Log = []
    while len(log) < steps:
        context, state = rng.dirichlet(np.ones(problem.context_size)), int(rng.integers(problem.support.states))
        episode = learner.begin(context)
        while not episode.ended:
            step = draw_step(problem, context, state, episode.act(state), rng.random())
            episode.observe(step)
            log.append((context, step))
            state = step.next_state
    return log


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_is_learned_from_its_log_is_known_as_if_it_had_been_played(kind: str) -> None:
    """To the bit, the test of the linear model aside: only there does it matter in which episode a step was made.

    The sets of ``sharp`` were those of the plan, and every step is unknown, so that each has a new plan.
    """
    player, reader = learner_of(PROBLEM, **KINDS[kind]), learner_of(PROBLEM, **KINDS[kind])
    log = play(player, PROBLEM, 60, seed=3)
    for context, step in log:
        reader.learn(context, step)
    wanted = learned(player)
    for name, array in learned(reader).items():
        assert array.tobytes() == wanted[name].tobytes(), name
    assert (reader.intervals, reader._state.totals["episodes"]) == (0, 0)
    if kind == "sharp":
        assert player.alarm is None
        sets = [learner.confidence_set([0.25, 0.75]) for learner in (player, reader)]
        for name in ("loss_low", "loss_high", "low", "high"):
            np.testing.assert_array_equal(getattr(sets[0], name), getattr(sets[1], name))


@pytest.mark.parametrize("kind", LEARNERS)
def test_so_it_is_for_learners_that_are_not_optimistic(kind: str) -> None:
    player, reader = (LEARNERS[kind](PROBLEM.support, 2, np.random.default_rng(0)) for _ in range(2))
    assert reader.learn_log(play(player, PROBLEM, 60, seed=4)) >= 60
    wanted = learned(player)
    for name, array in learned(reader).items():
        assert array.tobytes() == wanted[name].tobytes(), name


@pytest.mark.parametrize("method", tabular_driving.METHODS)
def test_so_it_is_for_learners_without_contexts(method: str) -> None:
    problem = tabular_driving.small_problem()
    player, reader, one = (tabular_driving.learner_of(problem, method) for _ in range(3))
    log = play(player, problem, 60, seed=5)
    assert reader.learn_log(log) == len(log)
    for context, step in log:
        one.learn(context, step)
    assert written(reader) == written(one)
    for name in ("visits", "loss_sums", "square_sums", "goals", "seen", "seen_state", "seen_count"):
        wanted = getattr(player._state.counts, name)
        assert getattr(reader._state.counts, name).tobytes() == wanted.tobytes(), name
    assert isinstance(reader, TabularLearner)
    assert reader.begin().act(0) in range(3)


@given(some_steps, st.sampled_from(["sharp", "paper", "narrow"]))
def test_a_log_compiled_or_not_and_step_by_step_gives_the_same_bits(log: Log, kind: str) -> None:
    widths = {"sharp": sharp(), "paper": paper(), "narrow": scaled(paper(), by=0.01)}[kind]
    found = []
    for way, whole in ((PYTHON, False), (PYTHON, True), (COMPILED, True)):
        learner = LRCSSP(RAGGED, 2, loss_floor=0.1, widths=widths)
        with kernels(way):
            if whole:
                assert learner.learn_log(log) == len(log)
            else:
                for context, step in log:
                    learner.learn(context, step)
        found.append({name: array.tobytes() for name, array in learner._state_arrays()})
    assert found[0] == found[1] == found[2]


@given(st.integers(0, 2**31), st.sampled_from(["sharp", "as proven", "narrow"]))
@examples(15)
def test_steps_may_be_learned_while_episodes_are_open_in_any_order(seed: int, kind: str) -> None:
    """Open episodes see nothing of it until their next plan, and at the end all sums are those of any order."""
    rng = np.random.default_rng(seed)
    log = log_of(PROBLEM, at_random, 12, seed)
    learner, alone = learner_of(PROBLEM, **KINDS[kind]), learner_of(PROBLEM, **KINDS[kind])
    weights = rng.dirichlet(np.ones(2), 4)
    episodes = [learner.begin(context) for context in weights]
    actions = [episode.act(0) for episode in episodes]
    held = [{"number": e.number, "interval": e.interval, "intervals": e.intervals} for e in episodes]
    values = [episode._arrays.iteration.values.copy() for episode in episodes]
    first = int(rng.integers(len(log)))
    assert learner.learn_log(log[:first]) == first
    assert held == [{"number": e.number, "interval": e.interval, "intervals": e.intervals} for e in episodes]
    assert [episode.act(0) for episode in episodes] == actions
    for episode, before in zip(episodes, values, strict=True):
        np.testing.assert_array_equal(episode._arrays.iteration.values, before)
    own = [draw_step(PROBLEM, weights[k], 0, actions[k], u)._replace(next_state=3) for k, u in enumerate(rng.random(4))]
    own = [step if 3 in _leads(step) else step._replace(next_state=_leads(step)[0]) for step in own]
    for k in rng.permutation(4):
        episodes[k].observe(own[k])
    learner.learn_log(log[first:])
    alone.learn_log([*zip(weights, own, strict=True), *log])
    assert not learner.statistics.pending.any()
    np.testing.assert_array_equal(learner.statistics.visits, alone.statistics.visits)
    for name in ("gram", "loss_sums", "next_sums"):
        np.testing.assert_allclose(
            getattr(learner.statistics, name), getattr(alone.statistics, name), rtol=1e-14, atol=1e-14
        )


def _leads(step: Step) -> list[int]:
    support = PROBLEM.support
    return [int(s) for s in support.next_state[support.row(support.pair(step.state, step.action))]]


@given(st.integers(0, 2**31), st.sampled_from(["sharp", "as proven", "narrow", "known"]))
@examples(15)
def test_of_overridden_steps_only_the_real_ones_count(seed: int, kind: str) -> None:
    """Several episodes, each tick one of: propose, overrule, follow. Sums are those of what was played; proposals that
    counted already when they were overruled stay pending."""
    rng = np.random.default_rng(seed)
    learner, alone = learner_of(PROBLEM, **KINDS[kind]), learner_of(PROBLEM, **KINDS[kind])
    support = PROBLEM.support
    played: Log = []
    weights = rng.dirichlet(np.ones(2), 3)
    episodes, states = [learner.begin(context) for context in weights], [0, 1, 2]
    for _ in range(40):
        k = int(rng.integers(3))
        episode = episodes[k]
        if rng.random() < 0.5:
            episode.act(states[k])
            continue
        action = int(rng.choice(support.pair_action[support.pair_start[states[k]] : support.pair_start[states[k] + 1]]))
        step = draw_step(PROBLEM, weights[k], states[k], action, rng.random())
        episode.observe(step, overridden=True)
        played.append((weights[k].copy(), step))
        states[k] = step.next_state
        if episode.ended:
            weights[k] = rng.dirichlet(np.ones(2))
            episodes[k], states[k] = learner.begin(weights[k]), k
    for episode in episodes:
        episode.take_back()
    alone.learn_log(played)
    mine, theirs = learner.statistics, alone.statistics
    np.testing.assert_array_equal(mine.visits - mine.pending, theirs.visits)
    assert ((mine.pending_norms > 0.0) == (mine.pending > 0)).all()
    assert (np.trace(mine.gram - theirs.gram, axis1=1, axis2=2)[mine.pending == 0] <= 1e-13).all()
    for name in ("loss_sums", "next_sums"):
        np.testing.assert_allclose(getattr(mine, name), getattr(theirs, name), rtol=1e-13, atol=1e-13)


WORLD = LinearCSSP.mix([small_problem(seed, states=2, context_size=1).at([1.0]) for seed in (5, 6, 7)])
"""Two states, two actions, three components of rather different problems."""
PROBES = [[1.0, 0.0, 0.0], [0.2, 0.5, 0.3], [0.0, 0.1, 0.9]]


def holds(learner: LRCSSP, context: list[float]) -> bool:
    found, truth = learner.confidence_set(context), WORLD.at(context)
    inside = found.contains(truth, tolerance=0.0) if isinstance(found, IntervalSet) else found.contains(truth)
    return bool(inside)


def misses(widths: Widths, logs: list[Log], checkpoints: int = 10) -> int:
    """In how many runs the truth was outside the sets at one of so many checkpoints, or an alarm was raised."""
    count = 0
    for log in logs:
        learner = LRCSSP(WORLD.support, 3, loss_floor=0.05, widths=widths)
        missed = False
        for part in range(checkpoints):
            learner.learn_log(log[part * len(log) // checkpoints : (part + 1) * len(log) // checkpoints])
            missed = missed or not all(holds(learner, probe) for probe in PROBES)
        count += missed or learner.alarm is not None
    return count


@cache
def drawn_log(seed: int) -> Log:
    """600 steps, actions and contexts by what was seen before."""
    return log_of(WORLD, by_context_and_past, 600, seed)


@pytest.mark.parametrize("widths", [sharp(), likelihood(), paper()], ids=str)
def test_the_truth_stays_in_the_sets_whoever_chose_by_context_and_past(widths: Widths) -> None:
    # 40 runs of 600 steps, actions and contexts by what was seen before. The sets promise to fail in at most delta / 4
    # = 0.025 of the runs, so in 1 of 40 on average, and fail in far fewer: none is asked for. Seeds are fixed.
    assert misses(widths, [drawn_log(seed) for seed in range(40)]) == 0


def test_sets_that_are_too_small_are_found_out() -> None:
    assert misses(scaled(sharp(), by=0.1), [drawn_log(seed) for seed in range(5)]) == 5


def test_steps_that_are_selected_by_their_outcome_lose_the_truth() -> None:
    """What breaks the proof does break the sets: a log without the steps that cost something."""
    logs = [drawn_log(seed) for seed in range(5)]
    assert misses(sharp(), [[(context, step) for context, step in log if step.loss < 0.5] for log in logs]) == 5


def test_choices_by_something_that_was_not_recorded_and_moves_outcomes_lose_the_truth() -> None:
    """Hard cases (half of them) cost 1 and get action 1, easy ones cost nothing and get action 0, and whether a case is
    hard is not in the log. Either action costs 1/2 on average, were it given to all; the log says 0 and 1."""
    learner = LRCSSP(Support.full(1, 2), 1, loss_floor=0.05, widths=sharp())
    hard = np.random.default_rng(1).random(400) < 0.5
    learner.learn_log([([1.0], Step(0, int(one), float(one), 1)) for one in hard])
    found = learner.confidence_set([1.0])
    assert found.loss_high[0] < 0.5 < found.loss_low[1]
