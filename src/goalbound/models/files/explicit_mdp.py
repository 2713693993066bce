"""An MDP as model checkers write it, as arrays, and its conversion to a problem and back: what UMB and DRN share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError, ModelError
from goalbound.models.amounts import cap_of
from goalbound.models.ssp import SSP
from goalbound.models.triples import from_triples

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
    choice_state = np.repeat(np.arange(len(live)), np.diff(model.choice_start))
    kept = live[choice_state]
    lengths = np.diff(model.branch_start)
    if (lengths[kept] == 0).any():
        raise FileFormatError(f"choice {int(np.argmax(kept & (lengths == 0)))} of the file has no branch")
    _check_choice_losses(model, choice_state, kept)
    choice = np.repeat(np.arange(len(kept)), lengths)
    branches = kept[choice]
    choice = choice[branches]
    action, names = _actions(model, choice_state)
    state, following, probability = choice_state[choice], model.target[branches], model.probability[branches]
    triples = number[state], action[choice], number[following], probability
    built = from_triples(*triples, states=states, names=(None, names), keep_zeros=True)
    scale = _scale(model.choice_loss[kept]) if model.cap is None else model.cap
    losses = np.empty(built.support.pairs)
    losses[built.pair_of] = model.choice_loss[choice] / scale
    return SSP(built.support, losses, built.probabilities, _start(number[model.initial & live], states), scale)


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
        choice_loss=np.append(_amounts(ssp.losses, cap_of(ssp)), 0.0),
        goal=np.arange(states + 1) == states,
        initial=np.append(initial, False),
        action=np.append(support.pair_action, 0).astype(np.int64),
        action_names=support.action_names,
        cap=cap_of(ssp),
    )


def select_name(name: str | None, names: Sequence[str], candidates: Sequence[str], kind: str, argument: str) -> str:
    """The name given, or the only candidate; else an error that lists the names."""
    listed = ", ".join(f'"{each}"' for each in names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
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
    return np.where(lowest < 0.0, lowest, sum(parts[1:], start=parts[0]))


def _actions(model: ExplicitMDP, state: NDArray[np.int64]) -> tuple[NDArray[np.int64], tuple[str, ...] | None]:
    """The action of each choice, different within a state: further choices of the same action become ``name#2``, ..."""
    if model.action is None or model.action_names == UNNAMED:
        return np.arange(len(state)) - model.choice_start[state], None
    action, names = model.action, model.action_names
    order = np.lexsort((action, state))
    first = np.ones(len(order), dtype=bool)
    first[1:] = (np.diff(state[order]) != 0) | (np.diff(action[order]) != 0)
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
    taken, added = set(names), []
    for count, base in (divmod(key, size) for key in extra.tolist()):
        name = f"{names[base]}#{count + 1}"
        while name in taken:
            name += "'"
        taken.add(name)
        added.append(name)
    return out, (*names, *added)


def _start(initial: NDArray[np.int64], states: int) -> int | NDArray[np.float64]:
    """One initial state is the start; several are equally likely. Initial goal states have nothing to decide."""
    if not len(initial):
        raise FileFormatError("no state that is not a goal is initial; an episode must begin somewhere")
    if len(initial) == 1:
        return int(initial[0])
    law = np.zeros(states)
    law[initial] = 1.0 / len(initial)
    return law


def _check_choice_losses(model: ExplicitMDP, choice_state: NDArray[np.int64], kept: NDArray[np.bool_]) -> None:
    bad = np.flatnonzero(kept & ~((model.choice_loss >= 0.0) & (model.choice_loss < np.inf)))
    if len(bad):
        state = int(choice_state[bad[0]])
        raise FileFormatError(
            f"state {state} of the file, choice {bad[0] - model.choice_start[state]}: reward "
            f"{model.choice_loss[bad[0]]}; rewards are read as losses, which are finite and not negative"
        )


def _scale(choice_loss: NDArray[np.float64]) -> float:
    """1, or the smallest power of two that no amount exceeds: dividing by it is exact."""
    most = float(choice_loss.max(initial=0.0))
    if most <= 1.0:
        return 1.0
    fraction, exponent = np.frexp(most)
    return float(np.ldexp(1.0, int(exponent) - 1 if fraction == 0.5 else int(exponent)))


def _amounts(losses: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """The losses in the user's unit, chosen among the nearest numbers so that dividing gives the losses back."""
    amounts = losses * scale
    for near in (np.nextafter(amounts, 0.0), np.nextafter(amounts, np.inf)):
        amounts = np.where((amounts / scale != losses) & (near / scale == losses), near, amounts)
    return amounts
