"""How far a learner is from being allowed to leave a runbook, under one context: the test of an apprentice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from goalbound.learners.answers import plausible
from goalbound.learners.card import PROVEN, learner_card
from goalbound.learners.layers import unwrap
from goalbound.models import Support
from goalbound.models.amounts import Amounts, at_least, at_most, nearest
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
class ApprenticeProgress(Amounts):
    """What an apprentice would do under a context, state by state, and why.

    Attributes:
        support: the pairs, for names.
        margin: how much more than the runbook an episode may lose.
        runbook, candidate: [S] the actions of the runbook, and of the policy that would replace it.
        runbook_lower, runbook_upper, candidate_lower, candidate_upper: [S + 1] what each loses, at least and at most.
        difference: [S] what the candidate loses more than the runbook, at most; 0 where both play the same from there
            on, and infinite where the candidate may never arrive.
        switches: [S] the states from which the candidate would be followed to the goal, and does something else.
        contradicted: whether what was seen contradicts the model; then nothing is sure, and the runbook leads.
        proven: whether the bounds hold with probability 1 - delta.
        delta: None where nothing is proven.
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
    caveats: tuple[str, ...] = ()

    _amounts: ClassVar = {
        "margin": nearest,
        "difference": at_most,
        "runbook_lower": at_least,
        "runbook_upper": at_most,
        "candidate_lower": at_least,
        "candidate_upper": at_most,
    }

    def in_unit(self, scale: Any) -> Self:
        """Return the same in a unit of the user's own; bounds are rounded outwards."""
        shown = super().in_unit(scale)
        most = np.where(self.difference <= self.margin, shown.margin, np.inf)  # what is passed stays so after rounding
        return replace(shown, difference=set_readonly(np.minimum(shown.difference, most)))

    @property
    def missing(self) -> Floats:
        """[S] by how much the difference is above the margin."""
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
        more = f" plus {self.margin:g}{self._unit_text}" if self.margin > 0.0 else ""
        return (
            f"Proven: with probability {1.0 - (self.delta or 0.0):g} no episode, whatever its context, has a larger "
            f"expected loss than by the runbook{more}."
        )

    def as_json(self) -> dict[str, Any]:
        """Return all of it for other programs; an infinite number is null."""
        support = self.support
        states = [
            {
                "state": one_line(support.state_label(s)),
                "leads": LEARNER if self.switches[s] else RUNBOOK,
                "runbook": one_line(support.action_label(int(self.runbook[s]))),
                "candidate": one_line(support.action_label(int(self.candidate[s]))),
                "runbook_loss": [_finite(self.runbook_lower[s]), _finite(self.runbook_upper[s])],
                "candidate_loss": [_finite(self.candidate_lower[s]), _finite(self.candidate_upper[s])],
                "difference": _finite(self.difference[s]),
                "missing": _finite(self.missing[s]),
            }
            for s in range(support.states)
        ]
        said = {name: getattr(self, name) for name in ("margin", "proven", "delta", "guarantee", "unit")}
        return {**said, "states": states}

    def __str__(self) -> str:
        columns = {
            "runbook at least": self.runbook_lower,
            "candidate at most": self.candidate_upper,
            "difference": self.difference,
            "missing": self.missing,
        }
        cells = [
            [*list(said.values())[:4], *(f"{column[s]:.4g}" for column in columns.values())]
            for s, said in enumerate(self.as_json()["states"][:SHOWN])
        ]
        lines = [table(["from", "leads", "runbook", "candidate", *map(self._with_unit, columns)], cells, "llllrrrr")]
        if self.support.states > SHOWN:
            lines.append(f"and {self.support.states - SHOWN} more states")
        return "\n".join([*lines, self.guarantee])


def tested_progress(apprentice: Any, seen: Any) -> ApprenticeProgress:
    """Return the test of an apprentice, under a context as the innermost learner sees it."""
    learner, card = unwrap(apprentice), learner_card(apprentice.inner)
    runbook, margin = apprentice.runbook, apprentice.margin
    sets = plausible(learner, learner._checked_context(seen))
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
    differs, found = policy != other, -1
    while found != differs.sum():
        found = differs.sum()
        differs[start[differs[following]]] = True
    return ~differs


def _finite(number: Any) -> float | None:
    return float(number) if np.isfinite(number) else None
