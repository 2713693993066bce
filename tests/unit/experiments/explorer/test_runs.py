"""Learners of experiments: from records, and played again."""

import pytest

from goalbound.experiments.explorer.runs import (
    ReplayOptions,
    chosen_runs,
    recorded_course,
    replayed_course,
)
from goalbound.experiments.registry import Component
from goalbound.experiments.run import run
from goalbound.experiments.run_spec import RunSpec


def spec(learner="lr-cssp", label="LR-CSSP", problem="ladder", seed=0, **settings):
    return RunSpec(
        Component("treatment-ladder", {"levels": 2, "markers": 1}, problem), Component(learner, settings, label),
        Component("dirichlet", {}, "dirichlet"), "deterministic", 12, seed, 1000,
    )  # fmt: skip


@pytest.fixture(scope="module")
def record():
    return run(spec())


def test_a_record_has_the_policies_of_the_end(record):
    course = recorded_course(record)
    (view,) = course.views
    assert view.episodes == 12
    assert len(view.policy) == len(course.contexts) == 41
    assert set(view.lower) == set(view.upper) == set(view.known) == {None}
    assert "not played again" in course.notes[0]


def test_a_replay_has_the_regret_of_the_record_and_ends_with_its_policies(record):
    told = []
    course = replayed_course(record.spec, ReplayOptions(views=3, contexts=5), record=record, tell=told.append)
    assert course.notes == ["The replay has the regret of the record."]
    assert [view.episodes for view in course.views] == [0, 1, 12]
    assert len(told) == 3
    assert course.contexts.tolist() == [[0.0, 1.0], [0.25, 0.75], [0.5, 0.5], [0.75, 0.25], [1.0, 0.0]]
    of_record = dict(
        zip(map(tuple, recorded_course(record).contexts), recorded_course(record).views[0].policy, strict=True)
    )
    for context, policy in zip(course.contexts, course.views[-1].policy, strict=True):
        assert of_record[tuple(context)] == policy


RUNS = [
    spec(label=label, problem=problem, seed=seed)
    for problem in ("one", "two")
    for label in ("a", "b")
    for seed in (4, 2)
]


def test_the_first_problem_and_seed_of_all_learners_are_chosen_unless_others_are_named():
    chosen = chosen_runs(RUNS, problem=None, learners=[], seed=None)
    assert [(run.problem.label, run.learner.label, run.seed) for run in chosen] == [("one", "a", 2), ("one", "b", 2)]
    chosen = chosen_runs(RUNS, problem="two", learners=["b"], seed=4)
    assert [(run.problem.label, run.learner.label, run.seed) for run in chosen] == [("two", "b", 4)]
