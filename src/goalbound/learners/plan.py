"""What a learner would do under a context, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import LearnerError
from goalbound.frames import data_frame
from goalbound.learners.state import Constants, EpisodeState
from goalbound.models import SSP, Support
from goalbound.models.amounts import Amounts, at_least, at_most, nearest, with_cap
from goalbound.models.validation import set_readonly
from goalbound.notebook import html_lines, html_table
from goalbound.planning.extended_value_iteration import (
    in_support_order,
    optimistic_model,
    optimistic_rows,
    value_bounds,
)
from goalbound.plotting import Rows, draw_rows


@dataclass(frozen=True, eq=False)
class Plan(Amounts):
    """The plan for one context. Learners without contexts have no more than the first four attributes.

    Attributes:
        support: the pairs of the learner, for names.
        context: [d]; of learners without contexts [1], the number 1.
        policy: [S] the action of each state.
        values: [S + 1] its optimistic values, 0 at the goal, what is added to the losses included: certified lower
            bounds of the exact optimistic values. While the truth lies in the confidence sets, they are not above the
            true optimal values. EB-SSP: the values of VISGO. ULCVI: the lower values of the first stage. PSRL-SSP:
            certified lower bounds of the values in the mean of the posterior.
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
    upper: NDArray[np.float64] | None = None
    losses: NDArray[np.float64] | None = None
    rows: NDArray[np.float64] | None = None
    known: NDArray[np.bool_] | None = None
    loss_bound: float | None = None

    _amounts: ClassVar = {"values": at_least, "upper": at_most, "losses": nearest, "loss_bound": nearest}

    def model(self) -> SSP:
        """The optimistic model, in which the policy is best, as a problem; losses above 1 are shown as 1.

        Losses of problems are in [0, 1], also where those of the plan are in a unit; its ``loss_scale`` says what 1 is.
        """
        if self.losses is None or self.rows is None:
            raise LearnerError("a plan of a learner without contexts has no model; it has a policy and values")
        return with_cap(optimistic_model(self.support, self.losses / self._cap, self.rows), self._cap)

    def _columns(self) -> dict[str, Any]:
        support = self.support
        found: dict[str, Any] = {
            "state": [support.state_label(state) for state in range(support.states)],
            "action": [support.action_label(int(action)) for action in self.policy],
            "value": self.values[:-1],
        }
        if self.upper is not None:
            found["upper"] = self.upper[:-1]
        if self.known is not None:
            found["known"] = self.known[[support.pair(state, int(action)) for state, action in enumerate(self.policy)]]
        return found

    def frame(self, *, arrow: bool = False) -> Any:
        """One row per state: state and action by name, optimistic value and its upper bound, and whether the pair is
        known, where the plan has them. A data frame of pandas, or a table of Arrow."""
        return data_frame(self._columns(), arrow=arrow)

    @property
    def _headlines(self) -> list[str]:
        if self.known is None:
            return []
        return [f"{self.known.sum()} of {len(self.known)} pairs known; loss bound {self.loss_bound:g}{self._unit_text}"]

    def _repr_html_(self) -> str:
        named = {
            self._with_unit(name) if name in ("value", "upper") else name: column
            for name, column in self._columns().items()
        }
        return html_lines(self._headlines) + html_table(named)

    def plot(self, axes: Any = None) -> Any:
        """The optimistic value of each state, and the action at the right; the Matplotlib axes."""
        columns = self._columns()
        rows = Rows(columns["state"], self.values[:-1], columns.get("upper"), self.values[:-1], columns["action"])
        return draw_rows(rows, label=self._with_unit("optimistic loss until the goal"), axes=axes)

    def __str__(self) -> str:
        shown = range(min(self.support.states, 12))
        names = [self.support.state_name(s) for s in shown]
        width = max(len(name) for name in names)
        values = [f"{self.values[s]:.6g}{self._unit_text}" for s in shown]
        actions = [self.support.action_name(int(self.policy[s])) for s in shown]
        lines = self._headlines
        lines += [
            f"{name:{width}}  {value:<12}  {action}" for name, value, action in zip(names, values, actions, strict=True)
        ]
        if self.support.states > 12:
            lines.append(f"and {self.support.states - 12} more states")
        return "\n".join(lines)


def policy_in(support: Support, view: EpisodeState) -> NDArray[np.int64]:
    """[S] the action of each state by the plan of a view."""
    return set_readonly(support.pair_action[view.iteration.policy].astype(np.int64))


def make_plan(support: Support, constants: Constants, episode_state: EpisodeState, known: NDArray[np.bool_]) -> Plan:
    """The plan that an episode of a ridge learner holds; ``known`` [N] says which pairs are."""
    sets = in_support_order(support, episode_state.sets)
    lower, upper = value_bounds(
        episode_state.iteration.values, float(episode_state.iteration.progress["residual"]), constants.loss_floor
    )
    return Plan(
        support,
        set_readonly(episode_state.context.copy()),
        policy_in(support, episode_state),
        lower,
        upper,
        set_readonly(episode_state.sets.losses.copy()),
        optimistic_rows(support, sets, episode_state.iteration),
        set_readonly(known),
        float(episode_state.progress["loss_bound"]),
    )
