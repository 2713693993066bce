"""Each check of a problem's contract is triggered by a problem or environment that breaks this one thing."""

from functools import partial

import numpy as np
import pytest

from goalbound import SSP, LinearCSSP, ModelEnvironment, Step
from goalbound.experiments.registry import PROBLEMS, ProblemInstance
from goalbound.simulation import bernoulli
from goalbound.testing import ContractError, check_problem, small_problem


def finding(problem, **options):
    with pytest.raises(ContractError) as error:
        check_problem(problem, **options)
    (line,) = error.value.findings
    return line


def corner(losses=0.5, out=1.0):
    return SSP.dense([[losses]], [[[1.0 - out, out]]])


def test_a_fine_problem_is_identified_by_its_sizes():
    report = check_problem(small_problem())
    assert (report.states, report.pairs, report.triples, report.context_size) == (3, 6, 12, 2)
    assert (report.loss_floor, report.zero_losses, report.never_used, report.environment_steps) == (0.2, 0, 0, 0)
    assert "every context has a proper policy; smallest loss 0.2" in str(report)


def test_losses_of_zero_are_reported_and_no_error():
    report = check_problem(LinearCSSP.mix([corner(losses=0.0), corner()]))
    assert report.zero_losses == 1
    assert "1 pairs may lose nothing: LR-CSSP then needs the number of episodes" in str(report)


def spoiled(**arrays):
    problem = small_problem()
    for name, array in arrays.items():
        object.__setattr__(problem, name, array)
    return problem


def test_losses_outside_their_range_are_found_by_place():
    losses = small_problem().losses.copy()
    losses[2, 1] = 1.5
    line = finding(spoiled(losses=losses))
    assert 'component 1 ("wet"), state 1 ("middle"), action 1 ("run"): loss 1.5 is not in [0, 1]' in line


def test_rows_that_are_no_distributions_are_found_by_place():
    rows = small_problem().probabilities.copy()
    rows[0, 0] += 0.25
    assert "probabilities sum to 1.25, not 1" in finding(spoiled(probabilities=rows))


def test_arrays_that_can_be_written_to_are_found():
    losses = small_problem().losses.copy()
    assert finding(spoiled(losses=losses)).startswith("losses: this array can be written to")


def test_a_component_without_a_proper_policy_is_found():
    problem = LinearCSSP.mix([corner(), corner(out=0.0)], component_names=["open", "closed"])
    line = finding(problem)
    assert line.startswith('component 1 ("closed"): there is no proper policy from state 0')


def instance(make):
    return ProblemInstance(small_problem(), make)


@pytest.mark.parametrize("losses", [None, bernoulli()])
def test_a_world_that_plays_its_problem_passes(losses):
    problem = small_problem()
    report = check_problem(ProblemInstance(problem, partial(ModelEnvironment, problem, losses=losses)))
    assert report.environment_steps >= 2000
    assert "the environment agreed in" in str(report)


@pytest.mark.parametrize("name", ["frozen-lake", "cliff-walking", "taxi"])
def test_the_worlds_of_gymnasium_play_their_problems(name):
    pytest.importorskip("gymnasium")
    assert check_problem(PROBLEMS.entry(name, "problems").make(), steps=600).environment_steps >= 600


class Altered(ModelEnvironment):
    """An environment whose steps a subclass changes."""

    def __init__(self, *, rng):
        super().__init__(small_problem(), rng=rng)

    def step(self, action):
        return self.change(super().step(action))

    def change(self, step):
        return step


def test_a_world_begins_where_the_problem_begins():
    class Elsewhere(Altered):
        def begin(self, context):
            super().begin(context)
            return 2

    assert finding(instance(Elsewhere)) == "environment: it began in 2; episodes begin in one of [0]"


def test_a_world_answers_with_steps():
    class Tuples(Altered):
        def change(self, step):
            return tuple(step)

    assert finding(instance(Tuples)).startswith("environment: step gave a tuple; give a Step(")


def test_a_step_says_what_was_played_where():
    class Confused(Altered):
        def change(self, step):
            return step._replace(state=step.state + 1)

    assert "returned Step(state=1, " in finding(instance(Confused))


def test_losses_of_the_world_lie_in_their_range():
    class Dear(Altered):
        def change(self, step):
            return step._replace(loss=step.loss + 0.5)

    assert "has a loss outside [0, 1]; divide losses by their largest" in finding(instance(Dear))


def test_a_world_leads_only_where_the_problem_may():
    class Shortcut(Altered):
        def change(self, step):
            if step.state == 0 and step.next_state == 1:
                self._state = 3
                return step._replace(next_state=3)
            return step

    line = finding(instance(Shortcut))
    assert 'state 0 ("start"), action 0 ("walk") led to 3, which cannot follow' in line
    assert "the problem says [0, 1] (the goal is 3)" in line


def test_a_world_draws_from_its_own_generator():
    class Own(Altered):
        count = 0

        def __init__(self, *, rng):
            Own.count += 1
            super().__init__(rng=np.random.default_rng(Own.count))

    assert finding(instance(Own)).startswith(
        "environment: two environments made from the same rng responded differently"
    )


def test_a_world_has_the_losses_and_chances_of_its_problem():
    class Cheap(Altered):
        def change(self, step):
            return step._replace(loss=0.0)

    line = finding(instance(Cheap))
    # 0.9 for waiting: some 170 steps of 667 under the middle context suffice to tell it from 0.
    assert "the mean loss was 0 in" in line
    assert "regret is measured against the problem" in line

    class Lucky(Altered):
        def change(self, step):
            if step.state == 2 and step.action == 0:
                self._state = 3
                return Step(2, 0, step.loss, 3)
            if step.state == 2 and step.action == 1:
                self._state = 1
                return Step(2, 1, step.loss, 1)
            return step

    assert "chance of next state" in finding(instance(Lucky), steps=6000)


def test_an_error_of_the_world_is_a_finding():
    def make(*, rng):
        raise OSError("no display")

    assert finding(instance(make)).startswith("environment: raised OSError: no display")
