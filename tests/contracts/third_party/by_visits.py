"""A confidence model: a pair is as uncertain as its visits are few, whatever the context."""

from dataclasses import dataclass
from math import sqrt

from goalbound.confidence import POINT_SLOTS, ConfidenceModel, Points, estimated_loss, estimated_row
from goalbound.jit.compile import lean
from goalbound.jit.struct import Struct


class VisitConstants(Struct):
    width: float
    enough: float


@lean
def width_of(constants, state, pair):
    return constants.sets.width / sqrt(1.0 + state.regression.visits[pair])


@lean
def loss_set(constants, state, view, pair):
    loss, width = estimated_loss(state, view, pair), width_of(constants, state, pair)
    return loss - width, loss + width


@lean
def row_set(constants, state, view, pair):
    estimated_row(constants, state, view, pair)
    radius = width_of(constants, state, pair)
    view.sets.ball[pair] = radius * radius
    return radius


@lean
def known_width(constants, state, view, pair, low, high, width):
    return width_of(constants, state, pair)


@lean
def is_known(constants, state, view, pair):
    return state.regression.visits[pair] >= constants.sets.enough


@dataclass(frozen=True)
class ByVisits(ConfidenceModel):
    width: float
    enough: float
    name = "by visits"
    shape = Points.shape  # a Euclidean ball of rows
    slots = POINT_SLOTS._replace(
        loss_set=loss_set, row_set=row_set, known_width=known_width, loss_width=known_width, is_known=is_known
    )

    def constants(self, run):
        return VisitConstants(self.width, self.enough)

    def new_state(self, run, constants):
        return Points().new_state(run, constants)

    def new_scratch(self, run):
        return Points().new_scratch(run)

    def check(self, learner):
        Points().check(learner)
