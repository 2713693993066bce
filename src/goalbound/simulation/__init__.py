"""Simulation: contexts arrive, a world answers, a learner plays, regret is measured."""

from goalbound.simulation.contexts import (
    AdaptiveSource,
    Adversary,
    ContextSource,
    Corners,
    Cyclic,
    Dirichlet,
    Drifting,
    Listed,
)
from goalbound.simulation.diagnostics import Diagnosis, Watched
from goalbound.simulation.history import History
from goalbound.simulation.play import Simulation, play
from goalbound.simulation.regret import step_regret
from goalbound.simulation.world import LossLaw, ModelWorld, World, bernoulli, bounded, deterministic

__all__ = [
    "AdaptiveSource",
    "Adversary",
    "ContextSource",
    "Corners",
    "Cyclic",
    "Diagnosis",
    "Dirichlet",
    "Drifting",
    "History",
    "Listed",
    "LossLaw",
    "ModelWorld",
    "Simulation",
    "Watched",
    "World",
    "bernoulli",
    "bounded",
    "deterministic",
    "play",
    "step_regret",
]
