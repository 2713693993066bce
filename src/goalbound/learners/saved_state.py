"""What was read from the checkpoint of a ridge learner fits together: no number that kernels use as an index is out of
range."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError
from goalbound.kernels.likelihood_state import IN_USE, LikelihoodState, part_in_use
from goalbound.kernels.state import EpisodeState, LearnerState
from goalbound.kernels.stochastic_rows import NO_GOAL, TO_BEST
from goalbound.learners.checkpoint import LARGEST, MANY, within, within_record
from goalbound.learners.compact_arrays import has_matrices
from goalbound.learners.guesses import LARGEST_STRENGTH
from goalbound.learners.prior import PriorKnowledge
from goalbound.models import Support
from goalbound.models.validation import check_distribution, set_readonly

PRIOR_TYPES = {
    "prior.loss_known": "|b1", "prior.losses": "<f8", "prior.row_known": "|b1", "prior.rows": "<f8",
    "prior.floors": "<f8", "prior.guessed": "|b1", "prior.strength": "<f8", "prior.guess_losses": "<f8",
    "prior.guess_rows": "<f8",
}  # fmt: skip
"""The arrays of prior knowledge in a file, and their types."""
MOST_DEVIATIONS = 50.0
"""No standard normal number that is drawn is as far from 0."""


def prior_arrays(prior: PriorKnowledge | None) -> dict[str, NDArray[Any]]:
    """Prior knowledge as a file has it."""
    return {} if prior is None else {name: getattr(prior, name.removeprefix("prior.")) for name in PRIOR_TYPES}


def prior_from(arrays: dict[str, NDArray[Any]], support: Support, size: int) -> PriorKnowledge | None:
    """The prior knowledge of a file, checked as if it were given now."""
    found = {name.removeprefix("prior."): arrays[name] for name in PRIOR_TYPES if name in arrays}
    if not found:
        return None
    if len(found) < len(PRIOR_TYPES):
        raise FileFormatError(f"of the knowledge only {', '.join(sorted(found))} is there")
    shapes = {
        "loss_known": (support.pairs,), "losses": (support.pairs, size), "row_known": (support.pairs,),
        "rows": (support.triples if found["row_known"].any() else 0, size), "floors": (support.pairs,),
        "guessed": (support.pairs,), "strength": (support.pairs,), "guess_losses": (support.pairs, size),
        "guess_rows": (support.triples if found["guessed"].any() else 0, size),
    }  # fmt: skip
    for name, shape in shapes.items():
        if found[name].shape != shape:
            raise FileFormatError(f"prior.{name} has shape {found[name].shape}; the support asks for {shape}")
    for name in ("losses", "rows", "floors", "guess_losses", "guess_rows"):
        within(f"prior.{name}", found[name], 0.0, 1.0)
    within("prior.strength", found["strength"], 0.0, LARGEST_STRENGTH)
    for rows, given in (("rows", "row_known"), ("guess_rows", "guessed")):
        if len(found[rows]):
            sums = np.add.reduceat(found[rows], support.next_start[:-1], axis=0)[found[given]]
            within(f"a row of prior.{rows}", sums, 1.0 - 1e-9, 1.0 + 1e-9)
    return PriorKnowledge(support, size, **{name: set_readonly(array.copy()) for name, array in found.items()})


def check_size(arrays: dict[str, NDArray[Any]], support: Support, size: int) -> None:
    """The Gram matrices of a learner are there, so that a header alone cannot claim memory."""
    shape = (support.pairs, size, size)
    if not has_matrices("state.regression.gram", shape, arrays):
        raise FileFormatError(f"state.regression.gram is missing or not of shape {shape}, as support and settings ask")


def check_learner_state(learner_state: LearnerState, support: Support, *, is_optimistic: bool) -> None:
    """The arrays of a learner, each for itself and together."""
    regression = learner_state.regression
    lengths = np.diff(support.next_start) - (support.next_state[support.next_start[1:] - 1] == support.states)
    within("visits", regression.visits, 0, MANY)
    within("seen", regression.seen, 0, lengths)
    within("seen_index", regression.seen_index, -1, np.repeat(regression.seen, np.diff(support.next_start)) - 1)
    within("seen_state", regression.seen_state, 0, support.states - 1)
    taken = np.flatnonzero(regression.seen_index >= 0)
    pair = np.searchsorted(support.next_start, taken, side="right") - 1
    stands = regression.seen_state[support.next_start[pair] + regression.seen_index[taken]]
    within("seen_state", stands, support.next_state[taken], support.next_state[taken])
    within("seen", regression.seen, *[np.bincount(pair, minlength=support.pairs)] * 2)
    whole = ~support.leads_to_goal  # all next states of such a pair have their indices
    within("seen", regression.seen[whole], lengths[whole], lengths[whole])
    within("policy", learner_state.policy, support.pair_start[:-1], support.pair_start[1:] - 1)
    within("change_log", learner_state.change_log, 0, support.pairs - 1)
    failed = 0 if is_optimistic else MANY  # confidence sets bear with any projection
    within_record("totals", learner_state.totals, loss_bound=(1.0, LARGEST), failed_projections=(0, failed))
    within("pending visits", learner_state.pending.visits, 0, regression.visits)
    for name in ("contexts", "norms"):
        within(f"pending {name}", getattr(learner_state.pending, name), 0, MANY)
    _check_likelihood(learner_state, support.next_start)
    within_record(
        "violation", learner_state.linearity.violation, found=(0, 1), pair=(0, support.pairs - 1),
        place=(-2, support.triples - 1),
    )  # fmt: skip
    _check_values(learner_state.values)


def _check_likelihood(learner_state: LearnerState, next_start: NDArray[np.int64]) -> None:
    """Sums of likelihood-ratio sets; nothing but their visits is there where a learner has none."""
    state = learner_state.likelihood
    if not len(state.visits):
        return
    within("likelihood visits", state.visits, 0, learner_state.regression.visits)
    within("likelihood bounded", state.bounded, 0, state.visits)
    within("likelihood fitted", state.fitted, 0, state.visits)
    _check_room(state, np.diff(next_start))
    state = part_in_use(state)
    within("likelihood pending", state.pending, 0, MANY)
    for name in (
        "log_loss",
        "ones",
        "contexts",
        "rows",
    ):
        within(f"likelihood {name}", getattr(state, name), 0.0, LARGEST)
    for name in ("low", "high"):
        within(f"likelihood {name}", getattr(state, name), 0.0, 1.0)


def _check_room(state: LikelihoodState, lengths: NDArray[np.int64]) -> None:
    """Every pair that was played has its place, its numbers and its rows, which nobody else has."""
    used = {name: int(state.used[name]) for name in IN_USE.names or ()}
    within("likelihood place", state.place, 0, used["pairs"])
    within("likelihood first", state.first, 0, max(used["numbers"] - 1, 0))
    placed = np.flatnonzero(state.place)
    within("likelihood place", np.sort(state.place[placed]), *[np.arange(1, used["pairs"] + 1)] * 2)
    within("likelihood visits of pairs without a place", state.visits[state.place == 0], 0, 0)
    order = placed[np.argsort(state.first[placed])]
    ends = np.cumsum(1 + lengths[order])
    within("likelihood first", state.first[order], *[ends - 1 - lengths[order]] * 2)
    within("likelihood numbers", np.array([used["numbers"]]), *[np.append(0, ends)[-1:]] * 2)
    shown = part_in_use(state)
    taken = np.concatenate([getattr(shown, name).ravel() for name in ("cell_rows", "hit_rows", "miss_rows")])
    within("likelihood rows", np.sort(taken[taken != 0]), *[np.arange(1, used["rows"] + 1)] * 2)
    within("the likelihood row of cells without visits", state.rows[0], 0.0, 0.0)


def claim_in_use(learner_state: LearnerState, arrays: Mapping[str, NDArray[Any]]) -> None:
    """As much room is in use as a file says; that its arrays have these shapes is checked when they are read."""
    state = learner_state.likelihood
    room = {"pairs": len(state.contexts), "numbers": len(state.ones), "rows": max(len(state.rows) - 1, 0)}
    for field, most in room.items():
        name = f"state.likelihood.used.{field}"
        claimed = arrays.get(name)
        if claimed is None or claimed.shape != (1,):
            raise FileFormatError(f"{name} is missing, or is not one number")
        within(name, claimed, 0, most)
        state.used[field] = claimed[0]


def check_episode_states(states: EpisodeState, support: Support, awaits: NDArray[np.bool_]) -> None:
    """The arrays of K episodes, each with an axis in front for them, each for itself and together."""
    _check_contexts(states.context)
    lengths = np.diff(support.next_start)
    within("policy", states.iteration.policy, support.pair_start[:-1], support.pair_start[1:] - 1)
    within("used", states.sets.used, 0, lengths)
    whole = (states.sets.mass == NO_GOAL) | (states.sets.mass == TO_BEST)
    all_used = np.broadcast_to(lengths, whole.shape)[whole]
    within("used", states.sets.used[whole], all_used, all_used)
    within("mass", states.sets.mass[:, support.leads_to_goal], 0.0, LARGEST)
    within("state", states.sets.state, 0, support.states)
    for name in ("low", "high"):
        within(name, getattr(states.sets, name), 0.0, 1.0)
    within("centre", states.sets.centre, 0.0, 1.0 + 1e-6)
    within("noise", states.noise, -MOST_DEVIATIONS, MOST_DEVIATIONS)
    for name, array in (("ball", states.sets.ball), ("norm", states.norm), ("known_width", states.known_width)):
        within(name, array, 0.0, LARGEST)
    within("forecast", states.forecast, np.finfo(np.float64).tiny, 1.0 - 2.0**-53)  # it has a logarithm
    within_record("progress", states.progress, interval=(1, MANY), counted=(0, awaits.astype(np.int64)))
    _check_values(states.iteration.values)


def _check_contexts(contexts: NDArray[np.float64]) -> None:
    """[K, d] points of the simplex."""
    plain = ((contexts >= 0.0) & (contexts <= 1.0)).all(axis=1) & (abs(contexts.sum(axis=1) - 1.0) <= 2.0**-40)
    for context in contexts[~plain]:
        check_distribution(context, "context", len(context), "component")


def _check_values(values: NDArray[np.float64]) -> None:
    within("values", values[..., :-1], 0.0, LARGEST)
    within("values of the goal", values[..., -1:], 0.0, 0.0)
