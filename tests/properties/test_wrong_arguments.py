"""Wrong arguments of public constructors and functions: one clear error each, of our own kind, that names the argument.

Every argument of every callable below is given each of the wrong values, the others being right. A value may also be
fine (0.5 is a good tolerance); what may not happen is any other exception, or one that leaves the reader to guess.
``GOALBOUND_EXAMPLES=20`` also tries twenty thousand pairs of wrong arguments, fresh ones at each run.
"""

from __future__ import annotations

import datetime
import math
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import goalbound as gb
from goalbound import confidence, errors, planning, simulation
from goalbound.adapters import covariates as cov
from goalbound.adapters.gymnasium import give_up, negated_rewards, penalty_exit, per_step, restart
from goalbound.around.monitor import ChangeDetector
from goalbound.around.runbook import Apprentice
from goalbound.baselines import (
    Method,
    TabularOptions,
    bernstein_ssp,
    eb_ssp,
    hoeffding_ssp,
    psrl_ssp,
    uc_ssp,
    ulcvi,
)
from goalbound.errors import (
    LearnerError,
)
from goalbound.learners import reference
from goalbound.learners.explore.epsilon import Epsilon
from goalbound.learners.explore.greedy import Greedy
from goalbound.learners.explore.kwik import Kwik, kwik_threshold
from goalbound.learners.explore.local import Local
from goalbound.learners.explore.posterior import Posterior
from goalbound.logs import LogColumns, evaluate_policy, pairs_below_floor, read_log
from goalbound.problems import (
    biomarker,
    catalog_entry,
    deceptive_lock,
    dense_random,
    incident_contexts,
    incident_log,
    incident_recovery,
    long_corridor,
    random_cssp,
    routing_grid,
    runbook,
    treatment_curve,
    treatment_ladder,
    windy_grid,
)
from goalbound.problems.roads import Regime
from tests.support.strategies import EXAMPLES_FACTOR
from tests.support.units import in_units

OURS = (errors.InputError, LearnerError, errors.PlanningStopped, errors.ProjectionFailed)


def nested(depth: int) -> list[Any]:
    out: list[Any] = []
    for _ in range(depth):
        out = [out]
    return out


class Unhelpful:
    """Neither a number nor an array, and it says so rudely."""

    def __array__(self, *_: object, **__: object) -> Any:
        raise RuntimeError("no array")

    def __repr__(self) -> str:
        return "Unhelpful()"


class Frame:
    """As data frames do, it has a method of the name that maps have."""

    def apply(self, *_: object) -> None:
        return None


WRONG: dict[str, Any] = {
    "None": None, "text": "x", "a number as text": "0.1", "no text": "", "bytes": b"1", "nan": math.nan,
    "inf": math.inf, "-inf": -math.inf, "-1": -1, "0": 0, "-0.5": -0.5, "0.5": 0.5, "1.5": 1.5, "2**62": 2**62,
    "2**64": 2**64, "10**30": 10**30, "-10**30": -(10**30), "10**400": 10**400, "1e308": 1e308,
    "denormal": 5e-324, "5001 digits": 10**5000, "minus 5001 digits": -(10**5000),
    "True": True, "False": False, "1j": 1j, "[]": [], "[[]]": [[]], "[1.0]": [1.0], "[[1.0]]": [[1.0]],
    "[nan]": [math.nan],
    "[inf, 1]": [math.inf, 1.0], "[-1, 2]": [-1.0, 2.0], "[None]": [None], "['a']": ["a"],
    "ragged": [[1.0], [2.0, 3.0]],
    "[10**400]": [10**400], "deep": nested(200), "{}": {}, "names": {"a": {"b": ["c"]}}, "{(0, 0): 'x'}": {(0, 0): "x"},
    "a set": {1, 2}, "a range": range(3), "an object": object(), "unhelpful": Unhelpful(), "a class": int,
    "a function": lambda *_, **__: None, "a date": datetime.date(2020, 1, 1), "a fraction": Fraction(1, 2),
    "decimal nan": Decimal("NaN"), "decimal": Decimal("0.5"), "numpy nan": np.float64("nan"),
    "numpy bool": np.True_, "numpy int": np.int8(-1), "float32": np.float32(0.5), "no dimension": np.array(0.5),
    "empty": np.array([]), "empty 2d": np.empty((0, 3)), "3d": np.zeros((2, 2, 2)),
    "complex array": np.array([1j, 0.0]),
    "dates": np.array(["2020-01-01"], dtype="datetime64[D]"), "durations": np.array([1], dtype="timedelta64[s]"),
    "texts": np.array(["a", "b"]), "objects": np.array([object(), None]), "records": np.zeros(2, dtype=[("a", "f8")]),
    "bools": np.array([True, False]), "huge ints": np.array([2**63], dtype=np.uint64), "iterator": iter(()),
    "numbers": np.array([0, 1]), "a table": np.ones((2, 2)), "two Nones": np.array([None, None]),
    "a frame": Frame(),
}  # fmt: skip

SUPPORT = gb.Support.full(2, 2)
SSP = gb.SSP.dense([[0.5, 0.2], [0.3, 0.4]], [[[0.2, 0.3, 0.5], [0.0, 0.5, 0.5]], [[0.5, 0.0, 0.5], [0.1, 0.1, 0.8]]])
PROBLEM = gb.LinearCSSP.mix([SSP, SSP])
INCIDENTS = incident_recovery(2)
KNOWLEDGE = gb.PriorKnowledge.nothing(SUPPORT, 2)
PLAUSIBLE = gb.BallSet(SUPPORT, [0.1] * 4, [0.2] * 4, [0.3, 0.3, 0.4] * 4, [0.1] * 4)
HATS = cov.Hats([0.0, 1.0], clamp=True)
PRODUCT = cov.Tensor([HATS, HATS], [0, 1])
CORNERS = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
MAPS: list[tuple[Any, Any]] = [
    (cov.Periodic.even(24, count=4), 0.5),
    (cov.Categories(["a"]), "a"),
    (cov.SoftClusters(CORNERS, 1.0), [0.2, 0.2]),
    (cov.Additive([HATS, HATS], [0, 1]), [0.5, 0.5]),
    (PRODUCT, [0.5, 0.5]),
]
MINUTES = gb.LossScale("min", cap=60)
LOGGED = {"case": [1], "time": [1], "state": ["s"], "action": ["a"], "loss": [0.5], "next_state": ["goal"], "x": [0.5]}

COMMON: dict[str, Any] = {"support": SUPPORT, "loss_floor": 0.1, "scale": 1.0, "options": None}
"""The arguments of all context-free learners."""


def halves(rows: Any) -> list[list[float]]:
    return [[0.5, 0.5] for _ in rows]


def drawn(rng: np.random.Generator, first: int, count: int) -> list[float]:
    return [0.5] * count


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def learner(**others: Any) -> gb.LRCSSP:
    return gb.LRCSSP(**{"support": SUPPORT, "context_size": 2, "loss_floor": 0.1, **others})


def guarded() -> gb.Guarded:
    return gb.Guarded(learner(), [0, 1], after_steps=3)


def stepped(**parts: Any) -> None:
    episode = learner().begin([0.5, 0.5])
    step = {"state": 0, "action": episode.act(0), "loss": 0.5, "next_state": 2, **parts}
    episode.observe(gb.Step(**step))


def tabular(**others: Any) -> Any:
    return gb.TabularLearner(**{"support": SUPPORT, "method": Method("eb-ssp"), "loss_floor": 0.1, **others})


def played(**others: Any) -> Any:
    return gb.play(**{"problem": PROBLEM, "learner": gb.Clairvoyant(PROBLEM), "contexts": gb.OneHot(2), **others})


def built(components: int | None = None) -> gb.Builder:
    plan = gb.Builder(components)
    plan.add("s", "a", loss=0.1, to={"goal": 1.0})
    return plan


def identified() -> gb.LRCSSP:
    """A learner with an open episode."""
    one = learner()
    one.begin([0.5, 0.5], id="case 17")
    return one


def driven() -> Any:
    episode = learner().begin([0.5, 0.5])
    episode.act(0)
    return episode


def begun_environment() -> gb.ModelEnvironment:
    environment = gb.ModelEnvironment(PROBLEM, rng=rng())
    environment.begin([0.5, 0.5])
    return environment


Case = tuple[Callable[..., Any], dict[str, Any]]
"""a callable, and right values of the arguments that are made wrong one after the other"""

CASES: dict[str, Case] = {
    # problems
    "Support": (gb.Support, {
        "pair_start": [0, 1], "pair_action": [0], "next_start": [0, 1], "next_state": [1], "state_names": None,
        "action_names": None,
    }),
    "Support.full": (gb.Support.full, {"states": 2, "actions": 2}),
    "Support.from_pairs": (gb.Support.from_pairs, {"pairs": [{0: [1]}], "state_names": None, "action_names": None}),
    "Support.from_names": (gb.Support.from_names, {"pairs": {"s": {"a": ["goal"]}}, "goal": "goal"}),
    "Support.from_names of a pair": (lambda pairs: gb.Support.from_names({"s": {"a": pairs}}), {"pairs": ["goal"]}),
    "Support.pair": (SUPPORT.pair, {"state": 0, "action": 0}),
    "Support.state": (SUPPORT.state, {"state": 0}),
    "SSP": (gb.SSP, {
        "support": SSP.support, "losses": SSP.losses, "probabilities": SSP.probabilities, "start": 0, "loss_scale": 1.0,
    }),
    "SSP.dense": (gb.SSP.dense, {
        "losses": [[0.5]], "transitions": [[[0.5, 0.5]]], "start": 0, "state_names": None, "action_names": None,
        "loss_scale": 1.0,
    }),
    "SSP.from_transitions": (gb.SSP.from_transitions, {
        "transitions": [(0, 0, 1, 1.0, 0.5)], "start": 0, "loss_scale": 1.0,
    }),
    "LinearCSSP": (gb.LinearCSSP, {
        "support": PROBLEM.support, "losses": PROBLEM.losses, "probabilities": PROBLEM.probabilities, "start": 0,
        "component_names": None, "loss_scale": 1.0,
    }),
    "LinearCSSP.dense": (gb.LinearCSSP.dense, {
        "losses": [[[0.5]]], "transitions": [[[[0.5, 0.5]]]], "start": 0, "state_names": None, "action_names": None,
        "component_names": None, "loss_scale": 1.0,
    }),
    "LinearCSSP.mix": (gb.LinearCSSP.mix, {"problems": [SSP], "component_names": None}),
    "LinearCSSP.at": (PROBLEM.at, {"context": [0.5, 0.5]}),
    "LinearCSSP.component": (PROBLEM.component, {"component": 0}),
    "Builder": (gb.Builder, {"components": 2}),
    "Builder.add": (lambda **a: gb.Builder().add(**a), {"state": "s", "action": "a", "loss": 0.1, "to": {"goal": 1.0}}),
    "Builder.ssp": (lambda **a: built().ssp(**a), {"start": "s", "loss_scale": 1.0}),
    "Builder.linear_cssp": (lambda **a: built(2).linear_cssp(**a), {"start": "s", "loss_scale": 1.0}),
    "BallSet": (gb.BallSet, {
        "support": SUPPORT, "loss_low": [0.1] * 4, "loss_high": [0.2] * 4, "rows": [0.3, 0.3, 0.4] * 4,
        "radii": [0.1] * 4,
    }),
    "BallSet.contains": (PLAUSIBLE.contains, {"ssp": SSP, "slack": 0.1}),
    "IntervalSet": (gb.IntervalSet, {
        "support": SUPPORT, "loss_low": [0.1] * 4, "loss_high": [0.2] * 4, "low": [0.0] * 12, "high": [1.0] * 12,
    }),
    "LossScale": (gb.LossScale, {"unit": "min", "cap": 60.0, "beyond": "refuse"}),
    "LossScale.from_unit": (gb.LossScale("min", 60).from_unit, {"amounts": 30.0}),
    "LossScale.total_from_unit": (gb.LossScale("min", 60).total_from_unit, {"amounts": 300.0}),
    "LossScale.to_unit": (gb.LossScale("min", 60).to_unit, {"losses": 0.5}),
    "LossScale.beyond_cap": (gb.LossScale("min", 60).beyond_cap, {"amounts": 30.0}),
    "LossScale.from_json": (gb.LossScale.from_json, {"values": gb.LossScale("min", 60).as_json()}),
    # planning
    "solve": (gb.solve, {"ssp": SSP, "tolerance": 1e-6, "unreachable": "refuse"}),
    "evaluate": (gb.evaluate, {"ssp": SSP, "policy": [0, 0], "tolerance": 1e-6}),
    "hitting_times": (planning.hitting_times, {"ssp": SSP, "policy": [0, 0], "tolerance": 1e-6}),
    "is_proper": (planning.is_proper, {"ssp": SSP, "policy": [0, 0]}),
    "blocking_states": (planning.blocking_states, {"ssp": SSP}),
    "optimal_values": (gb.optimal_values, {"problem": PROBLEM, "contexts": [[0.5, 0.5]], "tolerance": 1e-6}),
    "context_bounds": (gb.context_bounds, {
        "problem": PROBLEM, "tolerance": 0.5, "most_regions": 3, "time_limit": 9.0, "progress": None,
    }),
    "robust_plan": (planning.robust_plan, {"sets": PLAUSIBLE, "tolerance": 1e-6}),
    "LRCSSP.policy_bounds": (lambda **a: learner().policy_bounds(**a), {"context": [0.5, 0.5], "policy": [0, 0]}),
    "LRCSSP.robust_plan": (lambda **a: learner().robust_plan(**a), {"context": [0.5, 0.5]}),
    "LRCSSP.explain": (lambda **a: learner().explain(**a), {"context": [0.5, 0.5], "state": 0}),
    "policy_bounds": (gb.policy_bounds, {"sets": PLAUSIBLE, "policy": [0, 0], "tolerance": 1e-6}),
    "extended_value_iteration": (gb.extended_value_iteration, {
        "sets": PLAUSIBLE, "tolerance": 1e-3, "start": None, "sweeps": 100,
    }),
    # confidence
    "Statistics": (gb.Statistics, {"support": SUPPORT, "context_size": 2, "regularization": 1.0}),
    "Statistics.record": (lambda **a: gb.Statistics(SUPPORT, 2).record(**a), {
        "context": [0.5, 0.5], "step": gb.Step(0, 0, 0.5, 2),
    }),
    "ridge_estimate": (gb.ridge_estimate, {"statistics": gb.Statistics(SUPPORT, 2)}),
    "project": (gb.project, {"estimate": gb.ridge_estimate(gb.Statistics(SUPPORT, 2)), "start": None}),
    "confidence_set": (gb.confidence_set, {
        "statistics": gb.Statistics(SUPPORT, 2), "context": [0.5, 0.5], "widths": confidence.paper(), "delta": 0.1,
        "loss_floor": 0.1, "estimate": None,
    }),
    "scaled": (confidence.scaled, {"widths": confidence.paper(), "by": 0.5}),
    "sharp": (confidence.sharp, {"goal": True, "half": True, "determinant": True, "entrywise": True, "variance": True}),
    # learners
    "LRCSSP": (gb.LRCSSP, {
        "support": SUPPORT, "context_size": 2, "delta": 0.1, "loss_floor": 0.1, "loss_bound": None,
        "widths": confidence.sharp(), "prior": None, "options": None,
    }),
    "LearnerOptions": (gb.LearnerOptions, {
        "regularization": 1.0, "forget": False, "tolerance": 1e-3, "replan_factor": 1.0, "check_linearity": None,
        "episodes": 9,
    }),
    "LRCSSP.scaled": (gb.LRCSSP.scaled, {
        "support": SUPPORT, "context_size": 2, "loss_floor": 0.1, "loss_bound": 4.0, "prior": None, "scale": 0.5,
        "delta": 0.1,
    }),
    "LRCSSP.begin": (lambda **a: learner().begin(**a), {"context": [0.5, 0.5], "id": "case 17"}),
    "LRCSSP.episode": (lambda id: identified().episode(id), {"id": "case 17"}),
    "LRCSSP.learn": (lambda **a: learner().learn(**a), {"context": [0.5, 0.5], "step": gb.Step(0, 0, 0.5, 2)}),
    "LRCSSP.learn_log": (lambda log: learner().learn_log(log), {"log": [([0.5, 0.5], gb.Step(0, 0, 0.5, 2))]}),
    "LRCSSP.merge": (lambda other: learner().merge(other), {"other": learner()}),
    "LRCSSP.extended": (lambda support: learner().extended(support), {"support": SUPPORT}),
    "LRCSSP.with_settings": (lambda **a: learner().with_settings(**a), {
        "loss_floor": 0.2, "loss_bound": None, "widths": confidence.sharp(), "delta": 0.2, "prior": None,
        "options": gb.LearnerOptions(),
    }),
    "LRCSSP.loss_scale": (lambda scale: in_units(learner(), scale), {"scale": MINUTES}),
    "in units: learn": (lambda **a: in_units(learner(), MINUTES).learn(**a), {
        "context": [0.5, 0.5], "step": gb.Step(0, 0, 12.0, 2),
    }),
    "in units: learn a loss": (lambda loss: in_units(learner(), MINUTES).learn([0.5, 0.5], gb.Step(0, 0, loss, 2)), {
        "loss": 12.0,
    }),
    "in units: learn_log": (lambda log: in_units(learner(), MINUTES).learn_log(log), {
        "log": [([0.5, 0.5], gb.Step(0, 0, 12.0, 2))],
    }),
    "in units: merge": (lambda other: in_units(learner(), MINUTES).merge(other), {
        "other": in_units(learner(), MINUTES),
    }),
    "Plan.in_unit": (learner().plan([0.5, 0.5]).in_unit, {"scale": MINUTES}),
    "PolicyBounds.in_unit": (learner().policy_bounds([0.5, 0.5]).in_unit, {"scale": MINUTES}),
    "in units: progress": (in_units(Apprentice(learner(), [0, 1]), MINUTES).progress, {"context": [0.5, 0.5]}),
    "ApprenticeProgress.in_unit": (Apprentice(learner(), [0, 1]).progress([0.5, 0.5]).in_unit, {"scale": MINUTES}),
    "Explanation.in_unit": (learner().explain([0.5, 0.5], 0).in_unit, {"scale": MINUTES}),
    "LRCSSP.plan": (learner().plan, {"context": [0.5, 0.5]}),
    "LRCSSP.confidence_set": (learner(widths=confidence.sharp()).confidence_set, {"context": [0.5, 0.5]}),
    "LRCSSP act": (lambda **a: learner().begin([0.5, 0.5]).act(**a), {"state": 0, "allowed": [0, 1]}),
    "LRCSSP begins": (lambda **a: driven().begins(**a), {"action": 0}),
    "LRCSSP moved_to": (lambda **a: driven().moved_to(**a), {"state": 1, "missing_at_random": False}),
    "LRCSSP abandon": (lambda **a: driven().abandon(**a), {"reason": "left", "missing_at_random": False}),
    "LRCSSP observe": (stepped, {"state": 0, "action": 0, "loss": 0.5, "next_state": 2}),
    "LRCSSP observe step": (lambda **a: driven().observe(**a), {"step": gb.Step(0, 0, 0.5, 2), "overridden": False}),
    "LRCSSP observe overridden": (lambda step: driven().observe(step, overridden=True), {
        "step": gb.Step(0, 1, 0.5, 2),
    }),
    "Apprentice": (Apprentice, {"learner": learner(), "runbook": [0, 1], "margin": 0.1}),
    "Apprentice.begin": (lambda **a: Apprentice(learner(), [0, 1]).begin(**a), {"context": [0.5, 0.5], "id": "x"}),
    "Apprentice.progress": (Apprentice(learner(), [0, 1]).progress, {"context": [0.5, 0.5]}),
    "Apprentice.extended": (Apprentice(learner(), [0, 1]).extended, {"support": SUPPORT, "runbook": None}),
    "Apprentice.with_settings": (Apprentice(learner(), [0, 1]).with_settings, {"loss_floor": 0.2, "delta": 0.2}),
    "Apprentice.merge": (lambda other: Apprentice(learner(), [0, 1]).merge(other), {
        "other": Apprentice(learner(), [0, 1]),
    }),
    "Apprentice act": (lambda **a: Apprentice(learner(), [0, 1]).begin([0.5, 0.5]).act(**a), {
        "state": 0, "allowed": [0, 1],
    }),
    "Apprentice observe": (lambda **a: Apprentice(learner(), [0, 1]).begin([0.5, 0.5]).observe(**a), {
        "step": gb.Step(0, 1, 0.5, 2), "overridden": True,
    }),
    "Guarded": (gb.Guarded, {"learner": learner(), "runbook": [0, 1], "after_steps": 3, "after_loss": 0.5}),
    "Guarded.begin": (lambda **a: guarded().begin(**a), {"context": [0.5, 0.5], "id": "x"}),
    "Guarded.learn": (guarded().learn, {"context": [0.5, 0.5], "step": gb.Step(0, 1, 0.5, 2)}),
    "Guarded.with_settings": (guarded().with_settings, {"loss_floor": 0.2, "delta": 0.2}),
    "Guarded act": (lambda **a: guarded().begin([0.5, 0.5]).act(**a), {"state": 0, "allowed": [0, 1]}),
    "Guarded observe": (lambda **a: guarded().begin([0.5, 0.5]).observe(**a), {
        "step": gb.Step(0, 1, 0.5, 2), "overridden": True,
    }),
    "Guarded abandon": (lambda **a: guarded().begin([0.5, 0.5]).abandon(**a), {
        "reason": "left", "missing_at_random": False,
    }),
    "Monitored": (gb.Monitored, {"learner": learner(), "run_length": 100.0, "window": 10, "model": None}),
    "Monitored.begin": (lambda **a: gb.Monitored(learner()).begin(**a), {"context": [0.5, 0.5], "id": "x"}),
    "Monitored.learn": (gb.Monitored(learner()).learn, {"context": [0.5, 0.5], "step": gb.Step(0, 1, 0.5, 2)}),
    "Monitored.learn_log": (gb.Monitored(learner()).learn_log, {"log": [([0.5, 0.5], gb.Step(0, 1, 0.5, 2))]}),
    "Monitored.relearned": (lambda **a: gb.Monitored(learner()).relearned(**a), {
        "since": 0, "keep_others": True, "fresh": None,
    }),
    "Monitored.with_settings": (gb.Monitored(learner()).with_settings, {"loss_floor": 0.2, "delta": 0.2}),
    "Monitored observe": (lambda **a: gb.Monitored(learner()).begin([0.5, 0.5]).observe(**a), {
        "step": gb.Step(0, 1, 0.5, 2), "overridden": True,
    }),
    "ChangeDetector": (ChangeDetector, {"support": SUPPORT, "context_size": 2, "run_length": 100.0, "model": None}),
    "ChangeDetector.observe": (ChangeDetector(SUPPORT, 2).observe, {
        "context": [0.5, 0.5], "step": gb.Step(0, 1, 0.5, 2), "case": 3,
    }),
    "GreedyRidge": (gb.GreedyRidge, {
        "support": SUPPORT, "context_size": 2, "loss_floor": 0.1, "options": None,
    }),
    "EpsilonGreedy": (gb.EpsilonGreedy, {
        "support": SUPPORT, "context_size": 2, "loss_floor": 0.1, "explore": 1.0, "fade": 0.3, "rng": None,
        "options": None,
    }),
    "LocalOptimism": (gb.LocalOptimism, {
        "support": SUPPORT, "context_size": 2, "loss_floor": 0.1, "bonus": 0.2, "options": None,
    }),
    "PosteriorSampling": (gb.PosteriorSampling, {
        "support": SUPPORT, "context_size": 2, "loss_floor": 0.1, "spread": 0.5, "ceiling": 9.0, "rng": None,
        "options": None,
    }),
    "KwikRmax": (gb.KwikRmax, {
        "support": SUPPORT, "context_size": 2, "loss_floor": 0.1, "accuracy": 0.1, "threshold": None, "delta": 0.1,
        "options": None,
    }),
    "Greedy": (Greedy, {"ceiling": 9.0}),
    "Epsilon": (Epsilon, {"explore": 0.5, "fade": 0.5, "ceiling": 9.0}),
    "Posterior": (Posterior, {
        "spread": 0.5, "by_variance": True, "optimism": 0.5, "patience": 9.0, "ceiling": 9.0,
    }),
    "Local": (Local, {"bonus": 0.5, "ceiling": 9.0}),
    "Kwik": (Kwik, {"threshold": 0.5, "ceiling": 9.0}),
    "kwik_threshold": (kwik_threshold, {"context_size": 2, "accuracy": 0.1, "delta": 0.1}),
    "Knowledge.nothing": (gb.PriorKnowledge.nothing, {"support": SUPPORT, "context_size": 2}),
    "PriorKnowledge.with_losses": (KNOWLEDGE.with_losses, {"losses": {(0, 0): 0.2}}),
    "PriorKnowledge.with_losses of a pair": (lambda loss: KNOWLEDGE.with_losses({(0, 0): loss}), {"loss": 0.2}),
    "PriorKnowledge.with_rows": (KNOWLEDGE.with_rows, {"rows": {(0, 0): [0.5, 0.5, 0.0]}}),
    "PriorKnowledge.with_rows of a pair": (lambda row: KNOWLEDGE.with_rows({(0, 0): row}), {"row": [0.5, 0.5, 0.0]}),
    "PriorKnowledge.with_rows of a next state": (lambda row: KNOWLEDGE.with_rows({(0, 0): {0: row, 2: 0.5}}), {
        "row": 0.5,
    }),
    "PriorKnowledge.around": (gb.PriorKnowledge.around, {"model": SSP, "strength": 2.0, "context_size": 2}),
    "PriorKnowledge.with_floors": (KNOWLEDGE.with_floors, {"floors": {(0, 0): 0.2}}),
    "TabularLearner": (gb.TabularLearner, {
        "support": SUPPORT, "method": Method("psrl-ssp"), "loss_floor": 0.1, "rng": None, "options": TabularOptions(),
    }),
    "TabularOptions": (
        lambda known_losses, **others: tabular(options=TabularOptions(known_losses=known_losses, **others)),
        {"delta": 0.1, "added_loss": 0.0, "known_losses": None, "tolerance": 1e-3},
    ),
    "TabularLearner.begin": (tabular().begin, {"context": [1.0]}),
    "uc_ssp": (uc_ssp, {**COMMON}),
    "hoeffding_ssp": (hoeffding_ssp, {**COMMON, "loss_bound": 2.0}),
    "bernstein_ssp": (bernstein_ssp, {**COMMON}),
    "eb_ssp": (eb_ssp, {**COMMON, "loss_bound": None}),
    "ulcvi": (ulcvi, {**COMMON, "loss_bound": 2.0, "time_bound": 2.0, "episodes": 9}),
    "psrl_ssp": (psrl_ssp, {**COMMON, "prior": 0.1, "value_cap": 9.0, "rng": None}),
    "ContextBlind": (gb.ContextBlind, {"learner": tabular()}),
    "Discretized": (gb.Discretized, {"make": lambda rng: tabular(), "context_size": 2, "parts": 2, "rng": None}),
    "Discretized.begin": (gb.Discretized(lambda rng: tabular(), 2).begin, {"context": [0.5, 0.5]}),
    "MappedContexts": (gb.MappedContexts, {"learner": learner(), "see": [[1.0, 0.0], [0.0, 1.0]]}),
    "MappedContexts.begin": (gb.MappedContexts(learner(), np.eye(2)).begin, {"context": [0.5, 0.5]}),
    "Clairvoyant": (gb.Clairvoyant, {"problem": PROBLEM}),
    "Clairvoyant.begin": (gb.Clairvoyant(PROBLEM).begin, {"context": [0.5, 0.5]}),
    "Clairvoyant act": (lambda state: gb.Clairvoyant(PROBLEM).begin([0.5, 0.5]).act(state), {"state": 0}),
    "RandomWalk": (reference.RandomWalk, {"support": SUPPORT, "rng": None}),
    "RandomWalk act": (lambda state: reference.RandomWalk(SUPPORT).begin([1.0]).act(state), {"state": 0}),
    # simulation
    "play": (played, {
        "problem": PROBLEM, "learner": gb.Clairvoyant(PROBLEM), "contexts": gb.OneHot(2), "episodes": 2, "seed": 0,
        "step_limit": 9, "environment": None, "progress": None, "compiled": False, "audit": False,
    }),
    "ModelEnvironment": (gb.ModelEnvironment, {"problem": PROBLEM, "losses": None, "rng": rng()}),
    "ModelEnvironment.begin": (gb.ModelEnvironment(PROBLEM, rng=rng()).begin, {"context": [0.5, 0.5]}),
    "ModelEnvironment.step": (lambda action: begun_environment().step(action), {"action": 0}),
    "bounded": (simulation.bounded, {"spread": 0.5}),
    "Dirichlet": (gb.Dirichlet, {"alpha": [1.0, 1.0]}),
    "Dirichlet.symmetric": (gb.Dirichlet.symmetric, {"context_size": 2, "alpha": 1.0}),
    "OneHot": (gb.OneHot, {"context_size": 2}),
    "FromArray": (simulation.FromArray, {"contexts": [[0.5, 0.5]]}),
    "Cyclic": (simulation.Cyclic, {"contexts": [[0.5, 0.5]]}),
    "Drifting": (simulation.Drifting, {"start": [1.0, 0.0], "end": [0.0, 1.0], "episodes": 3, "noise": 0.1}),
    "Adversary": (gb.Adversary, {"candidates": [[0.5, 0.5]]}),
    "Adversary.anywhere": (gb.Adversary.anywhere, {"context_size": 2}),
    "AuditOptions": (simulation.AuditOptions, {"loss_bound": 9.0, "time_bound": 9.0}),
    # families
    "random_cssp": (random_cssp, {
        "states": 2, "actions": 2, "context_size": 2, "successors": 2, "exit_probability": 0.5, "seed": 0,
    }),
    "dense_random": (dense_random, {"states": 2, "actions": 2, "context_size": 2, "seed": 0}),
    "deceptive_lock": (deceptive_lock, {"length": 2, "actions": 4, "context_size": 2, "seed": 0}),
    "incident_recovery": (incident_recovery, {"hours": 2}),
    "incident_contexts": (incident_contexts, {"problem": INCIDENTS, "hour": 3.0, "traffic": 0.5}),
    "incident_log": (incident_log, {
        "problem": INCIDENTS, "cases": 1, "rng": rng(), "deviation": 0.5, "policy": None, "spread": 0.5,
    }),
    "runbook": (runbook, {"problem": INCIDENTS}),
    "long_corridor": (long_corridor, {"length": 2, "stride": 1, "step_loss": 0.1}),
    "routing_grid": (routing_grid, {"rows": 2, "columns": 2, "regimes": 2, "jam": 4.0, "missed_turn": 0.1}),
    "treatment_curve": (treatment_curve, {"levels": 2, "knots": 3, "relapse": 0.05}),
    "treatment_ladder": (treatment_ladder, {"levels": 2, "markers": 2, "relapse": 0.05}),
    "windy_grid": (windy_grid, {"rows": 2, "columns": 2, "walk_loss": 0.4, "drift_loss": 0.1, "slip": 0.1}),
    "biomarker": (biomarker, {"context": [0.5, 0.5]}),
    "catalog_entry": (catalog_entry, {"name": "windy-grid"}),
    "Regime": (Regime, {"name": "night", "times": [1.0], "missed_turn": 0.1}),
    # covariates
    "Hats": (cov.Hats, {"knots": [0.0, 1.0], "clamp": False, "missing": None}),
    "Periodic": (cov.Periodic, {"period": 24.0, "knots": [0.0, 8.0, 16.0], "missing": None}),
    "Categories": (cov.Categories, {"values": ["a", "b"], "other": False, "missing": None}),
    "SoftClusters": (cov.SoftClusters, {
        "centres": [[0.0], [1.0]], "temperature": 1.0, "scales": None, "missing": None,
    }),
    "Additive": (cov.Additive, {"maps": [HATS, HATS], "columns": ["a", "b"], "weights": None}),
    "Tensor": (cov.Tensor, {"maps": [HATS, HATS], "columns": ["a", "b"]}),
    "fit_hats": (cov.fit_hats, {"values": [0.0, 0.5, 1.0], "count": 2, "clamp": False}),
    "fit_categories": (cov.fit_categories, {"values": ["a", "b"], "min_count": 1, "other": True}),
    "fit_clusters": (cov.fit_clusters, {"table": [[0.0], [1.0], [2.0]], "count": 2, "seed": 0, "temperature": None}),
    "CovariateLearner": (cov.CovariateLearner, {"map": HATS, "learner": learner()}),
    "CovariateLearner.begin": (cov.CovariateLearner(HATS, learner()).begin, {"covariates": 0.5}),
    "CovariateLearner.extended": (cov.CovariateLearner(HATS, learner()).extended, {"support": SUPPORT}),
    "CovariateLearner.with_settings": (cov.CovariateLearner(HATS, learner()).with_settings, {"delta": 0.2}),
    "CovariateLearner.progress": (
        lambda covariates: cov.CovariateLearner(HATS, Apprentice(learner(), [0, 1])).progress(covariates),
        {"covariates": 0.5},
    ),
    "a map": (HATS, {"covariates": 0.5}),
    **{f"{type(one).__name__} of a row": (one, {"covariates": row}) for one, row in MAPS},
    **{f"{type(one).__name__}.many": (one.many, {"table": [row]}) for one, row in MAPS},
    "Periodic.even": (cov.Periodic.even, {"period": 24.0, "count": 4, "start": 0.0}),
    "FromTransformer": (cov.FromTransformer, {"transform": halves, "names": ["a", "b"], "identity": None}),
    "FromTransformer of what is given": (
        lambda rows: cov.FromTransformer(lambda _: rows, ["a", "b"])(0.5), {"rows": [[0.5, 0.5]]},
    ),
    "CovariateContexts": (cov.CovariateContexts, {"map": HATS, "draw_rows": drawn}),
    "CovariateContexts of rows": (
        lambda rows: cov.CovariateContexts(HATS, lambda *_: rows).draw(rng(), 0, 1), {"rows": [0.5]},
    ),
    "uniform_numbers": (cov.uniform_numbers, {"size": 3}),
    "rows_in_order": (cov.rows_in_order, {"table": [0.5]}),
    "rows_at_random": (cov.rows_at_random, {"table": [0.5]}),
    "fill_missing": (cov.fill_missing, {"map": HATS, "table": [0.5, 1.0]}),
    "fill_missing of a product": (cov.fill_missing, {"map": PRODUCT, "table": [[0.5, 1.0]]}),
    "map_as_json": (cov.map_as_json, {"map": HATS}),
    "map_digest": (cov.map_digest, {"map": HATS}),
    "context_report": (cov.context_report, {"map": HATS, "table": [0.0, 0.5]}),
    "map_from_json": (cov.map_from_json, {"values": cov.map_as_json(HATS)}),
    "map_from_settings": (cov.map_from_settings, {"values": {"kind": "Hats", "knots": [0, 1]}}),
    # logs
    "LogColumns": (LogColumns, {
        "case": "case", "time": "time", "state": "state", "action": "action", "loss": "loss",
        "next_state": "next_state", "covariates": (), "context": (), "probability": None,
    }),
    "read_log": (read_log, {
        "table": LOGGED, "columns": LogColumns(covariates=["x"]), "goal": "goal", "support": None,
        "covariate_map": HATS, "loss_scale": None, "errors": "raise",
    }),
    "read_log of a cell": (lambda **cells: read_log({**LOGGED, **{name: [one] for name, one in cells.items()}}), {
        "case": 1, "time": 1, "state": "s", "action": "a", "loss": 0.5, "next_state": "goal",
    }),
    "Log.window": (read_log(LOGGED).window, {"first": 0, "last": 1}),
    "Log.window of a time": (lambda **a: read_log(LOGGED).window(**a), {"since": 0, "until": 9}),
    "evaluate_policy": (evaluate_policy, {
        "log": read_log(LOGGED), "policy": ["a"], "learner": None, "replicates": 2, "level": 0.9, "bounded_cases": None,
        "rng": None,
    }),
    "pairs_below_floor": (pairs_below_floor, {"log": read_log(LOGGED), "loss_floor": 0.5, "delta": 0.1}),
    "LRCSSP.add_caveat": (
        lambda reason: gb.LRCSSP(gb.Support.full(1, 1), 1, loss_floor=0.1).add_caveat(reason), {"reason": "some rows"},
    ),
    # environments of others
    "negated_rewards": (negated_rewards, {"scale": 1.0, "goal_reward": None}),
    "per_step": (per_step, {"loss": 0.5, "scale": 1.0}),
    "restart": (restart, {"loss": 1.0}),
    "penalty_exit": (penalty_exit, {"loss": 1.0}),
    "give_up": (give_up, {"loss": 1.0}),
}  # fmt: skip

ALSO: dict[tuple[str, str], str] = {
    **{(name, "ssp"): "problem" for name in ("solve", "evaluate", "hitting_times", "is_proper", "blocking_states")},
    ("SSP.from_transitions", "transitions"): "transition",
    ("Builder.add", "to"): "to|probability",
    ("PriorKnowledge.with_losses", "losses"): "losses|the loss of",
    ("PriorKnowledge.with_rows", "rows"): "rows|the row of",
    ("PriorKnowledge.with_floors", "floors"): "floors|the floor of",
    ("LossScale.from_unit", "amounts"): "amounts|a loss of",
    ("read_log", "table"): "table|log|path|column",
    ("read_log", "columns"): "columns|covariate_map",
    ("read_log", "goal"): "goal",
    ("Drifting", "start"): "start|end has shape",
    ("catalog_entry", "name"): "name|called",
    ("fit_hats", "values"): "values|row",
    ("fit_clusters", "table"): "table|row|values",
    ("CovariateLearner.begin", "covariates"): "value|row",
    ("CovariateLearner.progress", "covariates"): "value|row",
    ("a map", "covariates"): "value|row",
    ("context_report", "table"): "value|row",
    **{
        (f"{type(one).__name__} of a row", "covariates"): "value|row|column|categor|part|table|circle"
        for one, _ in MAPS
    },
    **{(f"{type(one).__name__}.many", "table"): "value|row|column|categor|part|table" for one, _ in MAPS},
    ("Periodic.even", "count"): "count|components",
    ("rows_in_order", "table"): "table|column",
    ("rows_at_random", "table"): "table|column",
    ("Periodic.even", "start"): "start|knots",
    ("FromTransformer of what is given", "rows"): "the transformer gave",
    ("CovariateContexts of rows", "rows"): "value|row",
    ("fill_missing", "table"): "value|row",
    ("fill_missing of a product", "table"): "value|row|table",
    **{(name, "map"): "map|identity" for name in ("map_as_json", "map_digest")},
    ("map_from_json", "values"): "map",
    ("map_from_settings", "values"): "map",
}
"""words, parted by a bar, that name an argument as well as its own name does"""
NOT_TRIED = {
    # made by us and only read by others
    "Bound", "BoundStatus", "ContextBounds", "RegretDiagnostics", "Estimate", "Evaluation", "Explanation", "History",
    "OptimisticSolution", "Plan", "PolicyBounds", "Solution", "Status", "Step", "Widths",
    # classes that others are made from, and errors
    "Simulation", "TabularLearner", "InputError", "FileFormatError", "LearnerError", "NoProperPolicy",
    "FileConflictError", "LargeFileWarning", "NotLinearWarning", "PlanningStopped", "ProjectionFailed",
    "WrongPriorWarning",
    "ArgumentError", "GoalboundError", "ModelError",
    # protocols, and what tests them
    "ContextSource", "Environment", "Episode", "Learner", "check_learner",
    # tested with the learners that take them
    "LearnerCard", "LearnerOptions",
    # takes any number of learners: tests/unit/simulation/test_warm_up.py
    "warm_up",
    # takes whatever is to be marked
    "plugin",
    # no arguments; files are tried by tests/properties/test_hostile_files.py; by their methods above
    "bernoulli", "deterministic", "paper", "printed", "load", "load_learner", "save", "PriorKnowledge", "play",
}  # fmt: skip
"""public names that are not called with wrong arguments here"""
FINE = {
    ("play", "progress", "a class"),
    ("context_bounds", "progress", "a class"),
    *(("read_log", "table", label) for label in ("text", "no text", "a number as text")),
}
"""what a function of the user's own does is the user's; text is the path of a file, and errors of files are Python's"""


def complaint(case: str, given: dict[str, Any], wrong: list[str]) -> str | None:
    """What is wrong with how the callable takes these arguments; None if nothing is."""
    function, right = CASES[case]
    try:
        with warnings.catch_warnings(), np.errstate(over="raise", invalid="raise", divide="raise"):
            warnings.simplefilter("error")
            function(**{**right, **given})
    except OURS as error:
        said = str(error)
        names = [ALSO.get((case, name), name) for name in wrong]
        if not any(part in said for name in names for part in name.split("|")):
            return f"does not name {' or '.join(names)}: {said:.200}"
        return "has no words" if not said else None
    except Exception as error:
        return f"{type(error).__name__}: {error!s:.200}"
    return None


def singles() -> Iterator[tuple[str, str]]:
    return ((case, name) for case, (_, right) in CASES.items() for name in right)


@pytest.mark.parametrize(("case", "name"), list(singles()))
def test_a_wrong_argument_is_an_error_that_names_it(case: str, name: str) -> None:
    found = {
        label: complaint(case, {name: value}, [name])
        for label, value in WRONG.items()
        if (case, name, label) not in FINE
    }
    assert {label: said for label, said in found.items() if said is not None} == {}


@pytest.mark.parametrize("case", CASES)
def test_the_right_arguments_are_right(case: str) -> None:
    assert complaint(case, {}, []) is None


@pytest.mark.skipif(EXAMPLES_FACTOR == 1, reason="GOALBOUND_EXAMPLES=20 tries pairs of wrong arguments")
def test_two_wrong_arguments_are_an_error_that_names_one_of_them() -> None:
    drawn = np.random.default_rng()
    cases = [case for case, (_, right) in CASES.items() if len(right) > 1]
    found = []
    for _ in range(1000 * EXAMPLES_FACTOR):
        case = cases[drawn.integers(len(cases))]
        names = drawn.choice(list(CASES[case][1]), size=2, replace=False).tolist()
        labels = [list(WRONG)[place] for place in drawn.integers(len(WRONG), size=2)]
        if not any((case, name, label) in FINE for name, label in zip(names, labels, strict=True)):
            given = {name: WRONG[label] for name, label in zip(names, labels, strict=True)}
            said = complaint(case, given, names)
            found += [] if said is None else [(case, dict(zip(names, labels, strict=True)), said)]
    assert found == []


def test_everything_public_that_takes_arguments_is_tried() -> None:
    """Whoever adds a public name adds it here, or says why not."""
    tried = {function for function, _ in CASES.values()}
    missing = [
        name for name in gb.__all__
        if callable(value := getattr(gb, name)) and value not in tried and name not in NOT_TRIED
    ]  # fmt: skip
    assert missing == []
