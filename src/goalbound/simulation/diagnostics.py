"""Auditing a learner against the true problem: does the good event of the paper hold, and where does regret come from?

The regret decomposition of the paper, for V_m the values and P~_m, l~_m the model of the plan of interval m:

    switching    sum of V_m(s) - V_m(s')  -  sum of v*(first states)
    dynamics     sum of (P - P~_m) V_m
    martingale   sum of V_m(s') - P V_m
    losses       sum of loss - l~_m
    planning     sum of l~_m + P~_m V_m - V_m(s), which is 0 in the paper and what value iteration left open here

They sum to the realised regret, whatever the plans are. In the zero-loss variant l~_m and V_m are those of the losses
that the learner sees, and the sum is still the regret of the losses that were paid.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ArgumentError
from goalbound.jit.compile import Kernel, Slot, engine
from goalbound.learners import audit as kernels
from goalbound.learners.audit import new_regret_audit
from goalbound.learners.copying import copied_state, deep_copy, restore_state
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.protocol import Learner, SimulatedEnvironment
from goalbound.models import LinearCSSP, Step
from goalbound.models.simulated import EpisodeResults
from goalbound.models.step import checked_step
from goalbound.models.validation import check_float, check_type, set_readonly
from goalbound.planning.checks import require_contextual
from goalbound.planning.optimal_values import optimal_values
from goalbound.simulation.environment import components_of
from goalbound.simulation.regret_bounds import (
    a_posteriori_bound,
    martingale_bound,
    slack,
    unknown_visits_bound,
    zero_loss_excess,
)


class RegretTerms(NamedTuple):
    """Where the realised regret comes from: the four terms of the paper, and what value iteration left open."""

    switching: float
    dynamics: float
    martingale: float
    losses: float
    planning: float

    @property
    def total(self) -> float:
        """The realised regret."""
        return sum(self)


@dataclass(frozen=True, eq=False)
class RegretDiagnostics:
    """The audit of a learner up to now.

    Attributes:
        episodes: K.
        steps: T.
        intervals: M.
        covered_intervals: those that began with the truth in all confidence sets, of losses and of rows.
        long_intervals: those that lost more than 48 B log(4 m / delta).
        interval_share: the largest loss of an interval over 48 B log(4 m / delta).
        martingale_share: the largest, over all T, of the martingale term over B sqrt(T log(4 T / delta)).
        potential: the largest n w^2 of a pair that was played n times in an interval; the bounds need at most 1.
        terms: the regret decomposition.
        loss_noise: the sum of losses less their means, a part of ``terms.losses``.
        unknown_visits: [N] how often each pair was played while unknown.
        unknown_visits_bound: [N] how often it can have been (:func:`unknown_visits_bound`).
        loss_bound: the B of all checks and bounds.
        lemma_bound: of the realised regret, from T and the unknown visits alone (:func:`a_posteriori_bound`).
        measured_bound: the same with the widths as they were met, instead of a bound of their sum.
        own_bound: the same with the rises of values at new plans as they were, instead of B for each. The learner
            itself can know all of it; nothing of the truth is needed but B.
    """

    episodes: int
    steps: int
    intervals: int
    covered_intervals: int
    long_intervals: int
    interval_share: float
    martingale_share: float
    potential: float
    terms: RegretTerms
    loss_noise: float
    unknown_visits: NDArray[np.int64]
    unknown_visits_bound: NDArray[np.float64]
    loss_bound: float
    lemma_bound: float
    measured_bound: float
    own_bound: float

    @property
    def coverage(self) -> float:
        """The share of the intervals that began with the truth in all sets."""
        return self.covered_intervals / self.intervals if self.intervals else nan

    @property
    def covered(self) -> bool:
        """Whether the truth lay in all sets at all intervals: items 1 and 2 of the event."""
        return self.covered_intervals == self.intervals

    @property
    def good_event(self) -> bool:
        """Whether all four items of the high-probability event of the paper held."""
        return self.covered and self.long_intervals == 0 and self.martingale_share <= 1.0

    @property
    def regret(self) -> float:
        """Realised; the sum of the terms."""
        return self.terms.total

    def __str__(self) -> str:
        lines = [
            f"{self.episodes} episodes, {self.steps} steps, {self.intervals} intervals; B = {self.loss_bound:.6g}",
            f"truth in all sets         {self.coverage:.2%} of the intervals",
            f"largest interval loss     {self.interval_share:.3f} of its bound; {self.long_intervals} above it",
            f"largest martingale        {self.martingale_share:.3f} of its bound",
            f"unknown visits            {self.unknown_visits.sum()} of at most {self.unknown_visits_bound.sum():.0f}",
            f"regret                    {self.regret:.6g}",
        ]
        lines += [f"  {name:<23} {value:.6g}" for name, value in self.terms._asdict().items()]
        lines.append(f"bounds of the regret      {self.own_bound:.6g} (own), {self.measured_bound:.6g} (measured), "
                     f"{self.lemma_bound:.6g} (lemma)")  # fmt: skip
        return "\n".join(lines)


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """What an audit needs to know beyond the problem: ``play(..., audit=AuditOptions(...))``.

    Attributes:
        loss_bound: the B of the checks and bounds: at least the largest optimal loss, of the losses as the learner sees
            them. The learner's own if left out; needed where that is sought by doubling.
        time_bound: T*; the regret bounds of the zero-loss variant need it, and are infinite without.
    """

    loss_bound: float | None = None
    time_bound: float = inf

    def __post_init__(self) -> None:
        meaning = "at least the largest optimal loss"
        if self.loss_bound is not None:
            bound = check_float(self.loss_bound, "loss_bound", meaning)
            if not (np.isfinite(bound) and bound > 0.0):
                raise ArgumentError(f"loss_bound is {self.loss_bound}; it is a positive number, {meaning}")
            object.__setattr__(self, "loss_bound", bound)
        time_bound = check_float(self.time_bound, "time_bound", "the longest optimal time T*, or infinity")
        if not time_bound > 0.0:
            raise ArgumentError(
                f"time_bound is {self.time_bound}; it is a positive number, or infinity where it is not known"
            )
        object.__setattr__(self, "time_bound", time_bound)


class LearnerAudit:
    """The running audit of a learner, which plays exactly as it does without: what ``play(..., audit=True)`` keeps.

    The audit costs less than learning does; it works in the compiled loop, in the plain one, and so in real
    environments too, where ``problem`` is what was read from them.

    Args:
        learner: the learner, with data or without.
        problem: the truth.
        options: the bounds of the checks.

    >>> from goalbound import LRCSSP, Dirichlet, play
    >>> from goalbound.problems import random_cssp
    >>> problem = random_cssp(3, actions=2, context_size=2, seed=1)
    >>> learner = LRCSSP(problem.support, 2, loss_floor=0.1, loss_bound=10.0)
    >>> history = play(problem, learner, Dirichlet.symmetric(2), episodes=50, audit=True)
    >>> history.diagnostics.covered, abs(history.diagnostics.regret - history.total_regret) < 1e-9
    (True, True)
    """

    def __init__(self, learner: Learner, problem: LinearCSSP, options: AuditOptions | None = None) -> None:
        learner = check_type(learner, LRCSSP, "learner", "only an LRCSSP has confidence sets to audit")
        require_contextual(problem)
        learner.check_fits(problem, problem.context_size)
        options = AuditOptions() if options is None else options
        if options.loss_bound is None and learner.settings.loss_bound is None:
            raise ArgumentError(
                "the learner seeks its loss bound by doubling; give the loss_bound of the checks, such as "
                "audit=AuditOptions(loss_bound=context_bounds(problem).loss_bound.upper)"
            )
        self.learner: LRCSSP = learner
        self.problem, self.time_bound = problem, options.time_bound
        bound = learner.loss_bound if options.loss_bound is None else options.loss_bound
        self._components = components_of(problem)
        self._audit = new_regret_audit(learner.support.pairs, problem.context_size, loss_bound=bound)
        self._run(kernels.audit_all_pairs)

    __getstate__ = copied_state
    __setstate__ = restore_state
    __copy__ = deep_copy

    def begin(self, context: ArrayLike) -> AuditedEpisode:
        """An audited episode of the learner."""
        return AuditedEpisode(self, context)

    def play_episodes(
        self,
        environment: SimulatedEnvironment,
        contexts: NDArray[np.float64],
        values: NDArray[np.float64],
        *,
        step_limit: int,
        results: EpisodeResults,
    ) -> None:
        """The compiled loop of the learner, audited."""
        if environment.problem is not self.problem and environment.problem != self.problem:
            raise ArgumentError("the environment plays another problem than the one that the learner is audited with")
        self.learner.play_episodes(
            environment, contexts, values, step_limit=step_limit, results=results, audit=self._audit
        )  # fmt: skip

    def report(self) -> RegretDiagnostics:
        """The audit up to now."""
        learner, audit = self.learner, self._audit
        steps, episodes, unknown = int(audit.totals["steps"]), int(audit.totals["episodes"]), int(audit.unknown.sum())
        raised = 1.0 + learner.settings.tolerance
        others = (
            raised * audit.totals["widths"]
            + martingale_bound(steps, delta=learner.settings.delta, loss_bound=raised * audit.loss_bound + 1.0)
            + slack(learner, steps=steps, optimal_loss=float(audit.totals["optimal"]))
            + raised * zero_loss_excess(learner, episodes=episodes, time_bound=self.time_bound)
        )
        return RegretDiagnostics(
            episodes=episodes,
            steps=steps,
            intervals=int(audit.totals["intervals"]),
            covered_intervals=int(audit.totals["covered"]),
            long_intervals=int(audit.totals["long_intervals"]),
            interval_share=float(audit.totals["interval_share"]),
            martingale_share=float(audit.totals["martingale_share"]),
            potential=float(audit.totals["potential"]),
            terms=RegretTerms(*(float(audit.totals[name]) for name in kernels.TERMS)),
            loss_noise=float(audit.totals["noise"]),
            unknown_visits=set_readonly(audit.unknown.copy()),
            unknown_visits_bound=set_readonly(self._unknown_visits_bound(steps)),
            loss_bound=audit.loss_bound,
            lemma_bound=a_posteriori_bound(
                learner, steps=steps, episodes=episodes, unknown_visits=unknown,
                loss_bound=audit.loss_bound, time_bound=self.time_bound,
            ),
            measured_bound=float(others + raised * audit.loss_bound * (unknown + learner.doublings)),
            own_bound=float(others + audit.totals["rises"]),
        )  # fmt: skip

    def _unknown_visits_bound(self, steps: int) -> NDArray[np.float64]:
        learner = self.learner
        if not learner.settings.forget:
            return unknown_visits_bound(learner, visits=learner.statistics.visits, intervals=learner.intervals)
        each = unknown_visits_bound(learner, visits=steps, intervals=learner.intervals)  # per restart
        return np.minimum((1 + learner.doublings) * each, steps)

    def _run(self, kernel: Kernel | Slot, *arguments: Any) -> None:
        """Run an audit kernel on this learner."""
        learner = self.learner
        run = engine(learner.support.triples)(learner._assembly.audited[kernel])
        run(self._audit, self._components, learner._constants, learner._state, *arguments)


class AuditedEpisode:
    """An episode of an audited learner: ``act``, then ``observe``, as without."""

    def __init__(self, audit: LearnerAudit, context: ArrayLike) -> None:
        self._audit = audit
        self._episode = audit.learner.begin(context)
        self._action: int | None = None

    __copy__ = deep_copy  # with the learner and its audit

    def act(self, state: int) -> int:
        """The learner's action."""
        audit, view = self._audit, self._episode._arrays
        here = audit.problem.support.state(state)
        begins, planned = self._episode.state is None, bool(view.progress["planned"])
        before = nan if begins else float(view.iteration.values[here])
        self._action = self._episode.act(state)
        if not planned:
            optimal = optimal_values(audit.problem, view.context[None])[0, here] if begins else 0.0
            audit._run(kernels.audit_plan, view, here, before, optimal)
        return self._action

    def observe(self, step: Step) -> None:
        """The learner learns from a step."""
        audit, episode = self._audit, self._episode
        support = audit.learner.support
        state, action, loss, following = step
        if self._action is not None and (support.state(state), support.action(action)) == (episode.state, self._action):
            pair, _ = checked_step(support, step)
            view = episode._arrays
            numbers = support.state(state), pair, support.state(following)
            audit._run(kernels.audit_step, view, view.context, *numbers, float(loss))
            episode.observe(step)
            audit._run(kernels.test_pair, pair)
            self._action = None
        else:
            episode.observe(step)  # which says what is wrong

    @property
    def ended(self) -> bool:
        """Whether the goal was reached."""
        return self._episode.ended

    @property
    def intervals(self) -> int:
        """How many intervals the episode has had."""
        return self._episode.intervals

    @property
    def unknown_steps(self) -> int:
        """How many steps played a pair that was not known."""
        return self._episode.unknown_steps
