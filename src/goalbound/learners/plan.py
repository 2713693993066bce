"""What a learner would do under a context, and why."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalbound.models import SSP, Support
from goalbound.planning.extended_value_iteration import optimistic_model


@dataclass(frozen=True, eq=False)
class Plan:
    """The optimistic plan for one context.

    Attributes:
        context: [d]
        policy: [S] the action of each state.
        values: [S + 1] its optimistic values: certified lower bounds of the exact optimistic values. While the
            truth lies in the confidence sets, they are not above the true optimal values.
        upper: [S + 1] certified upper bounds of the exact optimistic values.
        losses: [N] the optimistic losses (what the zero-loss variant adds included).
        rows: [M] the optimistic rows, in the order of the support.
        known: [N] which pairs are known (eq. ineq-known).
        loss_bound: the B of the known test.
    """

    support: Support
    context: NDArray[np.float64]
    policy: NDArray[np.int64]
    values: NDArray[np.float64]
    upper: NDArray[np.float64]
    losses: NDArray[np.float64]
    rows: NDArray[np.float64]
    known: NDArray[np.bool_]
    loss_bound: float

    def model(self) -> SSP:
        """The optimistic model, in which the policy is best, as a problem; losses above 1 are shown as 1."""
        return optimistic_model(self.support, self.losses, self.rows)

    def __str__(self) -> str:
        shown = range(min(self.support.states, 12))
        names = [self.support.state_name(s) for s in shown]
        room = max(len(name) for name in names)
        share = int(self.known.sum())
        lines = [f"{share} of {len(self.known)} pairs known; loss bound {self.loss_bound:g}"]
        lines += [
            f"{name:{room}}  {self.values[s]:<12.6g}  {self.support.action_name(int(self.policy[s]))}"
            for s, name in zip(shown, names, strict=True)
        ]
        if self.support.states > 12:
            lines.append(f"and {self.support.states - 12} more states")
        return "\n".join(lines)
