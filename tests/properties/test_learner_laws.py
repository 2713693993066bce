"""What must hold for a learner whatever it has seen: symmetries, two loops and two engines with the same bits, and
optimism."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.confidence import paper, scaled
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.settings import LearnerOptions
from goalbound.models import LinearCSSP, Step, Support
from goalbound.planning import solve
from goalbound.problems import random_cssp
from goalbound.simulation import Dirichlet, ModelEnvironment, OneHot, bernoulli, bounded, deterministic, play
from goalbound.simulation.history import PER_EPISODE, History
from tests.support.driving import MODES, draw_step, small_problem, written
from tests.support.kernel_forms import COMPILED, PYTHON, kernels
from tests.support.ridge import lr_cssp
from tests.support.strategies import contexts, examples, linear_cssps
from tests.support.taught import Seen, data, rho, rows_of, supports, teach

NARROW: dict[str, Any] = {**MODES["narrow"], "tolerance": 1e-9}
UNSEEN = scaled(paper(), by=1e-100)
"""widths below the last bit of any number here: estimates are taken at their word"""


@dataclass(frozen=True)
class Renaming:
    """Other numbers for the states and the actions: ``states[s]`` is the new number of s."""

    states: list[int]
    actions: list[int]

    def support(self, old: Support) -> Support:
        to = [*self.states, old.states]
        pairs: list[dict[int, list[int]]] = [{} for _ in range(old.states)]
        for pair in range(old.pairs):
            following = old.next_state[old.row(pair)]
            pairs[self.states[old.pair_state[pair]]][self.actions[old.pair_action[pair]]] = [to[t] for t in following]
        return Support.from_pairs(pairs)

    def step(self, old: Step) -> Step:
        to = [*self.states, len(self.states)]
        return Step(to[old.state], self.actions[old.action], old.loss, to[old.next_state])

    def pairs(self, old: Support, new: Support) -> list[int]:
        """The new number of each pair."""
        return [
            new.pair(self.states[old.pair_state[pair]], self.actions[old.pair_action[pair]])
            for pair in range(old.pairs)
        ]


@st.composite
def renamings(draw: st.DrawFn, support: Support) -> Renaming:
    states, actions = range(support.states), range(support.actions)
    return Renaming(draw(st.permutations(list(states))), draw(st.permutations(list(actions))))


@pytest.mark.parametrize("mode", ["narrow", "doubling", "zero losses", "known"])
@examples(10)
@given(drawn=st.data())
def test_other_numbers_for_states_and_actions_change_nothing_else(mode: str, drawn: st.DataObject) -> None:
    support, size = drawn.draw(supports), drawn.draw(st.integers(1, 3))
    renaming = drawn.draw(renamings(support))
    other = renaming.support(support)
    seen = drawn.draw(data(support, size))
    settings = {**MODES[mode], "tolerance": 1e-9}
    one = teach(lr_cssp(support, size, **settings), seen)
    two = teach(lr_cssp(other, size, **settings), [Seen(context, renaming.step(step)) for context, step in seen])
    context = drawn.draw(contexts(size))
    plan, renamed = one.plan(context), two.plan(context)
    pairs = renaming.pairs(support, other)
    np.testing.assert_allclose(renamed.values[[*renaming.states, support.states]], plan.values, rtol=1e-8)
    np.testing.assert_array_equal(renamed.losses[pairs], plan.losses)
    assert (one.intervals, one.loss_bound) == (two.intervals, two.loss_bound)
    np.testing.assert_array_equal(renamed.known[pairs], plan.known)
    np.testing.assert_array_equal(two.estimate.losses[pairs], one.estimate.losses)
    np.testing.assert_array_equal(two.statistics.visits[pairs], one.statistics.visits)


@examples(20)
@given(drawn=st.data())
def test_the_order_of_the_components_does_not_matter(drawn: st.DataObject) -> None:
    support, size = drawn.draw(supports), drawn.draw(st.integers(2, 3))
    order = drawn.draw(st.permutations(range(size)))
    seen = drawn.draw(data(support, size))
    one = teach(lr_cssp(support, size, **NARROW), seen)
    two = teach(lr_cssp(support, size, **NARROW), [Seen(context[order], step) for context, step in seen])
    context = drawn.draw(contexts(size))
    plan, reordered = one.plan(context), two.plan(context[order])
    np.testing.assert_allclose(reordered.values, plan.values, rtol=1e-8)
    np.testing.assert_allclose(reordered.losses, plan.losses, rtol=1e-10)
    np.testing.assert_allclose(two.estimate.rows, one.estimate.rows[:, order], atol=1e-11)


@examples(20)
@given(drawn=st.data())
def test_a_component_without_weight_changes_no_estimate_of_the_others(drawn: st.DataObject) -> None:
    """It changes the plans: the radii grow with d. What the data says of the others is the same, to the bit."""
    support, size = drawn.draw(supports), drawn.draw(st.integers(1, 3))
    place = drawn.draw(st.integers(0, size))
    seen = drawn.draw(data(support, size))
    used = [j for j in range(size + 1) if j != place]
    one = teach(lr_cssp(support, size, **NARROW), seen)
    wide = [Seen(np.insert(context, place, 0.0), step) for context, step in seen]
    two = teach(lr_cssp(support, size + 1, **NARROW), wide)
    np.testing.assert_array_equal(two.estimate.losses[:, used], one.estimate.losses)
    np.testing.assert_array_equal(two.estimate.losses[:, place], 0.0)
    others = support.next_state < support.states
    np.testing.assert_allclose(two.estimate.rows[:, used], one.estimate.rows, rtol=0.0, atol=1e-14)
    lost = np.repeat(support.leads_to_goal, np.diff(support.next_start))  # where the goal takes what is missing
    exact = others & lost
    np.testing.assert_array_equal(two.estimate.rows[exact][:, used], one.estimate.rows[exact])
    np.testing.assert_array_equal(two.estimate.rows[exact][:, place], 0.0)
    uniform = np.repeat(1.0 / np.diff(support.next_start), np.diff(support.next_start))[~lost]
    np.testing.assert_allclose(two.estimate.rows[~lost][:, place], uniform, rtol=0.0, atol=1e-14)
    np.testing.assert_array_equal(two.statistics.gram[:, place, place], 1.0)  # lambda


def wider(support: Support) -> Support:
    """The same pairs, and every pair may lead everywhere."""
    return Support.from_pairs(
        [
            {int(a): range(support.states + 1) for a in support.pair_action[first:end]}
            for first, end in zip(support.pair_start, support.pair_start[1:], strict=False)
        ]
    )


class Game(NamedTuple):
    """All that a run is made of."""

    problem: LinearCSSP
    support: Support
    settings: dict[str, Any]
    losses: Any
    corners: bool
    step_limit: int
    seed: int


@st.composite
def games(draw: st.DrawFn) -> Game:
    problem = draw(linear_cssps(proper=True, most_states=4, most_components=3))
    mode = draw(st.sampled_from(sorted(MODES)))
    settings = (
        MODES[mode] if mode == "as proven" else {**MODES[mode], "regularization": draw(st.sampled_from([1.0, 300.0]))}
    )
    return Game(
        problem,
        wider(problem.support) if draw(st.booleans()) else problem.support,
        settings,
        draw(st.sampled_from([deterministic(), bernoulli(), bounded(0.7)])),
        draw(st.booleans()),
        draw(st.sampled_from([1, 7, 20])),
        draw(st.integers(0, 1000)),
    )


def played(game: Game, way: dict[str, Any], *, compiled: bool) -> tuple[History, bytes]:
    source: Any = OneHot if game.corners else Dirichlet.symmetric
    size = game.problem.context_size
    with kernels(way):
        learner = lr_cssp(game.support, size, **game.settings)
        history = play(
            game.problem, learner, source(size), episodes=12, seed=game.seed, step_limit=game.step_limit,
            environment=partial(ModelEnvironment, game.problem, losses=game.losses), compiled=compiled,
        )  # fmt: skip
        return history, written(learner)


@examples(25)
@given(games())
def test_both_loops_and_both_engines_play_the_same_bits(game: Game) -> None:
    """The compiled loop, the plain loop, and each with kernels as Python and as machine code."""
    history, file = played(game, COMPILED, compiled=True)
    for way, compiled in ((COMPILED, False), (PYTHON, True), (PYTHON, False)):
        other, other_file = played(game, way, compiled=compiled)
        for name in PER_EPISODE:
            assert getattr(other, name).tobytes() == getattr(history, name).tobytes(), name
        assert other_file == file


# All is known at first, and the goal is far: intervals that lose more than 48 log(8) = 99.8 double the bound.
FAR: dict[str, Any] = {"loss_floor": 0.1, "widths": UNSEEN, "regularization": 1e5, "delta": 0.5}
LONG = {**MODES, "far": FAR, "far and forgetting": {**FAR, "forget": True}}


@pytest.mark.parametrize("mode", LONG)
def test_both_loops_play_the_same_bits_over_a_longer_run(mode: str) -> None:
    far = "far" in mode
    problem = random_cssp(4, actions=2, context_size=3, exit_probability=0.005 if far else 0.3, seed=3)
    results = []
    for compiled in (True, False):
        with kernels(COMPILED):
            learner = lr_cssp(problem.support, 3, **LONG[mode])
            history = play(
                problem, learner, Dirichlet.symmetric(3), episodes=40 if far else 400, seed=5, step_limit=1000,
                environment=partial(ModelEnvironment, problem, losses=bernoulli()), compiled=compiled,
            )  # fmt: skip
        results.append((history, written(learner)))
        if far or mode in ("doubling", "forgetting"):
            assert learner.doublings >= 1
        assert (learner.statistics.visits.sum() < history.steps.sum()) == ("forgetting" in mode)
    (one, file), (two, other_file) = results
    for name in PER_EPISODE:
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes(), name
    assert file == other_file


def covered(learner: LRCSSP, problem: LinearCSSP) -> bool:
    """Whether the truth lies in the sets of all pairs (items 1 and 2 of the high-probability event), by hand."""
    support, scale = problem.support, learner.settings.widths.scale
    estimate, places = learner.estimate, rows_of(support)
    triples = max(1, sum(place.stop - place.start for place in places))
    for pair, place in enumerate(places):
        gram = learner.statistics.gram[pair]
        loss = problem.losses[pair] - estimate.losses[pair]
        rows = problem.probabilities[place] - estimate.rows[place]
        reach = scale * math.sqrt(place.stop - place.start) * rho(learner, pair, triples)
        if math.sqrt(loss @ gram @ loss) > scale * rho(learner, pair, support.pairs):
            return False
        if math.sqrt(float(np.einsum("kj,jl,kl->", rows, gram, rows))) > reach:
            return False
    return True


@pytest.mark.parametrize(("scale", "always"), [(1.0, True), (0.3, True), (0.2, False), (0.15, False)])
def test_while_the_truth_is_plausible_no_value_hoped_for_is_above_the_true_one(scale: float, always: bool) -> None:
    """Optimism, along runs: the learner's values are at most the optimal ones, in every state and for contexts that
    it has not met, whenever the truth lies in all its sets. Small scales lose the truth now and then."""
    times = {True: 0, False: 0}
    for seed in range(3):
        problem = small_problem(seed, context_size=3)
        assert problem.losses.min() >= 0.1
        rng = np.random.default_rng(seed)
        learner = LRCSSP(
            problem.support,
            3,
            loss_floor=0.1,
            loss_bound=5.0,
            widths=scaled(paper(), by=scale),
            options=LearnerOptions(regularization=0.01),
        )
        for _ in range(25):
            context = rng.dirichlet(np.ones(3))
            episode, state = learner.begin(context), int(rng.integers(3))
            while state != problem.support.states:
                step = draw_step(problem, context, state, episode.act(state), rng.random())
                noisy = step._replace(loss=float(rng.random() < step.loss))
                episode.observe(noisy)
                state = step.next_state
            holds = covered(learner, problem)
            times[holds] += 1
            if holds:
                for other in (context, rng.dirichlet(np.ones(3)), rng.dirichlet(np.full(3, 0.2))):
                    assert (learner.plan(other).values <= solve(problem.at(other)).upper).all()
    assert times[True] >= 10
    assert (times[False] == 0) == always
