"""An MDP as model checkers write it, as arrays, and its conversion to a problem and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError, ModelError
from goalbound.models.amounts import cap_of
from goalbound.models.ssp import SSP
from goalbound.models.support import Support
from goalbound.models.validation import set_readonly

UNNAMED = ("",)
"""The action names of a file whose choices have no names."""


@dataclass(frozen=True)
class ExplicitMDP:
    """A Markov decision process as model checkers write it: n states, C choices, B branches.

    Goal states are ordinary states under a label, choices may share an action, branches may repeat a target.
    """

    choice_start: NDArray[np.int64]
    """[n + 1]"""
    branch_start: NDArray[np.int64]
    """[C + 1]"""
    target: NDArray[np.int64]
    """[B] in 0 .. n - 1"""
    probability: NDArray[np.float64]
    """[B]"""
    choice_loss: NDArray[np.float64]
    """[C] the expected loss of each choice, in the user's unit"""
    goal: NDArray[np.bool_]
    """[n]"""
    initial: NDArray[np.bool_]
    """[n]"""
    action: NDArray[np.int64] | None = None
    """[C], or None: choices are numbered within their state"""
    action_names: tuple[str, ...] | None = None
    cap: float | None = None
    """The scale the file names; None: the smallest power of two that brings the losses into [0, 1]"""


def to_ssp(model: ExplicitMDP) -> SSP:
    """The problem: goal states merged into the goal, the others renumbered in their order, losses scaled to [0, 1]."""
    if not np.isfinite(model.probability).all():
        bad = int(np.argmin(np.isfinite(model.probability)))
        raise FileFormatError(f"branch {bad} of the file has the probability {model.probability[bad]}")
    live = ~model.goal
    states = int(live.sum())
    if not states:
        raise FileFormatError("every state is a goal state; no problem is left")
    number = np.where(live, np.cumsum(live) - 1, states)
    sizes = np.diff(model.choice_start)
    kept = np.repeat(live, sizes)
    state = np.repeat(number, sizes)[kept]
    action, names = _actions(model)
    action = action[kept]
    if len(state) == 0:
        raise FileFormatError("no state has a choice")
    choice_loss = model.choice_loss[kept]
    _check_choice_losses(choice_loss, np.flatnonzero(kept), model)
    scale = _scale(choice_loss) if model.cap is None else model.cap

    rank = np.arange(len(state))
    if ((state[1:] == state[:-1]) & (action[1:] <= action[:-1])).any():
        order = np.lexsort((action, state))
        rank[order] = rank.copy()
        state, action, choice_loss = state[order], action[order], choice_loss[order]
    row_sizes = np.diff(model.branch_start)
    branches = np.repeat(kept, row_sizes)
    target, probability, row = _sorted_rows(
        np.repeat(rank, row_sizes[kept]), number[model.target[branches]], model.probability[branches]
    )
    support = Support(
        set_readonly(_starts(state, states)), set_readonly(action), set_readonly(_starts(row, len(state))),
        set_readonly(target), None, names,
    )  # fmt: skip
    return SSP(support, choice_loss / scale, probability, _start(model.initial & live, number, states), scale)


def from_ssp(ssp: SSP) -> ExplicitMDP:
    """A problem as model checkers see it: the goal becomes state S, which stays where it is at no loss."""
    support = ssp.support
    states, pairs, triples = support.states, support.pairs, support.triples
    law = ssp.start_distribution
    initial = law > 0.0
    if not np.array_equal(law[initial], np.full(int(initial.sum()), 1.0 / initial.sum())):
        raise ModelError(
            "the start is a distribution that is not uniform, which this format cannot say; "
            "save the problem as .npz, or give it one start state: dataclasses.replace(problem, start=0)"
        )
    return ExplicitMDP(
        choice_start=np.append(support.pair_start, pairs + 1),
        branch_start=np.append(support.next_start, triples + 1),
        target=np.append(support.next_state, states).astype(np.int64),
        probability=np.append(ssp.probabilities, 1.0),
        choice_loss=np.append(_choice_losses(ssp.losses, cap_of(ssp)), 0.0),
        goal=np.arange(states + 1) == states,
        initial=np.append(initial, False),
        action=np.append(support.pair_action, 0).astype(np.int64),
        action_names=support.action_names,
        cap=cap_of(ssp),
    )


def select_name(name: str | None, names: Sequence[str], candidates: Sequence[str], kind: str, argument: str) -> str:
    """The name given, or the only candidate; else an error that lists the names."""
    listed = ", ".join(f'"{one}"' for one in names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    there = f"there are {listed}" if len(names) > 1 else f"there is {listed}" if names else "there is none"
    if name is not None:
        if name not in names:
            raise FileFormatError(f'no {kind} is called "{name}"; {there}')
        return name
    if len(candidates) != 1:
        state = f"no {kind} can be meant;" if not candidates else f"which {kind} is meant?"
        raise FileFormatError(f"{state} {there}; name it with {argument}=")
    return candidates[0]


def sum_rewards(parts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The sum of rewards from several sources; where one is negative, that one, so that it is found and named."""
    lowest = np.minimum.reduce(parts)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return np.where(lowest < 0.0, lowest, total)


def _actions(model: ExplicitMDP) -> tuple[NDArray[np.int64], tuple[str, ...] | None]:
    """The action of each choice, different within a state: further choices of the same action become ``name#2``, ..."""
    sizes = np.diff(model.choice_start)
    place = np.arange(len(model.choice_loss)) - np.repeat(model.choice_start[:-1], sizes)
    if model.action is None or model.action_names == UNNAMED:
        return place, None
    action, names = model.action, model.action_names
    state = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((action, state))
    first = np.ones(len(order), dtype=bool)
    first[1:] = (state[order][1:] != state[order][:-1]) | (action[order][1:] != action[order][:-1])
    if first.all():
        return action, names
    repeat = np.empty_like(action)
    repeat[order] = np.arange(len(order)) - np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    size = int(action.max()) + 1 if names is None else len(names)
    extra, index = np.unique((repeat * size + action)[repeat > 0], return_inverse=True)
    out = action.copy()
    out[repeat > 0] = size + index
    if names is None:
        return out, None
    return out, _with_repeats(names, [divmod(int(key), size) for key in extra])


def _with_repeats(names: tuple[str, ...], repeats: list[tuple[int, int]]) -> tuple[str, ...]:
    taken = set(names)
    added = []
    for count, action in repeats:
        name = f"{names[action]}#{count + 1}"
        while name in taken:
            name += "'"
        taken.add(name)
        added.append(name)
    return (*names, *added)


def _sorted_rows(
    row: NDArray[np.int64], target: NDArray[np.int64], probability: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Branches by row and target, repeats summed: (target, probability, row)."""
    later = (row[1:] > row[:-1]) | ((row[1:] == row[:-1]) & (target[1:] > target[:-1]))
    if later.all():
        return target, probability, row
    # One key, not two: files are nearly sorted, and a stable sort of one nearly sorted array is nearly linear.
    width = int(target.max()) + 1
    order = np.argsort(row * width + target, kind="stable")
    row, target = row[order], target[order]
    first = np.ones(len(row), dtype=bool)
    first[1:] = (row[1:] != row[:-1]) | (target[1:] != target[:-1])
    heads = np.flatnonzero(first)
    return target[heads], np.add.reduceat(probability[order], heads), row[heads]


def _starts(group: NDArray[np.int64], groups: int) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(np.bincount(group, minlength=groups))))


def _start(initial: NDArray[np.bool_], number: NDArray[np.int64], states: int) -> int | NDArray[np.float64]:
    """One initial state is the start; several are equally likely. Initial goal states have nothing to decide."""
    at = number[initial]
    if not len(at):
        raise FileFormatError("no state that is not a goal is initial; an episode must begin somewhere")
    if len(at) == 1:
        return int(at[0])
    law = np.zeros(states)
    law[at] = 1.0 / len(at)
    return law


def _check_choice_losses(choice_loss: NDArray[np.float64], choice: NDArray[np.int64], model: ExplicitMDP) -> None:
    bad = np.flatnonzero(~((choice_loss >= 0.0) & (choice_loss < np.inf)))
    if len(bad):
        at = int(choice[bad[0]])
        state = int(np.searchsorted(model.choice_start, at, side="right")) - 1
        raise FileFormatError(
            f"state {state} of the file, choice {at - model.choice_start[state]}: reward {choice_loss[bad[0]]}; "
            "rewards are read as losses, which are finite and not negative"
        )


def _scale(choice_loss: NDArray[np.float64]) -> float:
    """1, or the smallest power of two that no amount exceeds: dividing by it is exact."""
    most = float(choice_loss.max())
    if most <= 1.0:
        return 1.0
    fraction, exponent = np.frexp(most)
    return float(np.ldexp(1.0, int(exponent) - 1 if fraction == 0.5 else int(exponent)))


def _choice_losses(losses: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """The losses in the user's unit, chosen among the nearest numbers so that dividing gives the losses back."""
    choice_loss = losses * scale
    for near in (np.nextafter(choice_loss, 0.0), np.nextafter(choice_loss, np.inf)):
        choice_loss = np.where((choice_loss / scale != losses) & (near / scale == losses), near, choice_loss)
    return choice_loss
