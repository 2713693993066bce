"""How death is modelled, in a problem that ends with discharge only."""

from __future__ import annotations

from dataclasses import dataclass

from goalbound.models import ModelError
from goalbound.models.validation import check_float


@dataclass(frozen=True)
class DeathPolicy:
    """How death is modelled; made by :func:`readmission` or :func:`death_state`.

    Attributes:
        loss: what a death loses in all, in [0, 1].
        own_state: whether the dead have a state of their own.
    """

    loss: float
    own_state: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", check_float(self.loss, "the loss of a death", "in [0, 1]"))
        if not 0.0 <= self.loss <= 1.0:
            raise ModelError(f"the loss of a death, {self.loss}, is not in [0, 1]; a loss of 1 is the largest there is")


def readmission(*, loss: float = 1.0) -> DeathPolicy:
    """A step into death loses this, and leads to where patients of the group begin: the bed goes to the next one.

    The mean loss of a pair then depends on its chance of death, and a pair that may kill has many next states.
    """
    return DeathPolicy(loss, False)


def death_state(*, loss: float = 1.0) -> DeathPolicy:
    """The dead are a state, the last, where all one can do is to readmit (action 0).

    A step into it loses what every step loses, and the readmission the rest of ``loss``. So all losses are known, and
    death is one next state: there is less to learn. Values in each group are those of :func:`readmission`; under a
    mixture of groups the readmission is mixed anew, by the context. Episodes have one step more for each death.
    """
    return DeathPolicy(loss, True)
