"""Why a learner plays an action: all actions of one state under a context, side by side."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields, is_dataclass, replace
from math import isfinite
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from goalbound.frames import data_frame
from goalbound.models import SSP, BallSet, IntervalSet
from goalbound.models.amounts import Amounts, HasUnit, each, interval, nearest
from goalbound.notebook import html_lines, html_table
from goalbound.planning import PolicyBounds
from goalbound.planning.policy_bounds import normalised
from goalbound.planning.robust_plan import pair_bounds
from goalbound.plotting import Rows, draw_rows
from goalbound.terminal import one_line, pluralize, table

PULLED = 0.1
"""From this share on, a note says that the ridge makes estimates too small."""
UNKNOWN = 0.99
"""From this share on, an estimate rests on no data under the context."""
TIE = 1e-9
"""Values that are closer than this share of them tie."""
HEAD = ["action", "loss", "value", "at least", "at most", "visits", "leads to"]
IN_UNIT = ("loss", "value", "at least", "at most")
"""The columns whose numbers have the unit of the losses."""
OWN_PLAN = "Values are those of the learner's own plan after the action, not of the runbook."
"""A note where a runbook leads."""
Interval = tuple[float, float]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NextState:
    """A next state of an action: its name, its estimated probability, and the interval of it where there is one."""

    state: str
    probability: float
    interval: Interval | None


@dataclass(frozen=True)
class ActionExplanation(Amounts):
    """An action of the state.

    Attributes:
        action: its name, or its number as text.
        number: its number.
        loss: its estimated loss; ``loss_interval``: the plausible ones.
        next_states: where it leads, the goal last.
        radius: of the ball in which the row of probabilities is plausible, the goal left out; None where each
            probability has an interval of its own, or nothing is said.
        value: the loss until the goal if this action is taken now and the plan is followed after, by the estimate.
        value_interval: the least and the largest such loss in the plausible models.
        visits: how often it was played.
        known: whether it is known under the context, for learners with a known test.
        pull: by which share the ridge makes its loss too small under the context (:func:`ridge_pull`).
    """

    action: str
    number: int
    loss: float
    loss_interval: Interval | None
    next_states: tuple[NextState, ...]
    radius: float | None
    value: float
    value_interval: Interval | None
    visits: int
    known: bool | None
    pull: float = 0.0

    _amounts: ClassVar = {"loss": nearest, "loss_interval": interval, "value": nearest, "value_interval": interval}


@dataclass(frozen=True, eq=False)
class Explanation(Amounts):
    """Why a learner would play an action in a state under a context: ``print`` it, or show it in a notebook.

    Attributes:
        state: the name of the state.
        context: [d].
        actions: all actions of the state.
        chosen: the place in ``actions`` of the one that is played.
        reason: why, in one sentence, and in a second one if nothing is known under the context.
        guarantee: how far the intervals can be trusted, or that there are none.
        notes: what makes the estimates misleading, one sentence each.
        explores: whether it is played to find out more, and the plan has another action.
    """

    state: str
    context: tuple[float, ...]
    actions: tuple[ActionExplanation, ...]
    chosen: int
    reason: str
    guarantee: str
    notes: tuple[str, ...] = ()
    explores: bool = False

    _amounts: ClassVar = {"actions": each}

    def playing(self, action: int, reason: str, *, note: str | None = None) -> Explanation:
        """The same actions, where this one is played for another reason than that of the plan."""
        chosen = next(place for place, one in enumerate(self.actions) if one.number == action)
        sentence = f"{self.actions[chosen].action}, {reason}."
        notes = (*self.notes, *([note] if note else []))
        return replace(self, chosen=chosen, reason=sentence, notes=notes, explores=False)

    def exploring(self, action: int, planned: int) -> Explanation:
        """The same actions, where this one is played to find out more, and the plan has another."""
        by_number = {one.number: one for one in self.actions}
        visits, other = pluralize(by_number[action].visits, "visit"), by_number[planned]
        reason = f"to find out more: it has {visits}; the plan has {other.action}, with {other.visits}"
        return replace(self.playing(action, reason), explores=True)

    def proposed(self, action: int, allowed: Collection[int] | None, otherwise: str) -> Explanation:
        """Of an action that was proposed although something else would be played by now: because of those that were
        ``allowed`` (None: all), or for the reason that is given."""
        if action == self.actions[self.chosen].number:
            return self
        if allowed is None or self.actions[self.chosen].number in allowed:
            return self.playing(action, otherwise)
        possible = [one.action for one in self.actions if one.number in allowed]
        if len(possible) == 1:
            return self.playing(action, "as it is the only one allowed")
        return self.playing(action, f"as the learner takes it for the best of those allowed ({', '.join(possible)})")

    def _columns(self, names: list[str]) -> dict[str, list[str]]:
        """The columns of the table under ``names`` of the actions, without those that say nothing."""
        cells = [[name, *self._cells(one)] for name, one in zip(names, self.actions, strict=True)]
        columns = zip(HEAD, map(list, zip(*cells, strict=True)), strict=True)
        return {self._with_unit(name) if name in IN_UNIT else name: column for name, column in columns if any(column)}

    def __str__(self) -> str:
        marks = ["* " if place == self.chosen else "  " for place in range(len(self.actions))]
        names = [mark + one_line(one.action) for mark, one in zip(marks, self.actions, strict=True)]
        columns = self._columns(names)
        shown = table(list(columns), zip(*columns.values(), strict=True), "l" + "r" * (len(columns) - 2) + "l")
        title = f"In {one_line(self.state)}: {one_line(self.reason)}"
        return "\n".join([title, shown, *map(one_line, self.notes), self.guarantee])

    def _cells(self, one: ActionExplanation) -> list[str]:
        low, high = ("", "") if one.value_interval is None else (f"{end:.4g}" for end in one.value_interval)
        ball = "" if one.radius is None else f" (within {one.radius:.2g})"
        known = {None: "", True: ", known", False: ""}[one.known]
        led = ", ".join(
            one_line(following.state) + " " + _spread(following.probability, following.interval, digits=2)
            for following in one.next_states
        )
        return [_spread(one.loss, one.loss_interval), f"{one.value:.4g}", low, high, f"{one.visits}{known}", led + ball]

    def _repr_html_(self) -> str:
        columns = self._columns([one.action for one in self.actions])
        return (
            html_lines([f"In {self.state}: {self.reason}"])
            + html_table(columns, bold=self.chosen, most=len(self.actions))
            + html_lines([*self.notes, self.guarantee])
        )

    def frame(self, *, arrow: bool = False) -> Any:
        """One row per action: its name, whether it is the chosen one, loss and value with the ends of their intervals
        (missing without confidence sets), visits, known. A data frame of pandas, or a table of Arrow."""
        columns: dict[str, Any] = {
            "action": [one.action for one in self.actions],
            "chosen": [place == self.chosen for place in range(len(self.actions))],
        }
        for name in ("loss", "value"):
            ends = [getattr(one, f"{name}_interval") or (None, None) for one in self.actions]
            columns[name] = [getattr(one, name) for one in self.actions]
            columns[f"{name}_low"] = [low for low, _ in ends]
            columns[f"{name}_high"] = [high for _, high in ends]
        columns["visits"] = [one.visits for one in self.actions]
        columns["known"] = [one.known for one in self.actions]
        return data_frame(columns, arrow=arrow)

    def plot(self, axes: Any = None) -> Any:
        """Each action's loss until the goal: the estimate as a point, and what is plausible as an interval; the chosen
        one is marked. The Matplotlib axes."""
        intervals = [one.value_interval or (np.nan, np.nan) for one in self.actions]
        names = [one.action for one in self.actions]
        names[self.chosen] += " (chosen)"
        values = np.array([one.value for one in self.actions])
        rows = Rows(
            names,
            [low for low, _ in intervals],
            [high for _, high in intervals],
            np.where(np.isfinite(values), values, np.nan),
            [pluralize(one.visits, "visit") for one in self.actions],
        )
        label = self._with_unit(f"loss until the goal from {self.state}")
        line = "" if all(one.value_interval is None for one in self.actions) else "; line: plausible"
        return draw_rows(rows, label=f"{label}; point: estimate{line}", axes=axes)

    def as_json(self) -> dict[str, Any]:
        """What :mod:`json` writes as it is: infinite numbers are the text "infinite", what there is not is null."""
        plain: dict[str, Any] = _plain(self)
        return plain | {"chosen": self.actions[self.chosen].action, "unit": self.unit}


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a learner has to explain with.

    Attributes:
        model: the estimated problem under the context.
        policy: [S] the actions of the plan.
        values: [S + 1] what the plan loses by the estimate.
        visits: [N]; known: [N], or None without a known test.
        sets, bounds: the plausible models and the bounds of the plan in them; None for learners without sets.
        pull: [N] of :func:`ridge_pull`, 0 where nothing is pulled towards no loss; None: of no pair.
    """

    model: SSP
    policy: NDArray[np.int64]
    values: Floats
    visits: NDArray[np.int64]
    known: NDArray[np.bool_] | None = None
    sets: BallSet | IntervalSet | None = None
    bounds: PolicyBounds | None = None
    pull: Floats | None = None


def ridge_pull(inverse_gram: Floats, context: Floats, weight: float) -> Floats:
    """[N] by which share the prior makes the loss of a pair too small under a context.

    With Gram matrix V = V0 + sum of c_i c_i^T [N, d, d] and mean losses theta, the expected estimate under the context
    c is c theta - c V^-1 V0 theta. So a loss that is the same in all components is too small by the share w c V^-1 1,
    with V0 1 = w 1 (``weight``; lambda for lambda I): 1 without visits, w / (w + n) after n visits where there is one
    component. Probabilities of states shrink alike, and the goal gets what they lose.

    >>> ridge_pull(np.array([[[1.0]], [[0.25]]]), np.ones(1), 1.0)  # no visit, and three
    array([1.  , 0.25])
    """
    return np.clip(weight * (context @ inverse_gram).sum(axis=1), 0.0, 1.0)


def explain(evidence: Evidence, context: Floats, state: int) -> Explanation:
    """The explanation of what the plan plays in a state."""
    support, bounds = evidence.model.support, evidence.bounds
    pairs = range(int(support.pair_start[state]), int(support.pair_start[state + 1]))
    intervals: list[Interval | None] = [None] * len(pairs)
    if evidence.sets is not None and bounds is not None:
        low, high = pair_bounds(normalised(evidence.sets), bounds.lower, bounds.upper)
        intervals = [(float(low[pair]), float(high[pair])) for pair in pairs]
    actions = tuple(_explained(evidence, pair, ends) for pair, ends in zip(pairs, intervals, strict=True))
    chosen = next(place for place, one in enumerate(actions) if one.number == evidence.policy[state])
    no_bounds = "This learner has no confidence sets, so there are no bounds."
    return Explanation(
        support.state_label(state),
        tuple(context.tolist()),
        actions,
        chosen,
        _reason(actions, chosen) + _ignorance(actions, chosen),
        no_bounds if bounds is None else bounds.guarantee,
        notes=_notes(actions),
    )


def _explained(evidence: Evidence, pair: int, interval: Interval | None) -> ActionExplanation:
    model, sets = evidence.model, evidence.sets
    support = model.support
    number, row = int(support.pair_action[pair]), support.row(pair)
    following, chances = support.next_state[row], model.probabilities[row]
    led = chances > 0.0
    value = float(model.losses[pair] + chances[led] @ evidence.values[following[led]])
    intervals: list[Interval | None] = [None] * len(following)
    if isinstance(sets, IntervalSet):
        intervals = list(zip(sets.low[row].tolist(), sets.high[row].tolist(), strict=True))
    return ActionExplanation(
        support.action_label(number),
        number,
        float(model.losses[pair]),
        None if sets is None else (float(sets.loss_low[pair]), float(sets.loss_high[pair])),
        tuple(
            NextState(support.state_label(int(s)), float(chance), ends)
            for s, chance, ends in zip(following, chances, intervals, strict=True)
        ),
        float(sets.radii[pair]) if isinstance(sets, BallSet) else None,
        value,
        interval,
        int(evidence.visits[pair]),
        None if evidence.known is None else bool(evidence.known[pair]),
        0.0 if evidence.pull is None else float(evidence.pull[pair]),
    )


def _notes(actions: tuple[ActionExplanation, ...]) -> tuple[str, ...]:
    """Which estimates are too small because of few visits."""
    pulled = [f"{one.action} by {one.pull:.0%}" for one in actions if one.pull >= PULLED]
    if not pulled:
        return ()
    return (
        f"Few visits under this context: the ridge pulls estimates towards no loss and the goal ({', '.join(pulled)}), "
        "so they are rather too small.",
    )


def _reason(actions: tuple[ActionExplanation, ...], chosen: int) -> str:
    """Why the plan plays it, by how its value compares with those of the others."""
    one = actions[chosen]
    if len(actions) == 1:
        return f"{one.action}, as it is the only action."
    best = min(actions, key=lambda other: other.value)
    in_estimate = one.value <= best.value * (1.0 + TIE)
    played = f"played {one.visits} times" if one.visits != 1 else "played once"
    if one.value_interval is None:
        if in_estimate:
            return f"{one.action}, as it is least in estimate ({played})."
        return f"{one.action}, by the plan of this learner; {best.action} is less in estimate."
    ends = [other.value_interval for other in actions if other.value_interval is not None]
    safest = min(range(len(ends)), key=lambda place: ends[place][1])
    worst = one.value_interval[1]
    in_worst_case = np.isfinite(worst) and worst <= ends[safest][1] * (1.0 + TIE)
    if in_estimate and in_worst_case:
        return f"{one.action}, as it is least in estimate and in the worst case."
    if in_estimate:
        if np.isfinite(ends[safest][1]):
            return f"{one.action}, as it is least in estimate; in the worst case {actions[safest].action} is less."
        return f"{one.action}, as it is least in estimate; the worst case of every action is still infinite."
    return (
        f"{one.action}, as its optimistic value is least; {best.action} is less in estimate, but the bounds of "
        f"{one.action} are wide ({played}), so playing it also learns."
    )


def _ignorance(actions: tuple[ActionExplanation, ...], chosen: int) -> str:
    """What is to be said where the values of the actions rest on nothing that was seen; else nothing."""
    if len(actions) == 1:
        return ""
    if all(one.pull >= UNKNOWN for one in actions):
        return " Nothing is known under this context: no action was played under one like it."
    if actions[chosen].pull >= UNKNOWN:
        return f" Nothing is known of {actions[chosen].action} under this context."
    values = [one.value for one in actions]
    if np.isfinite(values).all() and max(values) - min(values) <= TIE * max(values):
        return " All actions tie: nothing is known under this context that tells them apart."
    return ""


def _spread(number: float, interval: Interval | None, digits: int = 3) -> str:
    ends = "" if interval is None else f" [{interval[0]:.{digits}g}, {interval[1]:.{digits}g}]"
    return f"{number:.{digits}g}{ends}"


def _plain(value: Any) -> Any:
    """As JSON can say it; units are left out."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if is_dataclass(value):
        names = [field.name for field in fields(value) if field.name not in HasUnit.__dataclass_fields__]
        return {name: _plain(getattr(value, name)) for name in names}
    return "infinite" if isinstance(value, float) and not isfinite(value) else value
