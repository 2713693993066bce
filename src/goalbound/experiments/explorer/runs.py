"""Learners of an experiment for the explorer: from records alone, or by playing their runs again.

A record has the policies of the learner at the end. How sure it was, which pairs it knew, and all that came before is
not in it; but a run is a pure function of its spec, so it is played again and looked at on the way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from goalbound.errors import ArgumentError
from goalbound.experiments.explorer.learner_views import LearnerCourse, LearnerView, describe, has_plan, learner_view
from goalbound.experiments.explorer.optimum import simplex_lattice
from goalbound.experiments.plugins import Plugins
from goalbound.experiments.records import RunRecord
from goalbound.experiments.registry import instantiate
from goalbound.experiments.registry.problems import problem_instance
from goalbound.experiments.run import build
from goalbound.experiments.run_spec import RunSpec
from goalbound.learners.card import LearnerCard
from goalbound.models import LinearCSSP
from goalbound.models.step import deterministic

SAME_REGRET = 1e-9
"""Relative: the regret of a replay is that of the record, but for the order in which it is summed."""
Told = Callable[[str], object]


class ReplayOptions(NamedTuple):
    """How runs are played again.

    Attributes:
        views: how often a learner is looked at, at first and at last included.
        contexts: the most contexts at which it is looked at.
        episodes: play no more than so many; None: all.
        plugins: modules of third parties that a run may import, and where they are beside those installed.
    """

    views: int = 6
    contexts: int = 36
    episodes: int | None = None
    plugins: Plugins | Sequence[str] = ()


def run_problem(spec: RunSpec, *, plugins: Plugins | Iterable[str] = ()) -> LinearCSSP:
    """The problem of a run."""
    made = instantiate("problems", spec.problem, Plugins.of(plugins))
    return problem_instance(made, deterministic(), f"problems ({spec.problem.use})").problem


def grid_of(use: str, settings: Mapping[str, Any]) -> tuple[int, int] | None:
    """Rows and columns of the problems that are grids without saying so in the names of their states.

    >>> grid_of("frozen-lake", {"map_name": "8x8"}), grid_of("cliff-walking", {}), grid_of("random", {})
    ((8, 8), (4, 12), None)
    """
    if use == "cliff-walking":
        return 4, 12
    if use != "frozen-lake":
        return None
    rows, _, columns = str(settings.get("map_name", "4x4")).partition("x")
    return int(rows), int(columns)


def recorded_course(record: RunRecord) -> LearnerCourse | None:
    """What a record says of its learner: the policies that it would play at the end; None if it has none."""
    policies, actions = record.metadata.get("policies"), record.metadata.get("actions")
    if policies is None or actions is None or all(one is None for one in actions["learned_at"]):
        return None
    played = [None if at is None else list(actions["learned"][at]) for at in actions["learned_at"]]
    nothing = [None] * len(played)
    view = LearnerView(record.spec.episodes, played, nothing, nothing, nothing, nothing)
    return LearnerCourse(
        record.spec.learner.label, _card_text(record), np.array(policies["contexts"]), [view],
        ["A record has no bounds and no known pairs, and nothing of the time before: the run was not played again."],
        f"the record of seed {record.spec.seed}",
    )  # fmt: skip


def _card_text(record: RunRecord) -> str:
    return LearnerCard.from_json(record.metadata["card"]).description


def view_times(episodes: int, count: int) -> list[int]:
    """The episodes after which a learner is looked at: none, then evenly on a logarithmic scale up to all.

    >>> view_times(2000, 6)
    [0, 10, 38, 140, 530, 2000]
    >>> view_times(5, 6)
    [0, 1, 2, 3, 5]
    """
    if count < 2 or episodes < 1:
        return [episodes]
    between = np.geomspace(min(10, max(1, episodes // 100) if episodes < 1000 else 10), episodes, count - 1)
    return sorted({0, episodes, *(int(float(f"{one:.2g}")) for one in between[:-1])})


def replayed_course(
    spec: RunSpec, options: ReplayOptions, *, record: RunRecord | None = None, tell: Told = lambda text: None
) -> LearnerCourse | None:
    """Play a run again and look at its learner on the way; None if it cannot say what it would do.

    With its record, the course says whether the replay had the same regret.
    """
    began = time.monotonic()
    simulation = build(spec, plugins=options.plugins)
    if not has_plan(simulation.learner):
        return None
    support, size = simulation.problem.support, simulation.problem.context_size
    contexts = simplex_lattice(size, most=options.contexts, finest=20)
    last = min(spec.episodes, options.episodes or spec.episodes)
    views, regret = [], 0.0
    for until in view_times(last, options.views):
        if until > simulation.episodes_played:
            history = simulation.run(until - simulation.episodes_played)
            if history.interrupted:
                raise KeyboardInterrupt
            regret += float(np.sum(history.expected_regret))
        views.append(learner_view(simulation.learner, support, contexts, episodes=until))
        tell(f"{spec.learner.label}: {until:,} of {last:,} episodes, {time.monotonic() - began:.0f} s")
    source = f"seed {spec.seed}, played again: {last:,} of {spec.episodes:,} episodes" if last < spec.episodes else (
        f"seed {spec.seed}, played again: all {last:,} episodes"
    )  # fmt: skip
    return LearnerCourse(
        spec.learner.label, describe(simulation.learner), contexts, views,
        _compared(regret, record if last == spec.episodes else None), source,
    )  # fmt: skip


def _compared(regret: float, record: RunRecord | None) -> list[str]:
    if record is None:
        return []
    recorded = float(record.metadata["totals"]["expected_regret"])
    if abs(regret - recorded) <= SAME_REGRET * max(1.0, abs(recorded)):
        return ["The replay has the regret of the record."]
    return [
        f"The replay has a regret of {regret:.6g}, the record {recorded:.6g}: other versions of the software played it."
    ]


def chosen_runs(
    runs: Sequence[RunSpec], *, problem: str | None, learners: Sequence[str], seed: int | None
) -> list[RunSpec]:
    """One run of each learner on one problem: those named, else the first problem, its first contexts, all learners and
    the first seed."""
    if not runs:
        raise ArgumentError("the experiment has no runs to explore; run it first")
    labels = list(dict.fromkeys(run.problem.label for run in runs))
    if problem is not None and problem not in labels:
        raise ArgumentError(f'no problem of the experiment is called "{problem}"; there are {_listed(labels)}')
    kept = [run for run in runs if run.problem.label == (problem or labels[0])]
    kept = [run for run in kept if run.contexts.label == kept[0].contexts.label]
    known = list(dict.fromkeys(run.learner.label for run in kept))
    for label in learners:
        if label not in known:
            raise ArgumentError(f'no learner of the experiment is called "{label}"; there are {_listed(known)}')
    seeds = sorted({run.seed for run in kept})
    if seed is not None and seed not in seeds:
        raise ArgumentError(f"no run has the seed {seed}; there are {', '.join(map(str, seeds))}")
    wanted = seeds[0] if seed is None else seed
    return [run for run in kept if run.seed == wanted and run.learner.label in (learners or known)]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
