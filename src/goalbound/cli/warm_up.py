"""``goalbound warm-up``: compile kernels ahead of time."""

from __future__ import annotations

from argparse import Namespace

import numpy as np

from goalbound.experiments.plugins import NO_PLUGINS
from goalbound.experiments.registry import Component, instantiate
from goalbound.experiments.registry.warm_start import ANY_LOG
from goalbound.problems import random_cssp
from goalbound.simulation.warm_up import warm_up


def run(arguments: Namespace) -> int:
    """Compile what the named learners run, or the common ones."""
    problem, rng = random_cssp(3, actions=2, context_size=2, successors=2), np.random.default_rng(0)
    learners = [
        instantiate("learners", Component(name, {}), NO_PLUGINS, problem, episodes=10, log_law=ANY_LOG, rng=rng)
        for name in arguments.learners
    ]
    seconds = warm_up(*learners)
    print(f"ready after {seconds:.1f} s; later processes load the kernels from the cache")
    return 0
