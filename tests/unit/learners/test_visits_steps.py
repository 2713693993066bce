"""Steps that anyone chose, by the kernel that learns from many of them."""

import numpy as np
import pytest

from goalbound import widths
from goalbound.confidence.protocol import before_visit
from goalbound.jit.records import named_arrays
from goalbound.learners.loop import look_at
from goalbound.learners.visits import StepArrays, learn_outcome, learn_steps
from tests.support.driving import MODES, learner_of, small_problem

PROBLEM = small_problem()
SETTINGS = {
    "balls": MODES["narrow"], "intervals": {"loss_floor": 0.1, "loss_bound": 5.0, "widths": widths.sharp()},
    "likelihood": {"loss_floor": 0.1, "loss_bound": 5.0, "widths": widths.likelihood()},
}  # fmt: skip


def some_steps(count: int = 40) -> StepArrays:
    rng, support = np.random.default_rng(5), PROBLEM.support
    pairs = rng.integers(support.pairs, size=count)
    places = np.array([rng.integers(support.next_start[pair], support.next_start[pair + 1]) for pair in pairs])
    return StepArrays(rng.dirichlet(np.ones(2), count), pairs, places, rng.random(count))


def bits(learner) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in named_arrays("state", learner._state)}


@pytest.mark.parametrize("mode", SETTINGS)
def test_each_step_is_learned_against_the_set_of_just_before_it(mode: str) -> None:
    many, single, steps = learner_of(PROBLEM, **SETTINGS[mode]), learner_of(PROBLEM, **SETTINGS[mode]), some_steps()
    many._program[learn_steps].python(many._constants, many._state, many._new_episode_state(), many._scratch, steps)
    for context, pair, place, loss in zip(steps.contexts, steps.pairs, steps.places, steps.losses, strict=True):
        episode = single._new_episode_state()
        episode.context[:] = context
        for kernel in (look_at, before_visit):
            single._program[kernel].python(single._constants, single._state, episode, pair)
        learn = single._program[learn_outcome].python
        learn(single._constants, single._state, episode, single._scratch, pair, place, loss)
        single._state.totals["logged"] += 1
    assert bits(many) == bits(single)
    assert many.statistics.visits.sum() == 40


@pytest.mark.parametrize("mode", SETTINGS)
def test_both_forms_give_the_same_bits(mode: str) -> None:
    learners = [learner_of(PROBLEM, **SETTINGS[mode]) for _ in range(2)]
    for learner, form in zip(learners, ("python", "compiled"), strict=True):
        run = getattr(learner._program[learn_steps], form)
        run(learner._constants, learner._state, learner._new_episode_state(), learner._scratch, some_steps())
    assert bits(learners[0]) == bits(learners[1])


def test_intervals_episodes_and_the_plan_to_start_from_stay_as_they_are() -> None:
    learner = learner_of(PROBLEM, **MODES["narrow"])
    before = (learner.intervals, int(learner._state.totals["episodes"]), learner._state.values.tobytes())
    run = learner._program[learn_steps].python
    run(learner._constants, learner._state, learner._new_episode_state(), learner._scratch, some_steps())
    assert (learner.intervals, int(learner._state.totals["episodes"]), learner._state.values.tobytes()) == before
