"""Which column of a table holds what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from goalbound.errors import ArgumentError
from goalbound.models.validation import short_repr


@dataclass(frozen=True)
class LogColumns:
    """The names of the columns of a log, given once.

    Attributes:
        case: which case (episode) the step belongs to.
        time: when the action was chosen: numbers, or dates with times. None: rows are in the order of time.
        state: where the case was.
        action: what was done.
        loss: what it lost, in the unit of the loss scale.
        next_state: what followed; the goal by its name.
        covariates: what a map of covariates turns into the context, known before the action was chosen.
        context: d columns that are the context itself: weights, not negative, of sum 1. Neither: there is no context.
        probability: how likely the action was chosen by whoever chose it, given the state and the context; None if
            the log does not say.

    >>> LogColumns(case="incident", loss="minutes", covariates=["hour", "traffic"]).named
    ('incident', 'time', 'state', 'action', 'minutes', 'next_state', 'hour', 'traffic')
    """

    case: str = "case"
    time: str | None = "time"
    state: str = "state"
    action: str = "action"
    loss: str = "loss"
    next_state: str = "next_state"
    covariates: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    probability: str | None = None

    def __post_init__(self) -> None:
        for name in ("case", "state", "action", "loss", "next_state"):
            _check_name(getattr(self, name), name)
        for name in ("time", "probability"):
            if getattr(self, name) is not None:
                _check_name(getattr(self, name), name)
        for name in ("covariates", "context"):
            object.__setattr__(self, name, _checked_list(getattr(self, name), name))
        if self.covariates and self.context:
            raise ArgumentError(
                "covariates and context are both given; a map makes the context of covariates: give one"
            )
        single = [
            getattr(self, one.name) for one in fields(self)
            if one.name not in ("covariates", "context") and getattr(self, one.name) is not None
        ]  # fmt: skip
        for place, name in enumerate(single):
            if name in single[:place]:
                raise ArgumentError(f"the column {short_repr(name)} is named twice; each column holds one thing")
        for name in (*self.covariates, *self.context):
            if name in (self.loss, self.next_state, self.action):
                raise ArgumentError(
                    f"covariates or context holds {short_repr(name)}, which is not known before the action is chosen"
                )

    @property
    def named(self) -> tuple[str, ...]:
        """All columns, each once."""
        single = (self.case, self.time, self.state, self.action, self.loss, self.next_state)
        every = [*single, *self.covariates, *self.context, self.probability]
        return tuple(dict.fromkeys(name for name in every if name is not None))


def _check_name(value: Any, name: str) -> None:
    if not isinstance(value, str) or not value:
        raise ArgumentError(f"{name} is {short_repr(value)}; it is the name of a column, a text")


def _checked_list(values: Any, name: str) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise ArgumentError(f"{name} is {short_repr(values)}; it is a list of names of columns")
    found = tuple(values)
    for place, one in enumerate(found):
        _check_name(one, f"{name}[{place}]")
        if one in found[:place]:
            raise ArgumentError(f"{name}[{place}] is {short_repr(one)}, which is given twice")
    return found
