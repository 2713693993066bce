"""An exploration rule: in a share of the steps, the action about which the context says least."""

from dataclasses import dataclass

from goalbound.jit.compile import lean
from goalbound.jit.struct import Struct
from goalbound.learners.explore import ExplorationRule, ExploreSlots


class CuriousConstants(Struct):
    share: float


@lean
def select(constants, view, state, rng):
    chosen = view.iteration.policy[state]
    if rng.random() < constants.explore.share:
        for pair in range(constants.pair_start[state], constants.pair_start[state + 1]):
            if view.norm[pair] > view.norm[chosen]:
                chosen = pair
    return chosen


@dataclass(frozen=True)
class Curious(ExplorationRule):
    share: float
    ceiling: float = 1000.0
    name = "curious"
    draws = True

    def constants(self, run):
        return CuriousConstants(self.share)

    def slots(self, constants):
        return ExploreSlots(select=select)
