"""When what is observed contradicts the linear model."""

from __future__ import annotations

from dataclasses import dataclass

from goalbound.kernels.learned import Excess
from goalbound.kernels.residuals import PARTS
from goalbound.models import Support

FALSE_ALARM = 0.01
"""The probability of an alarm, ever, in a world that is linear and lies in the confidence sets."""
MOST_SUMS = 4_000_000
"""Where there would be more sums to keep, nothing is tested unless it is asked for."""


class NotLinearWarning(UserWarning):
    """The world is not linear in the contexts that the learner is shown."""


@dataclass(frozen=True)
class Alarm:
    """What first contradicted the linear model.

    Attributes:
        pair: the number of the pair.
        next_state: the next state that came too often or too rarely; None: the loss.
        component: the heaviest component of the contexts under which it did.
        weights: how heavy that component was, from and to.
        episode: the number of the episode, from 1 on.
        support: for names.
    """

    pair: int
    next_state: int | None
    component: int
    weights: tuple[float, float]
    episode: int
    support: Support

    def __str__(self) -> str:
        what = (
            "the loss" if self.next_state is None else f"how often {self.support.state_name(self.next_state)} follows"
        )
        return (
            f"episode {self.episode}: {self.support.pair_name(self.pair)}: {what}, under contexts that give component "
            f"{self.component} a weight of {self.weights[0]:.2f} to {self.weights[1]:.2f}, is not what a linear model "
            f"allows that fits the other contexts. The world is not linear in these contexts (or changes with time): "
            f"guarantees do not hold; a finer map of the covariates may help"
        )


def alarm_of(excess: Excess, support: Support, size: int) -> Alarm | None:
    """The alarm, if there was one."""
    pair, place, part, episode = (int(number) for number in excess.alarm)
    if pair < 0:
        return None
    least, step = 1.0 / size, (1.0 - 1.0 / size) / PARTS
    low = least + step * (part % PARTS)
    following = None if place < 0 else int(support.next_state[place])
    return Alarm(pair, following, part // PARTS, (low, low + step), episode, support)
