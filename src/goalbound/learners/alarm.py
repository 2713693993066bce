"""When what is observed contradicts the linear model, or what was declared."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from goalbound.confidence.linearity import FLOOR, NO_EPISODE, PARTS, LinearityTest, Untested
from goalbound.errors import NotLinearWarning, WrongPriorWarning
from goalbound.learners.prior import PriorKnowledge
from goalbound.models import Support


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
