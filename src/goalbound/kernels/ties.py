"""Pairs that are said to be alike: their losses, or their rows, are the same function of the context.

Tied losses are one number, and tied rows are one row: what is seen of any of the pairs is seen of it. So each *group*
of tied losses or rows is treated as a pair of its own, with sums, likelihoods and sets like those of any other
(``learner.ties`` is a :class:`~goalbound.kernels.state.LearnerState` of groups, under ``constants.ties.groups``). A
step is learned by its pair and by its groups; the set of a pair is that of its groups where it is tied.

**Why the sets hold.** The proofs for the sets of a number speak of visits in the order in which they were made, under
contexts and by actions that were chosen from what was seen before, and of outcomes whose mean is p c with the same p.
Nothing in them asks that all visits are of one pair. A group is one number instead of many, so that the failure
probability is divided by fewer.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import lean
from goalbound.jit.struct import Struct
from goalbound.kernels.forecasts import make_forecasts
from goalbound.kernels.intervals import count_variance
from goalbound.kernels.likelihood import add_pending_forecasts, learn_likelihood
from goalbound.kernels.noise_free import (
    contradicts,
    learn_noise_free,
    noise_free_interval,
    note_contradiction,
)
from goalbound.kernels.pending import add_pending
from goalbound.kernels.regression import count_visit, record_outcome, take_visit


class Nothing(Struct):
    """In the place of groups, where nothing is tied."""


NOTHING = Nothing()


class TieConstants(Struct):
    """Which pairs are tied."""

    _static = ("on",)

    on: bool
    """whether any is; if not, nothing below matters"""
    loss_group: NDArray[np.int64]
    """[N] the group of the loss of a pair, or -1"""
    row_group: NDArray[np.int64]
    """[N] the group of its row, or -1"""
    place: NDArray[np.int64]
    """[M] the place of a next state in the row of its group, or -1"""
    member_start: NDArray[np.int64]
    """[G + 1] the pairs of group g are ``members[member_start[g]:member_start[g + 1]]``"""
    members: NDArray[np.int64]
    groups: Any
    """Constants of the groups as pairs: first those of losses, with one next state, then those of rows, with a loss
    that is known"""


@lean
def begin_tied(constants, episode, context):
    """The context of an episode, for its groups; none of their sets is known."""
    at = episode.ties
    for j in range(len(context)):
        at.context[j] = context[j]
    invalidate_tied(episode)


@lean
def invalidate_tied(episode):
    """All sets of groups will be computed again."""
    for group in range(len(episode.ties.revision)):
        episode.ties.revision[group] = -1


@lean
def make_tied_forecasts(constants, learner, episode, pair):
    """Forecasts of the groups of a pair that is about to be played. Both write to the same array: that of losses to its
    first entry, that of rows to the others."""
    ties = constants.ties
    if ties.loss_group[pair] >= 0:
        make_forecasts(ties.groups, learner.ties, episode.ties, ties.loss_group[pair])
    if ties.row_group[pair] >= 0:
        make_forecasts(ties.groups, learner.ties, episode.ties, ties.row_group[pair])


@lean
def forecast_visit(constants, learner, episode, pair):
    """Forecasts of all that is to be seen of a pair that is about to be played."""
    make_forecasts(constants, learner, episode, pair)
    if constants.ties.on:
        make_tied_forecasts(constants, learner, episode, pair)


@lean
def count_tied_pending(constants, learner, episode, scratch, group):
    """A visit begins to count whose outcome is awaited."""
    groups, state, at = constants.ties.groups, learner.ties, episode.ties
    if groups.intervals.variance:
        count_variance(groups, state, at, group)
    if groups.likelihood.on:
        add_pending_forecasts(groups, state, at, group, 1)
    count_visit(groups, state, scratch, group, episode.context)
    add_pending(state.pending, group, episode.context, 0, 1)
    mark_members(constants, learner, group)


@lean
def count_all_tied_pending(constants, learner, episode, scratch, pair):
    """:func:`count_tied_pending` for the groups of a pair."""
    if constants.ties.loss_group[pair] >= 0:
        count_tied_pending(constants, learner, episode, scratch, constants.ties.loss_group[pair])
    if constants.ties.row_group[pair] >= 0:
        count_tied_pending(constants, learner, episode, scratch, constants.ties.row_group[pair])


@lean
def withdraw_tied(constants, learner, episode, scratch, group):
    """A visit that counts is taken back."""
    groups, state, at = constants.ties.groups, learner.ties, episode.ties
    if groups.likelihood.on:
        add_pending_forecasts(groups, state, at, group, -1)
    add_pending(state.pending, group, episode.context, 0, -1)
    take_visit(state.regression, group, episode.context, groups.regularization, scratch.block)
    mark_members(constants, learner, group)


@lean
def withdraw_all_tied(constants, learner, episode, scratch, pair):
    """:func:`withdraw_tied` for the groups of a pair."""
    if constants.ties.loss_group[pair] >= 0:
        withdraw_tied(constants, learner, episode, scratch, constants.ties.loss_group[pair])
    if constants.ties.row_group[pair] >= 0:
        withdraw_tied(constants, learner, episode, scratch, constants.ties.row_group[pair])


@lean
def learn_group(constants, learner, episode, scratch, group, place, loss, counted):
    """A step of one of the pairs of a group; ``counted``: its visit counts already."""
    groups, state, at = constants.ties.groups, learner.ties, episode.ties
    if counted:
        if groups.likelihood.on:
            add_pending_forecasts(groups, state, at, group, -1)
        add_pending(state.pending, group, episode.context, 0, -1)
    else:
        if groups.intervals.variance:
            count_variance(groups, state, at, group)
        count_visit(groups, state, scratch, group, episode.context)
    goal = len(groups.pair_start) - 1
    record_outcome(state.regression, groups.next_start, groups.next_state, goal, group, place, loss, episode.context)
    if groups.likelihood.on:
        learn_likelihood(groups, state, at, group, place, loss)
    if groups.noise_free.on and groups.noise_free.pairs[group]:
        learn_noise_free(state.noise_free, group, episode.context, loss)
    mark_members(constants, learner, group)


@lean
def learn_tied(constants, learner, episode, scratch, pair, place, loss, counted):
    """A step of a pair, learned by its groups. O(m d^2) for each, and O(1) for each of its members."""
    ties = constants.ties
    group = ties.loss_group[pair]
    if group >= 0:
        only = ties.groups.next_start[group]
        learn_group(constants, learner, episode, scratch, group, only, loss, counted)
    group = ties.row_group[pair]
    if group >= 0:
        learn_group(constants, learner, episode, scratch, group, ties.place[place], loss, counted)


@lean
def mark_members(constants, learner, group):
    """The sets of all pairs of a group have changed."""
    learner.ties.revision[group] += 1
    for k in range(constants.ties.member_start[group], constants.ties.member_start[group + 1]):
        pair = constants.ties.members[k]
        learner.revision[pair] += 1
        learner.change_log[learner.totals["changes"] % len(learner.change_log)] = pair
        learner.totals["changes"] += 1


@lean
def exact_loss_interval(constants, learner, context, pair):
    """The interval of a loss that is free of noise, by the equations of its pair or of its group."""
    if constants.ties.on:
        group = constants.ties.loss_group[pair]
        if group >= 0:
            low, high, _ = noise_free_interval(learner.ties.noise_free, group, context)
            return low, high
    low, high, _ = noise_free_interval(learner.noise_free, pair, context)
    return low, high


@lean
def check_noise_free(constants, learner, context, pair, loss):
    """Whether a loss may be; if not, the contradiction is kept."""
    if not constants.noise_free.pairs[pair]:
        return True
    if constants.ties.on:
        group = constants.ties.loss_group[pair]
        if group >= 0:
            if contradicts(learner.ties.noise_free, group, context, loss):
                note_contradiction(learner.ties.noise_free, pair, group, context, loss)
                return False
            return True
    if contradicts(learner.noise_free, pair, context, loss):
        note_contradiction(learner.noise_free, pair, pair, context, loss)
        return False
    return True
