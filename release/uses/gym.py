"""What the extra ``gym`` is for: problems from transition tables of Gymnasium, and problems as environments."""

from goalbound.adapters.gymnasium import LinearCSSPEnv, from_environments  # isort: skip -- its error names the extra

import gymnasium

from goalbound import solve
from goalbound.problems import treatment_ladder

lakes = [gymnasium.make("FrozenLake-v1", success_rate=rate) for rate in (1.0, 1 / 3)]
lake = from_environments(lakes).problem
assert solve(lake.at([0.5, 0.5]), unreachable="exclude").status.name == "CONVERGED"
environment = LinearCSSPEnv(treatment_ladder(2, markers=1))
environment.reset(seed=0)
assert len(environment.step(0)) == 5
