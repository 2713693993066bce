"""Off-policy estimates in exact fractions, case by case, by their definitions.

A case is a list of decisions ``(state, action, probability, loss, next state)``; the goal is ``GOAL``. All numbers are
Fractions. A policy is a mapping from states to actions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

GOAL = "goal"


class Decision(NamedTuple):
    state: Any
    action: Any
    probability: Fraction
    loss: Fraction
    following: Any


Case = Sequence[Decision]


def ratio(decision: Decision, policy: Mapping[Any, Any]) -> Fraction:
    """How much more likely the policy makes the decision than whoever made it."""
    return 1 / decision.probability if policy[decision.state] == decision.action else Fraction(0)


def weight_until(case: Case, policy: Mapping[Any, Any], last: int) -> Fraction:
    """The product of all ratios up to the step ``last``; behind the end of the case there is nothing to decide."""
    product = Fraction(1)
    for decision in case[: last + 1]:
        product *= ratio(decision, policy)
    return product


def importance_sampling(cases: Sequence[Case], policy: Mapping[Any, Any]) -> Fraction:
    """The unweighted estimate per decision."""
    return sum(
        (weight_until(case, policy, t) * case[t].loss for case in cases for t in range(len(case))), Fraction(0)
    ) / len(cases)


def weighted_importance_sampling(cases: Sequence[Case], policy: Mapping[Any, Any]) -> Fraction | None:
    """The weighted estimate per decision, with one denominator for each number of a step; None if it has none."""
    if all(weight_until(case, policy, len(case)) == 0 for case in cases):
        return None
    total = Fraction(0)
    for t in range(max(map(len, cases))):
        weights = [weight_until(case, policy, t) for case in cases]
        losses = [case[t].loss if t < len(case) else Fraction(0) for case in cases]
        total += sum(w * loss for w, loss in zip(weights, losses, strict=True)) / sum(weights)
    return total


def effective_sample_size(cases: Sequence[Case], policy: Mapping[Any, Any]) -> Fraction:
    weights = [weight_until(case, policy, len(case)) for case in cases]
    squares = sum(w * w for w in weights)
    return sum(weights) ** 2 / squares if squares else Fraction(0)


def doubly_robust(case: Case, policy: Mapping[Any, Any], values: Mapping[Any, Fraction]) -> Fraction:
    """One case by the recursion: V + ratio (loss + what comes after - Q), where Q is the value of the same pair.

    Behind the last step is the value of the state that it led to. ``values`` are the policy's own in a model, and so Q
    is the value of the state wherever the ratio is not 0.
    """
    after = values[case[-1].following] if case[-1].following != GOAL else Fraction(0)
    for decision in reversed(case):
        value = values[decision.state]
        after = value + ratio(decision, policy) * (decision.loss + after - value)
    return after
