"""What the core is for: the command line, the planner and a learner, without any extra."""

import subprocess
import sys
from importlib import metadata, resources

import numpy as np

import goalbound
from goalbound import LRCSSP, ModelEnvironment, load_learner, play, widths
from goalbound.problems import treatment_ladder
from goalbound.simulation import Dirichlet


def printed(*words: str) -> str:
    return subprocess.run([sys.executable, "-I", *words], capture_output=True, text=True, check=True).stdout


assert metadata.version("goalbound") == goalbound.__version__
assert resources.files("goalbound").joinpath("py.typed").is_file()
assert "usage: goalbound" in printed("-m", "goalbound", "--help")
assert printed("-m", "goalbound", "--version") == f"goalbound {goalbound.__version__}\n"
assert "converged" in printed("-m", "goalbound", "solve", "demo")
(command,) = metadata.entry_points(group="console_scripts", name="goalbound")
assert callable(command.load())

rng = np.random.default_rng(0)
environment = ModelEnvironment(treatment_ladder(3, markers=2), rng=rng)
learner = LRCSSP(environment.problem.support, context_size=3, loss_floor=0.1, widths=widths.paper())
for patient in rng.dirichlet([1, 1, 1], size=3):
    episode, state = learner.begin(patient), environment.begin(patient)
    while not episode.ended:
        step = environment.step(episode.act(state))
        episode.observe(step)
        state = step.next_state
assert not learner.open_episodes
learner.save("learner.npz")
assert type(load_learner("learner.npz")) is LRCSSP
history = play(environment.problem, learner, Dirichlet.symmetric(3), episodes=200, seed=0)
assert history.episodes == 200
assert history.loss.dtype == np.float64
