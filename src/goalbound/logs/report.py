"""What a log holds: counts, losses, contexts, and what would break the validity of what is learned from it."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goalbound.terminal import pluralize, table

if TYPE_CHECKING:
    from goalbound.logs.log import Log

QUANTILES = (0.0, 0.1, 0.5, 0.9, 0.99, 1.0)
RARE = 0.1
"""A component is rare if its mean weight is below this share of 1 / d."""
SHOWN = 20
"""Rows of a table in the text; the rest is counted."""
_NAME_WIDTH = 40
FEW = 2
"""A name that more steps have is no slip."""
NAMES_LISTED = 3


@dataclass(frozen=True)
class PairReport:
    """One state-action pair.

    Attributes:
        state, action: names, or numbers as text.
        visits: how often it was tried.
        mean_loss: in the unit; NaN if it was never tried.
        next_states: how often each next state followed, by name; the goal by its own.
    """

    state: str
    action: str
    visits: int
    mean_loss: float
    next_states: dict[str, int]


@dataclass(frozen=True)
class LogReport:
    """What a log holds; ``str`` of it is for people.

    Attributes:
        steps, cases, open_cases, clipped: as in the log.
        support_inferred: whether the support was inferred from the log.
        pairs: all pairs of the support.
        never_tried: the share of the pairs that no step tried.
        unit: of losses; "" if they have none.
        loss_quantiles: the quantiles 0, 0.1, 0.5, 0.9, 0.99 and 1 of the losses, in the unit.
        components: names of the components with the sum of their weights over all steps.
        rare: components with less than a tenth of their share.
        effective_dimension: (sum of eigenvalues)^2 / sum of their squares, of the mean of c c^T.
        changing_cases: cases whose context changes from step to step.
        skipped: how many rows were left out, by column and outcome.
        warnings: what breaks the validity of what is learned, or might.
    """

    steps: int
    cases: int
    open_cases: int
    clipped: int
    support_inferred: bool
    pairs: tuple[PairReport, ...]
    never_tried: float
    unit: str
    loss_quantiles: tuple[float, ...]
    components: tuple[tuple[str, float], ...]
    rare: tuple[str, ...]
    effective_dimension: float
    changing_cases: int
    skipped: tuple[tuple[str, int], ...]
    warnings: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """For programs; what JSON cannot write is None."""
        return {
            "steps": self.steps, "cases": self.cases, "open_cases": self.open_cases, "clipped": self.clipped,
            "support_inferred": self.support_inferred,
            "pairs": [
                {"state": one.state, "action": one.action, "visits": one.visits,
                 "mean_loss": one.mean_loss if one.visits else None, "next_states": one.next_states}
                for one in self.pairs
            ],
            "never_tried": self.never_tried, "unit": self.unit,
            "loss_quantiles": dict(zip(map(str, QUANTILES), self.loss_quantiles, strict=True)),
            "components": dict(self.components), "rare": list(self.rare),
            "effective_dimension": self.effective_dimension, "changing_cases": self.changing_cases,
            "skipped": dict(self.skipped), "warnings": list(self.warnings),
        }  # fmt: skip

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        left_out = sum(count for _, count in self.skipped)
        lines = [
            f"{pluralize(self.steps, 'step')} of {pluralize(self.cases, 'case')}, {self.open_cases} of them open; "
            f"{pluralize(left_out, 'row')} skipped",
            f"{pluralize(len(self.pairs), 'pair')}, {self.never_tried:.1%} of them never tried",
            "losses: " + ", ".join(
                f"{value:.4g}{unit} ({'least' if q == 0.0 else 'most' if q == 1.0 else f'{q:.0%}'})"
                for q, value in zip(QUANTILES, self.loss_quantiles, strict=True)
            ),
            f"contexts: {pluralize(len(self.components), 'component')}, effective dimension "
            f"{self.effective_dimension:.2f}",
            "",
            _pairs_text(self.pairs, self.unit),
            "",
            _components_text(self.components, self.rare),
        ]  # fmt: skip
        if self.skipped:
            lines += ["", "skipped: " + ", ".join(f"{count} for {_short(column)}" for column, count in self.skipped)]
        return "\n".join([*lines, "", *(f"- {warning}" for warning in self.warnings)])


def _pairs_text(pairs: tuple[PairReport, ...], unit: str) -> str:
    shown = sorted(pairs, key=lambda one: one.visits)[:SHOWN] if len(pairs) > SHOWN else pairs
    rows = [
        [_short(one.state), _short(one.action), str(one.visits), f"{one.mean_loss:.4g}" if one.visits else "",
         ", ".join(f"{_short(name)} {count}" for name, count in one.next_states.items() if count)[:60]]
        for one in shown
    ]  # fmt: skip
    text = table(["state", "action", "tried", f"mean loss{f', {unit}' if unit else ''}", "next states"], rows, "llrrl")
    return text + (f"\n... and {len(pairs) - SHOWN} pairs that were tried more often" if len(pairs) > SHOWN else "")


def _components_text(components: tuple[tuple[str, float], ...], rare: tuple[str, ...]) -> str:
    shown = sorted(components, key=lambda one: one[1])[:SHOWN] if len(components) > SHOWN else components
    rows = [[_short(name), f"{weight:.1f}", "rare" if name in rare else ""] for name, weight in shown]
    return table(["component", "steps", ""], rows, "lrl")


def _short(name: str) -> str:
    return name if len(name) <= _NAME_WIDTH else name[: _NAME_WIDTH - 3] + "..."


def log_report(log: Log) -> LogReport:
    """The report of a log."""
    support, (contexts, pairs, places, losses) = log.support, log.arrays()
    visits = np.bincount(pairs, minlength=support.pairs)
    sums = np.bincount(pairs, weights=losses, minlength=support.pairs)
    counts = np.bincount(places, minlength=support.triples)
    states = support.state_names or tuple(map(str, range(support.states)))
    actions = support.action_names or tuple(map(str, range(support.actions)))
    following = (*states, support.goal_name)
    reports = tuple(
        PairReport(
            states[support.pair_state[pair]], actions[support.pair_action[pair]], int(visits[pair]),
            float(log.cap * sums[pair] / visits[pair]) if visits[pair] else float("nan"),
            {following[support.next_state[place]]: int(counts[place])
             for place in range(support.next_start[pair], support.next_start[pair + 1])},
        )
        for pair in range(support.pairs)
    )  # fmt: skip
    weights = contexts.sum(axis=0)
    names = log.component_names or tuple(f"component {place}" for place in range(log.context_size))
    moments = np.linalg.eigvalsh(contexts.T @ contexts / len(log))
    skipped = Counter(one.column or "the whole row" for one in log.skipped)
    return LogReport(
        steps=len(log), cases=log.cases, open_cases=log.open_cases, clipped=log.clipped,
        support_inferred=log.support_inferred, pairs=reports, never_tried=float((visits == 0).mean()),
        unit=log.unit,
        loss_quantiles=tuple(float(log.cap * value) for value in np.quantile(losses, QUANTILES)),
        components=tuple(zip(names, weights.tolist(), strict=True)),
        rare=tuple(
            name for name, weight in zip(names, weights, strict=True) if weight < RARE * len(log) / len(names)
        ),
        effective_dimension=float(moments.sum() ** 2 / (moments**2).sum()),
        changing_cases=_changing_cases(log), skipped=tuple(sorted(skipped.items())),
        warnings=_warnings(
            log, float((visits == 0).mean()), [name for name, weight in zip(names, weights, strict=True) if not weight]
        ),
    )  # fmt: skip


def _changing_cases(log: Log) -> int:
    """Cases whose context is not the same in all steps."""
    order = np.argsort(log.case_of, kind="stable")
    case, contexts = log.case_of[order], log.steps.contexts[order]
    moved = (case[1:] == case[:-1]) & (contexts[1:] != contexts[:-1]).any(axis=1)
    return len(np.unique(case[1:][moved]))


def _warnings(log: Log, never_tried: float, empty: list[str]) -> tuple[str, ...]:
    found = []
    if log.support_inferred:
        found.append(
            "the support was inferred: what the log does not hold counts as impossible. No bound is proven, and a "
            "later step that leads elsewhere is refused. Give a support if you know where actions lead"
        )
    chosen = sum(one.outcome for one in log.skipped)
    if chosen:
        found.append(
            f"{pluralize(chosen, 'row')} skipped because of the loss or the next state: the others are selected by "
            "their outcome, and no bound holds for them. Repair these rows"
        )
    found += rare_names(log)
    if log.open_cases:
        found.append(
            f"{log.open_cases} of {pluralize(log.cases, 'case')} do not end at the goal. Their steps are used; if "
            "cases are missing or cut off because of how they went, no bound holds"
        )
    if log.clipped:
        found.append(
            f"{pluralize(log.clipped, 'step')} with a loss above the cap, counted as the cap: mean losses are those of "
            "clipped losses, and smaller than the true ones"
        )
    if log.probabilities is None:
        found.append("the log has no probabilities of actions: it can be learned from, but not weighted by importance")
    if empty:
        some = ", ".join(_short(name) for name in empty[:4]) + (f" and {len(empty) - 4} more" if len(empty) > 4 else "")
        found.append(
            f"no step in {pluralize(len(empty), 'component')} ({some}): nothing is learned about such contexts"
        )
    if never_tried:
        found.append(f"{never_tried:.1%} of the pairs were never tried: the log says nothing about them")
    found.append(
        "no log can show whether actions depended on something that was not recorded; if they did, no bound holds"
    )
    return tuple(found)


def rare_names(log: Log) -> tuple[str, ...]:
    """A sentence about states, actions and pairs of an inferred support that were seen once or twice, or none.

    An estimate of a pair with so few steps is near no loss and the goal, so that a misspelt action looks cheap. Names
    that are like one that was seen more often come first, with that one.
    """
    if not log.support_inferred:
        return ()
    support, pairs = log.support, log.steps.pairs
    states = np.bincount(support.pair_state[pairs], minlength=support.states)
    actions = np.bincount(support.pair_action[pairs], minlength=support.actions)
    visits = np.bincount(pairs, minlength=support.pairs)
    found = [*_rare("state", support.state_names or (), states), *_rare("action", support.action_names or (), actions)]
    of_known = (visits <= FEW) & (states[support.pair_state] > FEW) & (actions[support.pair_action] > FEW)
    found += [
        (1, f"{_quoted(log, int(support.pair_action[pair]))} in {_state(log, int(support.pair_state[pair]))}")
        for pair in np.flatnonzero(of_known)
    ]
    if not found:
        return ()
    listed = [text for _, text in sorted(found, key=lambda one: one[0])]
    more = f" and {len(listed) - NAMES_LISTED} more" if len(listed) > NAMES_LISTED else ""
    names = f"{', '.join(listed[:NAMES_LISTED])}{more}"
    return (f"seen once or twice, perhaps misspelt: {names}. An inferred support has them all",)


def _rare(what: str, names: Sequence[str], counts: NDArray[np.int64]) -> list[tuple[int, str]]:
    """The names that were seen so seldom, those that resemble another one with rank 0."""
    common = {_plain(name): name for name, count in zip(names, counts.tolist(), strict=True) if count > FEW}
    found = []
    for name, count in zip(names, counts.tolist(), strict=True):
        if count > FEW:
            continue
        like = difflib.get_close_matches(_plain(name), common, n=1)
        hint = f'; did you mean "{_short(common[like[0]])}"?' if like else ""
        found.append((0 if like else 1, f'the {what} "{_short(name)}" ({pluralize(count, "step")}{hint})'))
    return found


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())


def _quoted(log: Log, action: int) -> str:
    names = log.support.action_names
    return f'"{_short(names[action])}"' if names else f"action {action}"


def _state(log: Log, state: int) -> str:
    names = log.support.state_names
    return f'"{_short(names[state])}"' if names else f"state {state}"
