"""Pairs that are said to be alike, as prior knowledge has them, and the groups that a learner makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError
from goalbound.learners.pair_values import pair_number
from goalbound.models import LinearCSSP, Support
from goalbound.models.support import GOAL
from goalbound.models.validation import set_readonly, short_repr

Indices = NDArray[np.int64]
UNTIED = -1
EQUAL = 1e-12
"""Coefficients of a model that differ by no more are equal."""


class Ties(NamedTuple):
    """Which losses and rows are the same function of the context.

    Attributes:
        losses: [N] the number of the group of a loss, or -1.
        rows: [N] the number of the group of a row, or -1.
        places: [M] which outcome of its group a next state is, or -1; empty if no row is tied.
    """

    losses: Indices
    rows: Indices
    places: Indices

    @classmethod
    def none(cls, support: Support) -> Ties:
        """No pair is tied."""
        untied = set_readonly(np.full(support.pairs, UNTIED, dtype=np.int64))
        return cls(untied, untied, set_readonly(np.zeros(0, dtype=np.int64)))


def with_tied_losses(support: Support, ties: Ties, groups: Any) -> Ties:
    """More groups of pairs whose losses are tied."""
    losses = ties.losses.copy()
    for members in _groups(groups, "losses"):
        pairs = _new_members(support, losses, [pair_number(support, key, "tied losses") for key in members], "loss")
        losses[pairs] = losses.max() + 1
    return ties._replace(losses=set_readonly(losses))


def with_tied_rows(support: Support, ties: Ties, groups: Any) -> Ties:
    """More groups of pairs whose rows are tied: their next states correspond in the order that is given, or in that of
    the support."""
    rows = ties.rows.copy()
    places = ties.places.copy() if len(ties.places) else np.full(support.triples, UNTIED, dtype=np.int64)
    for members in _groups(groups, "rows"):
        pairs = _new_members(support, rows, [pair_number(support, key, "tied rows") for key in members], "row")
        lengths = {pair: support.next_start[pair + 1] - support.next_start[pair] for pair in pairs}
        other = next((pair for pair in pairs if lengths[pair] != lengths[pairs[0]]), None)
        if other is not None:
            raise ArgumentError(
                f"tied rows: {support.pair_name(pairs[0])} has {lengths[pairs[0]]} next states and "
                f"{support.pair_name(other)} has {lengths[other]}; tied rows have as many"
            )
        for key, pair in zip(members, pairs, strict=True):
            order = members[key] if isinstance(members, Mapping) else None
            places[support.row(pair)] = _outcomes(support, pair, order)
        rows[pairs] = rows.max() + 1
    return ties._replace(rows=set_readonly(rows), places=set_readonly(places))


def _groups(groups: Any, what: str) -> Iterable[Any]:
    """Each group as a sequence or a mapping."""
    if isinstance(groups, str | bytes | Mapping) or not isinstance(groups, Iterable):
        raise ArgumentError(
            f"tied {what}: {short_repr(groups)} is no sequence of groups; give [[(state, action), ...], ...]"
        )
    for group in groups:
        if not isinstance(group, Sequence | Mapping) or isinstance(group, str) or len(group) < 2:
            raise ArgumentError(
                f"tied {what}: {short_repr(group)} is no group; a group has two pairs or more: [(state, action), ...]"
            )
        yield group


def _new_members(support: Support, before: Indices, pairs: list[int], what: str) -> list[int]:
    for pair in pairs:
        if before[pair] != UNTIED or pairs.count(pair) > 1:
            raise ArgumentError(
                f"the {what} of {support.pair_name(pair)} is tied twice; put all pairs that are alike into one group"
            )
    return pairs


def _outcomes(support: Support, pair: int, order: Any) -> Indices:
    """[m] which outcome each next state of a pair is, in the order of the support."""
    here = support.next_state[support.row(pair)].tolist()
    if order is None:
        return np.arange(len(here))
    named = [support.state(one) for one in order]
    if sorted(named) != here:
        names = ", ".join(support.state_name(one) for one in here)
        raise ArgumentError(
            f"tied rows: the next states of {support.pair_name(pair)} are given as {short_repr(list(order))}; they are "
            f"{names} ({GOAL!r} is the goal), each once, in the order in which they correspond"
        )
    return np.array([named.index(one) for one in here])


def ties_of(model: LinearCSSP) -> Ties:
    """The losses and rows that are equal in a model: same coefficients; for rows, the same after sorting.

    Rows that are certain, and what has no equal, are not tied.
    """
    support = model.support
    losses = _equal_groups([_key(model.losses[pair]) for pair in range(support.pairs)])
    rows, places, keys = [], np.full(support.triples, UNTIED, dtype=np.int64), []
    for pair in range(support.pairs):
        coefficients = model.probabilities[support.row(pair)]
        order = np.lexsort(np.round(coefficients, 12).T)
        keys.append(tuple(_key(coefficients[k]) for k in order) if len(order) > 1 else None)
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        rows.append(place)
    found = _equal_groups(keys)
    for pair in np.flatnonzero(found >= 0).tolist():
        places[support.row(pair)] = rows[pair]
    return Ties(
        set_readonly(losses), set_readonly(found), set_readonly(places if (found >= 0).any() else places[:0].copy())
    )


def _key(coefficients: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple((np.round(coefficients / EQUAL) * EQUAL).tolist())


def _equal_groups(keys: Sequence[Any]) -> Indices:
    """[N] the number of the group of equal keys, or -1 where there is no other, or no key."""
    members: dict[Any, list[int]] = {}
    for pair, key in enumerate(keys):
        if key is not None:
            members.setdefault(key, []).append(pair)
    groups = np.full(len(keys), UNTIED, dtype=np.int64)
    for number, pairs in enumerate(one for one in members.values() if len(one) > 1):
        groups[pairs] = number
    return groups


@dataclass(frozen=True)
class Groups:
    """Groups of tied losses and rows as pairs of a support of their own: first those of losses, then those of rows.

    Attributes:
        support: a group of losses has one next state, one of rows as many as its pairs have; no group leads to the
            goal. There are more pairs than groups if next states need more states.
        of_loss: [N] the group of a loss, or -1.
        of_row: [N] the group of a row, or -1.
        place: [M] the place of a next state in the row of its group, or -1.
        losses: how many groups of losses there are.
        count: how many groups there are.
    """

    support: Support
    of_loss: Indices
    of_row: Indices
    place: Indices
    losses: int
    count: int

    @classmethod
    def of(cls, support: Support, ties: Ties) -> Groups:
        """The groups of what is tied."""
        losses, rows = int(ties.losses.max()) + 1, int(ties.rows.max()) + 1
        first = [int(np.argmax(ties.rows == group)) for group in range(rows)]
        lengths = [1] * losses + [int(support.next_start[pair + 1] - support.next_start[pair]) for pair in first]
        count = len(lengths)
        lengths += [1] * (max(lengths) - count)
        grouped = Support.from_pairs([{0: list(range(length))} for length in lengths])
        of_row = np.where(ties.rows >= 0, ties.rows + losses, UNTIED)
        place = np.full(support.triples, UNTIED, dtype=np.int64)
        if len(ties.places):
            owner = np.repeat(of_row, np.diff(support.next_start))
            tied = owner >= 0
            place[tied] = grouped.next_start[owner[tied]] + ties.places[tied]
        return cls(grouped, set_readonly(ties.losses.copy()), set_readonly(of_row), set_readonly(place), losses, count)

    @property
    def members(self) -> tuple[Indices, Indices]:
        """[G + 1], [] the pairs of each group, and where they begin."""
        found = [np.flatnonzero(self.of_loss == group) for group in range(self.losses)]
        found += [np.flatnonzero(self.of_row == group) for group in range(self.losses, self.support.pairs)]
        starts = np.concatenate([[0], np.cumsum([len(one) for one in found])]).astype(np.int64)
        return set_readonly(starts), set_readonly(np.concatenate(found).astype(np.int64))

    @property
    def classes(self) -> Indices:
        """[N] a number for each pair; pairs that share a group, directly or by others, have the same."""
        classes = np.arange(len(self.of_loss))
        changed = True
        while changed:
            before = classes.copy()
            for groups in (self.of_loss, self.of_row):
                for group in np.unique(groups[groups >= 0]).tolist():
                    pairs = groups == group
                    classes[pairs] = classes[pairs].min()
            changed = not np.array_equal(before, classes)
        return set_readonly(classes.astype(np.int64))
