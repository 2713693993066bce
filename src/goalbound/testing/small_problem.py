"""A problem small enough to check a learner on."""

from __future__ import annotations

from goalbound.models import Builder, LinearCSSP


def small_problem() -> LinearCSSP:
    """Two kinds of weather, three states with one to three actions, and one action that never arrives.

    >>> small_problem().support
    Support(3 states, 6 pairs, 12 next states)
    """
    plan = Builder(components=["dry", "wet"])
    plan.add("start", "walk", loss=0.3, to={"middle": [0.9, 0.8], "start": [0.1, 0.2]})
    plan.add("start", "run", loss=0.2, to={"last": [0.8, 0.1], "start": [0.2, 0.9]})
    plan.add("middle", "run", loss=[0.2, 0.4], to={"last": [0.9, 0.5], "start": [0.1, 0.5]})
    plan.add("last", "walk", loss=0.4, to={"goal": [0.9, 0.9], "middle": [0.1, 0.1]})
    plan.add("last", "run", loss=0.3, to={"goal": [0.9, 0.3], "middle": [0.05, 0.6], "start": [0.05, 0.1]})
    plan.add("last", "wait", loss=0.9, to={"last": 1.0})
    return plan.linear_cssp()
