"""Simulation: contexts arrive, a learner plays in an environment, regret is measured."""

from goalbound.models.step import LossLaw, bernoulli, bounded, deterministic
from goalbound.simulation.contexts import (
    AdaptiveSource,
    Adversary,
    ContextSource,
    Cyclic,
    Dirichlet,
    Drifting,
    FromArray,
    OneHot,
)
from goalbound.simulation.diagnostics import AuditOptions, RegretDiagnostics
from goalbound.simulation.environment import Environment, ModelEnvironment
from goalbound.simulation.history import History
from goalbound.simulation.play import Simulation, play
from goalbound.simulation.regret import step_regret
from goalbound.simulation.warm_up import warm_up

__all__ = [
    "AdaptiveSource",
    "Adversary",
    "AuditOptions",
    "ContextSource",
    "Cyclic",
    "Dirichlet",
    "Drifting",
    "Environment",
    "FromArray",
    "History",
    "LossLaw",
    "ModelEnvironment",
    "OneHot",
    "RegretDiagnostics",
    "Simulation",
    "bernoulli",
    "bounded",
    "deterministic",
    "play",
    "step_regret",
    "warm_up",
]
