"""What a learner by ridge regression answers: its estimate, its sets, bounds of policies, explanations, its alarm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.confidence.estimate import Estimate, project, ridge_estimate
from goalbound.confidence.linearity import FLOOR, NO_EPISODE, PARTS, LinearityTest, Untested
from goalbound.confidence.statistics import by_support
from goalbound.errors import ArgumentError, LearnerError, NotLinearWarning, WrongPriorWarning
from goalbound.learners import loop as kernels
from goalbound.learners.card import PROVEN, learner_card
from goalbound.learners.explanation import Evidence, Explanation, explain, ridge_pull
from goalbound.learners.own_card import united_caveats
from goalbound.learners.plan import policy_in
from goalbound.models import SSP, BallSet, IntervalSet, Support
from goalbound.models.validation import set_readonly
from goalbound.planning.evaluation import evaluate
from goalbound.planning.kernels.value_iteration import INTERVAL_SET
from goalbound.planning.policy_bounds import UNPROVEN_WIDTHS, PolicyBounds, policy_bounds
from goalbound.planning.robust_plan import robust_plan

if TYPE_CHECKING:
    from goalbound.learners.learner import RidgeLearner
    from goalbound.learners.prior import PriorKnowledge
    from goalbound.learners.state import EpisodeState

CONTRADICTED = "what was seen contradicts the model or what was declared, see alarm"
"""Why the bounds of a learner with an alarm are not proven."""
Floats = NDArray[np.float64]


def _check_has_sets(learner: RidgeLearner, name: str) -> None:
    if not learner.has_sets:
        raise LearnerError(
            f"a {type(learner).__name__} has no confidence sets, and so no {name}; use an LRCSSP, which takes its data "
            "by merge(learner)"
        )


def estimate_of(learner: RidgeLearner) -> Estimate:
    """The projected estimate."""
    guessed = learner.prior is not None and bool(learner.prior.guessed.any())
    if learner.has_sets and (guessed or learner._assembly.room.shape == INTERVAL_SET):  # no projection is kept
        around = learner.prior.model_prior() if learner.prior is not None and guessed else None
        return project(ridge_estimate(learner.statistics, around=around))
    support, regression, kept = learner.support, learner._state.regression, learner._state.sets
    rows = by_support(support, regression, kept.rows)
    to_goal = support.next_state == support.states
    pair = np.searchsorted(support.next_start, np.flatnonzero(to_goal), side="right") - 1
    rows[to_goal] = 1.0 - np.add.reduceat(rows, support.next_start[:-1], axis=0)[pair]
    losses, gram = set_readonly(kept.losses.copy()), set_readonly(regression.gram.copy())
    return Estimate(support, losses, set_readonly(rows), gram, projected=True)


def estimated(learner: RidgeLearner, context: Floats) -> SSP:
    """The projected estimate under a context, with what is known beforehand put in."""
    model = learner.estimate.model().at(context)
    prior = learner.prior
    if prior is None:
        return model
    known = np.repeat(prior.row_known, np.diff(learner.support.next_start))
    losses = np.where(prior.loss_known, np.clip(prior.losses @ context, 0.0, 1.0), model.losses)
    rows = np.where(known, prior.rows @ context, model.probabilities) if known.any() else model.probabilities
    return SSP(learner.support, losses, rows)


def values_in(model: SSP, policy: NDArray[np.int64]) -> Floats:
    """[S + 1] what a policy loses until the goal in a model; infinite where it does not arrive."""
    found = evaluate(model, policy)
    return set_readonly(np.where(np.isinf(found.hitting_times), np.inf, found.values))


def view_of(learner: RidgeLearner, context: Floats) -> EpisodeState:
    """The sets of all pairs under a context, as kernels have them."""
    view = learner._new_episode_state()
    view.context[:] = context
    learner._run(kernels.all_pair_sets)(learner._constants, learner._state, view)
    return view


def confidence_set_of(learner: RidgeLearner, context: Floats) -> BallSet | IntervalSet:
    """The sets of all pairs under a context, as plans take them."""
    _check_has_sets(learner, "confidence_set")
    return learner._assembly.room.confidence_set(learner, view_of(learner, context))


def plausible(learner: RidgeLearner, context: Floats, view: EpisodeState | None = None) -> BallSet | IntervalSet:
    """The confidence set without what the zero-loss variant adds to the losses; ``view``: has it already."""
    _check_has_sets(learner, "confidence_set")
    holder = view_of(learner, context) if view is None else view
    sets, added = learner._assembly.room.confidence_set(learner, holder), learner.added_loss
    if added == 0.0:
        return sets
    low = np.maximum(sets.loss_low - added * (1.0 + 1e-15), 0.0)
    return replace(sets, loss_low=low, loss_high=np.maximum(sets.loss_high - added * (1.0 - 1e-15), low))


def policy_bounds_of(
    learner: RidgeLearner, context: Floats, policy: ArrayLike | Mapping[Any, Any] | None
) -> PolicyBounds:
    """What a policy loses under a context, by the sets; None: that of the plan, which was made in the same sets."""
    _check_has_sets(learner, "policy_bounds")
    view = None
    if policy is None:
        view = learner._planned(context)
        policy = policy_in(learner.support, view)
    return _completed(learner, policy_bounds(plausible(learner, context, view), policy), context)


def robust_plan_of(learner: RidgeLearner, context: Floats) -> PolicyBounds:
    """The policy that loses least in the worst plausible model."""
    _check_has_sets(learner, "robust_plan")
    return _completed(learner, robust_plan(plausible(learner, context)), context)


def _completed(learner: RidgeLearner, bounds: PolicyBounds, context: Floats) -> PolicyBounds:
    """The bounds with the estimate, with what the learner's card says of the sets, and why they are not proven."""
    card = learner_card(learner)
    widths = () if learner.settings.widths.proven else (UNPROVEN_WIDTHS,)
    contradicted = () if learner.alarm is None else (CONTRADICTED,)
    return replace(
        bounds,
        estimate=values_in(estimated(learner, context), bounds.policy),
        proven=card.guarantee == PROVEN and not contradicted,
        delta=card.delta,
        caveats=united_caveats(widths, contradicted, learner.caveats),
    )


def explanation_of(learner: RidgeLearner, context: Floats, state: int | str) -> Explanation:
    """Why the learner would play what it would play now in a state under a context."""
    here = learner.support.state(state)
    if here == learner.support.states:
        raise ArgumentError("state is the goal; nothing is done there: give one of the states")
    view = learner._planned(context)
    found = explain(_evidence(learner, context, view), context, here)
    return learner.settings.exploration.noted(learner, found, here, view)


def pull_of(learner: RidgeLearner, context: Floats) -> Floats:
    """[N] by which share the ridge makes the loss of a pair too small under a context; 0 where there is a guess."""
    pull = ridge_pull(learner._state.regression.inverse, context, learner._constants.pooling.mean)
    if learner.prior is not None:  # guesses are what these estimates are pulled to
        pull[learner.prior.guessed | (learner.prior.loss_known & learner.prior.row_known)] = 0.0
    return pull


def _evidence(learner: RidgeLearner, context: Floats, view: EpisodeState) -> Evidence:
    """What there is to explain the plan of a view with."""
    model = estimated(learner, context)
    policy = policy_in(learner.support, view)
    values = values_in(model, policy)
    known = learner._known_pairs(view) if learner_card(learner).has_known_test else None
    pull = pull_of(learner, context)
    found = Evidence(model, policy, values, learner._state.regression.visits, known, pull=pull)
    if not learner.has_sets:
        return found
    sets = plausible(learner, context, view)
    return replace(found, sets=sets, bounds=_completed(learner, policy_bounds(sets, found.policy), context))


class Cause(Enum):
    """What an alarm says is wrong."""

    NOT_LINEAR = "the environment is not linear in the contexts"
    LOSS_FLOOR = "the declared loss floor is too high"
    KNOWN_LOSS = "a loss that was said to be known is wrong"
    KNOWN_ROW = "a row that was said to be known is wrong"

    @property
    def warning(self) -> type[UserWarning]:
        """The kind of its warning."""
        return NotLinearWarning if self is Cause.NOT_LINEAR else WrongPriorWarning


@dataclass(frozen=True)
class ModelViolation:
    """What first contradicted the linear model, or what was declared.

    Attributes:
        pair: the number of the pair.
        next_state: the next state that came too often or too rarely; None: the loss.
        component: the heaviest component of the contexts under which it did.
        weights: how heavy that component was, from and to.
        episode: the number of the episode, from 1 on; 0: a step that was learned without one.
        support: for names.
        cause: what is wrong. A loss floor is blamed only if losses contradict it alone, without any estimate.
        declared: the loss floor, where it is the cause.
        of_pair: whether that floor was declared for this pair (knowledge) and not for all (``loss_floor``).
    """

    pair: int
    next_state: int | None
    component: int
    weights: tuple[float, float]
    episode: int
    support: Support
    cause: Cause = Cause.NOT_LINEAR
    declared: float | None = None
    of_pair: bool = False

    def __str__(self) -> str:
        what = (
            "the loss" if self.next_state is None else f"how often {self.support.state_name(self.next_state)} follows"
        )
        where = f"episode {self.episode}" if self.episode != NO_EPISODE else "steps that were learned from"
        return (
            f"{where}: {self.support.pair_name(self.pair)}: {what}, under contexts that give component "
            f"{self.component} a weight of {self.weights[0]:.2f} to {self.weights[1]:.2f}, {self._finding()}"
        )

    def _finding(self) -> str:
        if self.cause is Cause.LOSS_FLOOR:
            blamed = "its floor in the knowledge is" if self.of_pair else "loss_floor is"
            return (
                f"is below {self.declared:g}, the floor that was declared: {blamed} too high, and guarantees do not "
                "hold; declare a number that no mean loss is below (0, with episodes=..., if losses may be zero)"
            )
        if self.cause is not Cause.NOT_LINEAR:
            return (
                "is not what it was said to be: the knowledge is wrong (or the environment is not linear in these "
                "contexts, or changes with time), and guarantees do not hold; correct it, or leave it to be learned"
            )
        return (
            "is not what a linear model allows that fits the other contexts. The environment is not linear in "
            "these contexts (or changes with time): guarantees do not hold; a finer map of the covariates may help"
        )


def violation_of(learner: RidgeLearner) -> ModelViolation | None:
    """The alarm of a learner, if there was one."""
    settings = learner.settings
    return model_violation(
        learner._state.watch, learner.support, settings.context_size, settings.loss_floor, learner.prior
    )


def model_violation(
    test: LinearityTest | Untested,
    support: Support,
    size: int,
    loss_floor: float = 0.0,
    prior: PriorKnowledge | None = None,
) -> ModelViolation | None:
    """The alarm, if there was one, of a learner with this loss floor and this prior knowledge."""
    if not test.violation["found"]:
        return None
    pair, place, part, episode = (int(test.violation[name]) for name in ("pair", "place", "part", "episode"))
    least, step = 1.0 / size, (1.0 - 1.0 / size) / PARTS
    low = least + step * (part % PARTS)
    following = None if place < 0 else int(support.next_state[place])
    cause, declared, of_pair = Cause.NOT_LINEAR, None, False
    if place == FLOOR:
        own = 0.0 if prior is None else float(prior.floors[pair])
        cause, declared, of_pair = Cause.LOSS_FLOOR, max(own, loss_floor), own > loss_floor
    elif prior is not None and following is None and prior.loss_known[pair]:
        cause = Cause.KNOWN_LOSS
    elif prior is not None and following is not None and prior.row_known[pair]:
        cause = Cause.KNOWN_ROW
    return ModelViolation(pair, following, part // PARTS, (low, low + step), episode, support, cause, declared, of_pair)
