"""Runs: exact on tiny problems, the same in any chunks, honest about limits and interruptions."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from goalbound.errors import InputError
from goalbound.learners.reference import Clairvoyant
from goalbound.models import LinearCSSP, Step, Support
from goalbound.models.step import bernoulli
from goalbound.problems import random_cssp
from goalbound.simulation.contexts import Cyclic, Dirichlet, FromArray, OneHot
from goalbound.simulation.environment import ModelEnvironment
from goalbound.simulation.history import PER_EPISODE, History
from goalbound.simulation.play import Simulation, play

PLAY = import_module("goalbound.simulation.play")  # the module; the package's own ``play`` is the function
# Two states in a row, one action: 0 -> 1 -> goal. Losses 0.5 and 0.25 (sun), 1 and 0.5 (rain).
ROAD = LinearCSSP.dense(
    [[[0.5], [0.25]], [[1.0], [0.5]]],
    [[[[0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]]]] * 2,
)
# Drug A heals with 0.9 (young) or 0.1 (old) at a loss of 0.2; drug B always, at 0.5.
DRUGS = LinearCSSP.dense([[[0.2, 0.5]], [[0.2, 0.5]]], [[[[0.1, 0.9], [0.0, 1.0]]], [[[0.9, 0.1], [0.0, 1.0]]]])
RANDOM = random_cssp(6, actions=2, context_size=3, exit_probability=0.2, seed=1)


class Always:
    """Plays one action everywhere, and says that it had three intervals and two unknown steps."""

    def __init__(self, action: int) -> None:
        self.action = action
        self.seen: list[Step] = []

    def begin(self, context: Any) -> Any:
        return SimpleNamespace(act=lambda state: self.action, observe=self.seen.append, intervals=3, unknown_steps=2)


class Guessing:
    """Plays any action, by its own stream."""

    def __init__(self, support: Support, *, rng: np.random.Generator) -> None:
        self.support, self.rng = support, rng

    def begin(self, context: Any) -> Guessing:
        return self

    def act(self, state: int) -> int:
        first, end = self.support.pair_start[state : state + 2]
        return int(self.support.pair_action[self.rng.integers(first, end)])

    def observe(self, step: Step) -> None: ...


def assert_same(one: History, other: History) -> None:
    for name in PER_EPISODE:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert (one.seed, one.step_limit, one.interrupted) == (other.seed, other.step_limit, other.interrupted)


def test_the_expected_regret_of_a_wrong_drug_is_its_gap_per_step() -> None:
    run = play(DRUGS, Always(0), Cyclic(np.array([[0.0, 1.0]])), episodes=50, seed=1)
    # old: v* = 0.5 by drug B; drug A has the gap 0.2 + 0.9 * 0.5 - 0.5 = 0.15 in every step
    np.testing.assert_allclose(run.expected_regret, 0.15 * run.steps, rtol=1e-12)
    np.testing.assert_allclose(run.regret, 0.2 * run.steps - 0.5, rtol=1e-12)
    run = play(DRUGS, Always(1), Cyclic(np.array([[1.0, 0.0]])), episodes=2)
    np.testing.assert_allclose(run.expected_regret, 0.5 - 0.2 / 0.9)
    np.testing.assert_allclose(run.regret, 0.5 - 0.2 / 0.9)


def test_the_clairvoyant_has_no_expected_regret_and_realised_regret_of_mean_zero() -> None:
    # 3000 episodes; |mean| above 4.9 standard errors by chance: about 1e-6, and the seed is fixed.
    environment = partial(ModelEnvironment, RANDOM, losses=bernoulli())
    run = play(RANDOM, Clairvoyant(RANDOM), Cyclic(np.eye(3)), episodes=3000, seed=7, environment=environment)
    assert run.expected_regret.max() <= 1e-8 * run.steps.max()
    assert abs(run.regret.mean()) <= 4.9 * run.regret.std() / np.sqrt(run.episodes)
    assert run.regret.std() > 0.5  # the noise is there


def test_guessing_has_regret_and_its_expected_regret_has_the_realised_mean() -> None:
    # As above: 4.9 standard errors of the difference, false alarm about 1e-6.
    run = play(RANDOM, partial(Guessing, RANDOM.support), Dirichlet.symmetric(3), episodes=1500, seed=2)
    assert run.total_expected_regret > 100.0
    assert run.expected_regret.min() >= 0.0
    noise = run.regret - run.expected_regret
    assert abs(noise.mean()) <= 4.9 * noise.std() / np.sqrt(run.episodes)
    assert run.growth_exponent() == pytest.approx(1.0, abs=0.1)


def test_a_run_in_two_parts_is_the_run_at_once() -> None:
    def fresh() -> Simulation:
        return Simulation(
            RANDOM, partial(Guessing, RANDOM.support), Dirichlet.symmetric(3), seed=4,
            environment=partial(ModelEnvironment, RANDOM, losses=bernoulli()),
        )  # fmt: skip

    parts = fresh()
    joined = History.concatenate([parts.run(10), parts.run(20)])
    assert parts.episodes_played == 30
    assert_same(joined, fresh().run(30))


@pytest.mark.parametrize("chunk", [1, 7])
def test_chunks_are_not_seen_in_the_results(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = play(RANDOM, partial(Guessing, RANDOM.support), Dirichlet.symmetric(3), episodes=20, seed=4)
    monkeypatch.setattr(PLAY, "CHUNK", chunk)
    assert_same(play(RANDOM, partial(Guessing, RANDOM.support), Dirichlet.symmetric(3), episodes=20, seed=4), at_once)


def test_all_learners_of_a_seed_meet_the_same_contexts() -> None:
    guess = play(RANDOM, partial(Guessing, RANDOM.support), Dirichlet.symmetric(3), episodes=20, seed=4)
    know = play(RANDOM, Clairvoyant(RANDOM), Dirichlet.symmetric(3), episodes=20, seed=4)
    np.testing.assert_array_equal(guess.contexts, know.contexts)
    other = play(RANDOM, Clairvoyant(RANDOM), Dirichlet.symmetric(3), episodes=20, seed=5)
    assert (other.contexts != know.contexts).any()


def test_an_episode_at_the_step_limit_is_abandoned_and_counts() -> None:
    # Drug A never works on component 1, so an episode goes on for ever; each of its 8 steps has gap 0.2.
    improper = LinearCSSP.dense([[[0.2, 0.5]], [[0.2, 0.5]]], [[[[0.0, 1.0], [0.0, 1.0]]], [[[1.0, 0.0], [0.0, 1.0]]]])
    run = play(improper, Always(0), FromArray(np.array([[0.0, 1.0], [1.0, 0.0]])), episodes=2, step_limit=8)
    assert run.abandoned.tolist() == [True, False]
    assert run.steps.tolist() == [8, 1]
    np.testing.assert_allclose(run.loss, [8 * 0.2, 0.2])
    np.testing.assert_allclose(run.expected_regret, [8 * 0.2, 0.0])
    np.testing.assert_allclose(run.regret, [8 * 0.2 - 0.5, 0.0], atol=1e-15)
    assert "1 abandoned at 8 steps" in str(run)


class Impatient(Guessing):
    """Presses Ctrl-C in the first step of its n-th episode, once."""

    def __init__(self, support: Support, episode: int, *, rng: np.random.Generator) -> None:
        super().__init__(support, rng=rng)
        self.countdown = episode + 1
        self.pressed = False

    def begin(self, context: Any) -> Guessing:
        self.countdown -= 1
        return self

    def act(self, state: int) -> int:
        if self.countdown == 0 and not self.pressed:
            self.pressed = True
            raise KeyboardInterrupt
        return super().act(state)


def test_an_interruption_keeps_what_is_finished() -> None:
    whole = play(RANDOM, partial(Guessing, RANDOM.support), Dirichlet.symmetric(3), episodes=12, seed=4)
    simulation = Simulation(RANDOM, partial(Impatient, RANDOM.support, 7), Dirichlet.symmetric(3), seed=4)
    first = simulation.run(12)
    assert first.interrupted
    assert first.episodes == simulation.episodes_played == 7
    assert str(first).startswith("interrupted after 7 episodes")
    for name in PER_EPISODE:
        np.testing.assert_array_equal(getattr(first, name), getattr(whole, name)[:7])
    rest = simulation.run(5)
    assert not rest.interrupted
    np.testing.assert_array_equal(rest.contexts, whole.contexts[7:])  # it goes on with the context that was left
    assert History.concatenate([first, rest]).episodes == 12


class Fast(Always):
    """Has a compiled loop that says what it was given."""

    def __init__(self) -> None:
        super().__init__(0)
        self.chunks: list[int] = []

    def play_episodes(self, environment: Any, contexts: Any, values: Any, *, step_limit: int, results: Any) -> None:
        self.chunks.append(len(contexts))
        assert isinstance(environment, ModelEnvironment)
        assert values.shape == (len(contexts), 3)
        results.loss[:], results.steps[:] = 0.75, 2


class OtherEnvironment:
    """The road by hand."""

    def begin(self, context: Any) -> int:
        self.state = 0
        return 0

    def step(self, action: int) -> Step:
        self.state += 1
        return Step(self.state - 1, action, 0.5, self.state)


def test_a_learner_with_a_compiled_loop_gets_whole_chunks_unless_asked_otherwise() -> None:
    contexts, fast = Cyclic(np.array([[1.0, 0.0]])), Fast()
    assert play(ROAD, fast, contexts, episodes=5).loss.tolist() == [0.75] * 5
    assert fast.chunks == [5]
    assert play(ROAD, fast, contexts, episodes=5, compiled=False).unknown_steps.tolist() == [2] * 5
    assert play(ROAD, fast, contexts, episodes=5, environment=OtherEnvironment()).loss.tolist() == [1.0] * 5
    assert fast.chunks == [5]


def test_worlds_that_cheat_are_named() -> None:
    class Jumping(OtherEnvironment):
        def step(self, action: int) -> Step:
            return Step(1, action, 0.5, 2)

    class Expensive(OtherEnvironment):
        def step(self, action: int) -> Step:
            return Step(0, action, 1.5, 2)

    class Beyond(OtherEnvironment):
        def begin(self, context: Any) -> int:
            return 2

    for environment, message in (
        (Jumping(), "in state 0 the environment returned"),
        (Expensive(), "loss=1.5"),
        (Beyond(), "0 to 1"),
    ):
        with pytest.raises(InputError, match=message):
            play(ROAD, Always(0), OneHot(2), episodes=1, environment=environment)


def test_wrong_arguments_are_named() -> None:
    learner, contexts = Always(0), OneHot(2)
    with pytest.raises(InputError, match="contexts have 3 entries, the problem 2"):
        play(ROAD, learner, OneHot(3), episodes=1)
    with pytest.raises(InputError, match="step_limit is 0"):
        play(ROAD, learner, contexts, episodes=1, step_limit=0)
    with pytest.raises(InputError, match="episodes is 0"):
        play(ROAD, learner, contexts, episodes=0)
    with pytest.raises(InputError, match="seed -1"):
        play(ROAD, learner, contexts, episodes=1, seed=-1)
    with pytest.raises(InputError, match="a int can neither"):
        play(ROAD, 3, contexts, episodes=1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no context"):
        play(ROAD.component(0), learner, contexts, episodes=1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="another problem"):
        play(ROAD, learner, contexts, episodes=1, environment=partial(ModelEnvironment, DRUGS))
    with pytest.raises(InputError, match="no context for episode 2"):
        play(ROAD, learner, FromArray(np.eye(2)), episodes=3)


def test_a_bar_shows_every_episode_and_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    contexts = Cyclic(np.array([[1.0, 0.0]]))
    shown = play(DRUGS, Always(1), contexts, episodes=10, progress=True)
    assert "10 of 10 episodes, regret" in capsys.readouterr().err
    silent = play(DRUGS, Always(1), contexts, episodes=10)
    assert capsys.readouterr().err == ""
    assert np.array_equal(shown.loss, silent.loss)
    assert np.array_equal(shown.start, silent.start)
