"""Problems small enough to be solved by hand."""

from __future__ import annotations

from goalbound import SSP, Builder, LinearCSSP


def one_state(*actions: tuple[float, float]) -> SSP:
    """One state; each action has a loss and a probability of reaching the goal, else it stays."""
    return SSP.dense([[loss for loss, _ in actions]], [[[1.0 - p, p] for _, p in actions]])


def drugs() -> LinearCSSP:
    plan = Builder(components=["young", "old"])
    plan.add("sick", "drug A", loss=0.2, to={"goal": [0.6, 0.1], "sick": [0.4, 0.9]})
    plan.add("sick", "drug B", loss=0.4, to={"goal": [0.5, 0.7], "sick": [0.5, 0.3]})
    return plan.linear_cssp()
