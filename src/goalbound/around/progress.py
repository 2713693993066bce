"""How far a learner is from being allowed to leave a runbook, under one context: the test of an apprentice."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.learners.answers import plausible
from goalbound.learners.card import PROVEN, LearnerCard
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.models import LossScale, Support
from goalbound.models.loss_scale import amounts_at_least, amounts_at_most, check_unit, with_unit
from goalbound.models.validation import set_readonly
from goalbound.planning import policy_bounds, robust_plan
from goalbound.planning.policy_difference import policy_difference
from goalbound.terminal import one_line, table

RUNBOOK, LEARNER = "runbook", "learner"
"""Who leads an episode."""
SHOWN = 12

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class ApprenticeProgress:
    """What an apprentice would do under a context, state by state, and why.

    Attributes:
        support: the pairs, for names.
        margin: how much more than the runbook an episode may lose.
        runbook, candidate: [S] the actions of the runbook, and of the policy that would replace it.
        runbook_lower, runbook_upper: [S + 1] what the runbook loses, at least and at most.
        candidate_lower, candidate_upper: [S + 1] what the candidate loses.
        difference: [S] what the candidate loses more than the runbook, at most; 0 where both play the same from there
            on, and infinite where the candidate may never arrive.
        switches: [S] the states from which the candidate would be followed to the goal, and does something else.
        contradicted: whether what was seen contradicts the model; then nothing is sure, and the runbook leads.
        proven: whether the bounds hold with probability 1 - delta.
        delta: None where nothing is proven.
        loss_scale: the unit of losses, differences and the margin; None: losses of a step are in [0, 1].
        caveats: why the bounds are not proven, where the learner says so.
    """

    support: Support
    margin: float
    runbook: Ints
    candidate: Ints
    runbook_lower: Floats
    runbook_upper: Floats
    candidate_lower: Floats
    candidate_upper: Floats
    difference: Floats
    switches: Bools
    contradicted: bool = False
    proven: bool = False
    delta: float | None = None
    loss_scale: LossScale | None = None
    caveats: tuple[str, ...] = ()

    def in_unit(self, scale: LossScale) -> ApprenticeProgress:
        """The same in a unit of the user's own; bounds are rounded outwards."""
        check_unit(scale, self.loss_scale)
        margin = scale.to_unit(self.margin)
        amounts = np.asarray(scale.to_unit(self.difference))
        amounts = np.where(amounts == 0.0, 0.0, np.nextafter(amounts, np.inf))
        passed = self.difference <= self.margin  # stays so after rounding
        return replace(
            self, margin=margin, loss_scale=scale,
            difference=set_readonly(np.where(passed, np.minimum(amounts, margin), amounts)),
            runbook_lower=amounts_at_least(scale, self.runbook_lower),
            runbook_upper=amounts_at_most(scale, self.runbook_upper),
            candidate_lower=amounts_at_least(scale, self.candidate_lower),
            candidate_upper=amounts_at_most(scale, self.candidate_upper),
        )  # fmt: skip

    @property
    def missing(self) -> Floats:
        """[S] by how much the difference is above the margin; 0 where it is not, infinite where the candidate may never
        arrive."""
        return set_readonly(np.maximum(self.difference - self.margin, 0.0))

    @property
    def policy(self) -> Ints:
        """[S] the action that an episode would play in a state if it began there."""
        return set_readonly(np.where(self.switches, self.candidate, self.runbook))

    @property
    def guarantee(self) -> str:
        """What is promised of an episode, in one sentence."""
        if self.contradicted:
            return "What was seen contradicts the model: nothing is sure, and the runbook leads."
        if not self.proven:
            reason = "; ".join(map(one_line, self.caveats)) or "the widths of the sets are not"
            return f"Not proven: {reason}, so an episode may lose more than by the runbook."
        unit = "" if self.loss_scale is None else f" {one_line(self.loss_scale.unit)}"
        more = f" plus {self.margin:g}{unit}" if self.margin > 0.0 else ""
        return (
            f"Proven: with probability {1.0 - (self.delta or 0.0):g} no episode, whatever its context, has a larger "
            f"expected loss than by the runbook{more}."
        )

    def as_json(self) -> dict[str, Any]:
        """For other programs; an infinite number is null."""
        support = self.support
        states = [
            {
                "state": one_line(support.state_label(s)),
                "leads": LEARNER if self.switches[s] else RUNBOOK,
                "runbook": one_line(support.action_label(int(self.runbook[s]))),
                "runbook_loss": [_finite(self.runbook_lower[s]), _finite(self.runbook_upper[s])],
                "candidate": one_line(support.action_label(int(self.candidate[s]))),
                "candidate_loss": [_finite(self.candidate_lower[s]), _finite(self.candidate_upper[s])],
                "difference": _finite(self.difference[s]),
                "missing": _finite(self.missing[s]),
            }
            for s in range(support.states)
        ]
        return {
            "margin": self.margin, "proven": self.proven, "delta": self.delta,
            "guarantee": self.guarantee, "unit": None if self.loss_scale is None else self.loss_scale.unit,
            "states": states,
        }  # fmt: skip

    def __str__(self) -> str:
        support = self.support
        numbers = np.stack((self.runbook_lower[:-1], self.candidate_upper[:-1], self.difference, self.missing), axis=1)
        cells = [
            [
                one_line(support.state_label(s)), LEARNER if self.switches[s] else RUNBOOK,
                one_line(support.action_label(int(self.runbook[s]))),
                one_line(support.action_label(int(self.candidate[s]))),
                *(f"{number:.4g}" for number in numbers[s]),
            ]
            for s in range(min(support.states, SHOWN))
        ]  # fmt: skip
        amounts = ["runbook at least", "candidate at most", "difference", "missing"]
        head = ["from", "leads", "runbook", "candidate", *(with_unit(name, self.loss_scale) for name in amounts)]
        lines = [table(head, cells, "llllrrrr")]
        if support.states > SHOWN:
            lines.append(f"and {support.states - SHOWN} more states")
        return "\n".join([*lines, self.guarantee])


def tested_progress(
    learner: LRCSSP, card: LearnerCard, context: Floats, runbook: Ints, margin: float
) -> ApprenticeProgress:
    """The test of an apprentice around this learner. ``card`` says what is proven of its sets.

    The candidate is the robust plan: of all policies it has the least largest loss. It is sure to be no worse than the
    runbook, up to the margin, where it loses at most the margin more in every plausible model.
    """
    sets = plausible(learner, context)
    ours, theirs = policy_bounds(sets, runbook), robust_plan(sets)
    alike = _alike(learner.support, theirs.policy, runbook)
    difference = policy_difference(sets, theirs, ours)
    difference = np.where(alike & np.isfinite(difference), 0.0, difference)
    contradicted = learner.alarm is not None
    proven = card.guarantee == PROVEN and not contradicted
    return ApprenticeProgress(
        support=learner.support,
        margin=margin,
        runbook=runbook,
        candidate=theirs.policy,
        runbook_lower=ours.lower,
        runbook_upper=ours.upper,
        candidate_lower=theirs.lower,
        candidate_upper=theirs.upper,
        difference=set_readonly(difference),
        switches=set_readonly((difference <= margin) & ~alike & (not contradicted)),
        contradicted=contradicted,
        proven=proven,
        delta=card.delta if proven else None,
        caveats=card.caveats,
    )


def _alike(support: Support, policy: Ints, other: Ints) -> Bools:
    """[S] the states from which both policies play the same actions, wherever these may lead: in every model they lose
    the same."""
    triple_pair = np.repeat(np.arange(support.pairs), np.diff(support.next_start))
    start = support.pair_state[triple_pair]
    taken = (policy[start] == support.pair_action[triple_pair]) & (support.next_state < support.states)
    start, following = start[taken], support.next_state[taken]
    differs = policy != other
    while True:
        leading = differs.copy()
        leading[start[differs[following]]] = True
        if np.array_equal(leading, differs):
            return ~differs
        differs = leading


def _finite(number: Any) -> float | None:
    return float(number) if math.isfinite(number) else None
