"""What a policy loses at least and at most in the models that are plausible: robust policy evaluation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ArgumentError, ModelError
from goalbound.models import BallSet, IntervalSet, Support
from goalbound.models.amounts import Amounts, at_least, at_most, nearest
from goalbound.models.validation import check_fraction, set_readonly
from goalbound.planning.checks import support_pairs
from goalbound.planning.extended_value_iteration import check_rows_fit, scaled_back
from goalbound.planning.solution import Status
from goalbound.terminal import one_line, table

SHOWN = 12
UNPROVEN_WIDTHS = "the widths of these sets are not"
"""Why bounds are not proven, where whoever made the sets says no more."""
OUTSIDE = 1e-9
"""Relative; an estimate that is so far outside its bounds is outside, and no rounding."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PolicyBounds(Amounts):
    """What a policy loses until the goal, at least and at most, in the plausible models.

    Attributes:
        support: the pairs, for names.
        policy: [S] the action of each state.
        lower: [S + 1] certified: in no plausible model the policy loses less; infinite where none arrives.
        upper: [S + 1] certified: in no plausible model it loses more; infinite in the states of ``may_never_arrive``.
        may_never_arrive: the states from which some plausible model does not reach the goal with probability 1.
        status: CONVERGED if both bounds are within the tolerance of what they bound. Else they are valid but wider:
            upper bounds that were not found are infinite, lower ones the loss of one step.
        estimate: [S + 1] the values of the policy in an estimated model, infinite where it does not arrive there; None
            if there is none.
        proven: whether all plausible sets together hold the truth with the probability that was asked for; None if
            whoever made the sets does not say.
        delta: ... which is 1 - delta.
        caveats: why the bounds are not proven, where whoever made the sets says why; empty if they are.
    """

    support: Support
    policy: NDArray[np.int64]
    lower: Floats
    upper: Floats
    may_never_arrive: NDArray[np.int64]
    status: Status
    estimate: Floats | None = None
    proven: bool | None = None
    delta: float | None = None
    caveats: tuple[str, ...] = ()

    _amounts: ClassVar = {"lower": at_least, "upper": at_most, "estimate": nearest}

    @property
    def guarantee(self) -> str:
        """How far the bounds can be trusted, in one sentence."""
        if self.proven is None:
            return "The bounds hold if the true model is one of the plausible ones."
        if not self.proven:
            why = "; ".join(map(one_line, self.caveats)) or UNPROVEN_WIDTHS
            return f"Not proven: {why}, so the true value may lie outside the bounds."
        sure = 1.0 - (self.delta or 0.0)
        return f"Proven: with probability {sure:g} all such bounds hold, for all contexts and policies."

    @property
    def estimate_outside(self) -> NDArray[np.int64]:
        """The states whose estimate lies outside the bounds.

        Few steps were seen on the way from them, which the ridge pulls towards no loss and the goal; or something that
        was declared is wrong, such as a loss floor above a mean loss: then no bound is valid.
        """
        if self.estimate is None:
            return np.empty(0, dtype=np.int64)
        low, high = self.lower * (1.0 - OUTSIDE), self.upper * (1.0 + OUTSIDE)
        return np.flatnonzero((self.estimate < low) | (self.estimate > high))

    def _columns(self) -> dict[str, Any]:
        support = self.support
        found: dict[str, Any] = {
            "state": [support.state_label(state) for state in range(support.states)],
            "action": [support.action_label(int(action)) for action in self.policy],
            "lower": self.lower[:-1],
        }
        if self.estimate is not None:
            found["estimate"] = self.estimate[:-1]
        return {**found, "upper": self.upper[:-1]}

    def frame(self, *, arrow: bool = False) -> Any:
        """One row per state: state and action by name, lower, estimate (where there is one), upper (infinite where a
        plausible model may never arrive). A data frame of pandas, or a table of Arrow."""
        from goalbound.frames import data_frame

        return data_frame(self._columns(), arrow=arrow)

    def _repr_html_(self) -> str:
        from goalbound.notebook import html_lines, html_table

        heads = {"lower": "at least", "estimate": "estimate", "upper": "at most"}
        named = {
            self._with_unit(heads[name]) if name in heads else name: column for name, column in self._columns().items()
        }
        return html_table(named) + html_lines(self._notes)

    def plot(self, axes: Any = None) -> Any:
        """The bounds of each state, and the estimate as a point where there is one; an arrow where a plausible model
        may never arrive. The actions are at the right. The Matplotlib axes."""
        from goalbound.plotting import Rows, draw_rows

        columns = self._columns()
        rows = Rows(columns["state"], columns["lower"], columns["upper"], columns.get("estimate"), columns["action"])
        point = "" if self.estimate is None else "; point: estimate"
        label = self._with_unit("expected loss until the goal") + f"; line: at least to at most{point}"
        return draw_rows(rows, label=label, axes=axes)

    def __str__(self) -> str:
        support = self.support
        names = [one_line(support.state_label(s)) for s in range(min(support.states, SHOWN))]
        columns: list[tuple[str, Floats | None]] = [
            ("at least", self.lower), ("estimate", self.estimate), ("at most", self.upper),
        ]  # fmt: skip
        shown = [(self._with_unit(head), numbers) for head, numbers in columns if numbers is not None]
        cells = [
            [name, one_line(support.action_label(int(self.policy[s]))), *(f"{v[s]:.4g}" for _, v in shown)]
            for s, name in enumerate(names)
        ]
        lines = [table(["state", "action", *(head for head, _ in shown)], cells, "ll" + "r" * len(shown))]
        if support.states > SHOWN:
            lines.append(f"and {support.states - SHOWN} more states")
        return "\n".join([*lines, *self._notes])

    @property
    def _notes(self) -> list[str]:
        """What there is to say below the table."""
        lines = []
        if len(self.may_never_arrive):
            lines.append(f"A plausible model may never arrive from {self._listed(self.may_never_arrive)}.")
        outside = self.estimate_outside
        if len(outside):
            lines.append(
                f"The estimate lies outside the bounds in {self._listed(outside)}: too few steps were seen, or what "
                "was declared (the loss floor, known losses and rows) is wrong."
            )
        if self.status is not Status.CONVERGED:
            lines.append(f"{self.status.value}.")
        return [*lines, self.guarantee]

    def _listed(self, states: NDArray[np.int64]) -> str:
        some = ", ".join(one_line(self.support.state_label(int(s))) for s in states[:SHOWN])
        return some + (f" and {len(states) - SHOWN} more" if len(states) > SHOWN else "")


def policy_bounds(
    sets: BallSet | IntervalSet,
    policy: ArrayLike | Mapping[Any, Any],
    *,
    tolerance: float = 1e-6,
) -> PolicyBounds:
    """The least and the largest expected loss of a policy in the plausible models.

    Args:
        sets: the plausible losses and rows of every pair.
        policy: the action of each state: numbers [S], names, or a mapping from states to actions by number or name.
        tolerance: how far a bound may be from what it bounds, relative to the bound (or to a thousandth of the largest
            bound, where that is more).

    *Upper*: the worst of the plausible losses and rows. With L the largest plausible loss and M v the largest sum of
    q v over the plausible rows q, every v >= 0 with v >= L + M v is at least what the policy loses in any plausible
    model: by induction it is at least the loss of the first n steps, for every n. Models are evaluated exactly, each of
    the rows that are worst against the values of the one before, until backups exceed the values v by at most r(s);
    backups are bounds from above that include their own rounding, and so r does. Let h >= 0 exceed g + M h - p for
    positive g and p < g (h = v, g = L, p = r, unless losses are near 0; then g is larger and h is found as v is). As M
    is sublinear, L + M (v + y h) <= v + r + y (h - g + p), which is at most v + y h for y >= r / (g - p) in every
    state. So v + y h, rounded up, is the upper bound; as v itself is what a plausible model loses, they are y h apart.

    *Infinite* are the upper bounds, exactly, where some plausible model does not reach the goal with probability 1
    (even if it would lose nothing on its way); plausible probabilities up to 1e-12 cannot be told from rounding and
    count as none where the goal, or a way out, depends on them.

    *Lower*: the most optimistic of the plausible models in which the policy arrives, by policy iteration over the rows,
    from a model that arrives. The certificate is that of :func:`goalbound.planning.extended_value_iteration`; where a
    loss is 0 or small beside rounding, the bounds are values that are at most their own backups.

    One round costs O(M), or more for a linear system of S equations; there are about ten.

    >>> from goalbound.models import Support
    >>> plausible = BallSet(Support.full(1, 1), [0.2], [0.4], [0.5, 0.5], [0.1])
    >>> bounds = policy_bounds(plausible, [0])
    >>> bounds.lower.round(4), bounds.upper.round(4)  # 0.2 / (1 - 0.4), 0.4 / (1 - 0.6)
    (array([0.3333, 0.    ]), array([1., 0.]))
    """
    from goalbound.planning import robust_values as robust  # learners load this module, and few ask for bounds

    tolerance = check_fraction(tolerance, "tolerance", "relative to the bounds")
    support = checked_sets(sets).support
    pairs = policy_pairs(support, policy)
    only, exponent = _scaled(robust.only_pairs(normalised(sets), pairs))
    rows = robust.PlausibleRows(only)
    never = robust.may_never_arrive(rows)
    upper, found = robust.upper_bounds(only, ~never, tolerance)
    lower, status = robust.lower_bounds(only, robust.may_arrive(rows), tolerance)
    if status is Status.CONVERGED:
        status = found
    if exponent and status is Status.CONVERGED:  # scaled back, what is nearly 0 is rounded
        for bounds, back in zip((lower, upper), scaled_back(lower, upper, -exponent), strict=True):
            finite = np.isfinite(bounds)
            moved = np.abs(np.ldexp(back[finite], -exponent) - bounds[finite])
            if robust.bounds_status(moved, bounds[finite], tolerance) is not Status.CONVERGED:
                status = Status.ROUNDING
    lower, upper = scaled_back(lower, upper, -exponent)
    return PolicyBounds(
        support,
        set_readonly(support.pair_action[pairs].astype(np.int64)),
        set_readonly(np.minimum(lower, upper)),
        set_readonly(upper),
        set_readonly(np.flatnonzero(never)),
        status,
    )


def checked_sets(sets: Any) -> BallSet | IntervalSet:
    """The sets, if robust planning can use them; else an error."""
    if not isinstance(sets, BallSet | IntervalSet):
        raise ArgumentError(
            f"sets is of the type {type(sets).__name__}; it is a BallSet (balls) or an IntervalSet: "
            "confidence_set(statistics, context) or learner.confidence_set(context) make them"
        )
    if isinstance(sets, IntervalSet):
        check_rows_fit(sets)
    wrong = np.flatnonzero(~((sets.loss_low >= 0.0) & np.isfinite(sets.loss_high)))
    if len(wrong):
        pair = int(wrong[0])
        raise ArgumentError(
            f"sets: {sets.support.pair_name(pair)}: the loss lies in [{sets.loss_low[pair]:g}, "
            f"{sets.loss_high[pair]:g}]; bounds of policies need losses that are not negative, and finite"
        )
    return sets


def policy_pairs(support: Support, policy: ArrayLike | Mapping[Any, Any]) -> NDArray[np.int64]:
    """[S] the pairs that a policy plays; it has one action for every state.

    It is an array of action numbers, a sequence of names, or a mapping from states to actions, by number or name.
    """
    pairs = support_pairs(support, policy)
    if (pairs < 0).any():
        raise ModelError(f"policy has no action for {support.state_name(int(np.argmin(pairs)))}; give one")
    return pairs


def normalised(sets: BallSet | IntervalSet) -> BallSet | IntervalSet:
    """The same set with its rounding put right: rows are checked up to a tolerance only.

    Ends of intervals are in [0, 1]. Centres that sum to more than 1, or to less where the goal cannot follow, are
    divided by their sum.
    """
    if isinstance(sets, IntervalSet):
        return replace(sets, low=np.clip(sets.low, 0.0, 1.0), high=np.clip(sets.high, 0.0, 1.0))
    support = sets.support
    rows = np.where(sets.to_state, sets.rows, 0.0)
    totals = np.add.reduceat(rows, support.next_start[:-1])
    by = np.where(support.leads_to_goal, np.maximum(totals, 1.0), np.where(totals > 0.0, totals, 1.0))
    return replace(sets, rows=rows / np.repeat(by, np.diff(support.next_start)))


def _scaled(sets: BallSet | IntervalSet) -> tuple[BallSet | IntervalSet, int]:
    """The set with its losses divided by a power of two, the largest then about 1, and the exponent."""
    exponent = math.frexp(float(sets.loss_high.max()))[1]
    if -200 < exponent < 200:  # squares of values are floats
        return sets, 0
    low, high = scaled_back(sets.loss_low, sets.loss_high, exponent)
    return replace(sets, loss_low=low, loss_high=high), exponent
