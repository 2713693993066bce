"""What a context-free learner would do, and its optimistic values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalbound.models import Support


@dataclass(frozen=True, eq=False)
class TabularPlan:
    """A plan of a context-free learner.

    Attributes:
        policy: [S] the action of each state.
        values: [S + 1] its optimistic values, 0 at the goal, what is added to the losses included. UC-SSP,
            Hoeffding-SSP and Bernstein-SSP: certified lower bounds of the values of the most optimistic model, and so
            of the true ones while the truth is plausible. EB-SSP: the values of VISGO. ULCVI: the lower values of the
            first stage. PSRL-SSP: certified lower bounds of the values in the mean of the posterior.
    """

    support: Support
    policy: NDArray[np.int64]
    values: NDArray[np.float64]

    def __str__(self) -> str:
        shown = range(min(self.support.states, 12))
        names = [self.support.state_name(s) for s in shown]
        room = max(len(name) for name in names)
        lines = [
            f"{name:{room}}  {self.values[s]:<12.6g}  {self.support.action_name(int(self.policy[s]))}"
            for s, name in zip(shown, names, strict=True)
        ]
        if self.support.states > 12:
            lines.append(f"and {self.support.states - 12} more states")
        return "\n".join(lines)
