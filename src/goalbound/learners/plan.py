"""What a learner would do under a context, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import LearnerError
from goalbound.frames import data_frame
from goalbound.learners.state import Constants, EpisodeState
from goalbound.models import SSP, LossScale, Support
from goalbound.models.loss_scale import amounts_at_least, amounts_at_most, check_unit, with_unit
from goalbound.models.validation import set_readonly
from goalbound.notebook import html_lines, html_table
from goalbound.planning.extended_value_iteration import (
    in_support_order,
    optimistic_model,
    optimistic_rows,
    value_bounds,
)
from goalbound.plotting import Rows, draw_rows
from goalbound.terminal import one_line


@dataclass(frozen=True, eq=False)
class Plan:
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
        loss_scale: the unit of all values and losses here; None: losses of a step are in [0, 1].
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
    loss_scale: LossScale | None = None

    def in_unit(self, scale: LossScale) -> Plan:
        """The same plan in a unit of the user's own; bounds are rounded outwards."""
        check_unit(scale, self.loss_scale)
        return replace(
            self, values=amounts_at_least(scale, self.values),
            upper=None if self.upper is None else amounts_at_most(scale, self.upper),
            losses=None if self.losses is None else set_readonly(np.asarray(scale.to_unit(self.losses))),
            loss_bound=None if self.loss_bound is None else scale.to_unit(self.loss_bound), loss_scale=scale,
        )  # fmt: skip

    def model(self) -> SSP:
        """The optimistic model, in which the policy is best, as a problem; losses above 1 are shown as 1.

        Losses of problems are in [0, 1], also where those of the plan are in a unit; its ``loss_scale`` says what 1 is.
        """
        if self.losses is None or self.rows is None:
            raise LearnerError("a plan of a learner without contexts has no model; it has a policy and values")
        cap = 1.0 if self.loss_scale is None else self.loss_scale.cap
        return replace(optimistic_model(self.support, self.losses / cap, self.rows), loss_scale=cap)

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
        unit = "" if self.loss_scale is None else f" {one_line(self.loss_scale.unit)}"
        if self.known is None:
            return []
        return [f"{self.known.sum()} of {len(self.known)} pairs known; loss bound {self.loss_bound:g}{unit}"]

    def _repr_html_(self) -> str:
        named = {
            with_unit(name, self.loss_scale) if name in ("value", "upper") else name: column
            for name, column in self._columns().items()
        }
        return html_lines(self._headlines) + html_table(named)

    def plot(self, axes: Any = None) -> Any:
        """The optimistic value of each state, and the action at the right; the Matplotlib axes."""
        columns = self._columns()
        rows = Rows(columns["state"], self.values[:-1], columns.get("upper"), self.values[:-1], columns["action"])
        return draw_rows(rows, label=with_unit("optimistic loss until the goal", self.loss_scale), axes=axes)

    def __str__(self) -> str:
        shown = range(min(self.support.states, 12))
        names = [self.support.state_name(s) for s in shown]
        width = max(len(name) for name in names)
        unit = "" if self.loss_scale is None else f" {one_line(self.loss_scale.unit)}"
        lines = self._headlines
        lines += [
            f"{name:{width}}  {f'{self.values[s]:.6g}{unit}':<12}  {self.support.action_name(int(self.policy[s]))}"
            for s, name in zip(shown, names, strict=True)
        ]
        if self.support.states > 12:
            lines.append(f"and {self.support.states - 12} more states")
        return "\n".join(lines)


def make_plan(support: Support, constants: Constants, episode_state: EpisodeState, known: NDArray[np.bool_]) -> Plan:
    """The plan that an episode of a ridge learner holds; ``known`` [N] says which pairs are."""
    sets = in_support_order(support, episode_state.sets)
    lower, upper = value_bounds(
        episode_state.iteration.values, float(episode_state.iteration.progress["residual"]), constants.loss_floor
    )
    return Plan(
        support,
        set_readonly(episode_state.context.copy()),
        set_readonly(support.pair_action[episode_state.iteration.policy].astype(np.int64)),
        lower,
        upper,
        set_readonly(episode_state.sets.losses.copy()),
        optimistic_rows(support, sets, episode_state.iteration),
        set_readonly(known),
        float(episode_state.progress["loss_bound"]),
    )
