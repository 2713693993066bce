"""Regrets of experiments against the best of version 1.0, which experiments/frozen/in-use.toml keeps.

goalbound run experiments/in-use.toml
python -m benchmarks.frozen out/in-use
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tomllib
from pathlib import Path

FROZEN = Path(__file__).parents[1] / "experiments" / "frozen" / "in-use.toml"


def main(folders: list[str]) -> None:
    """Print the ratios of each learner to the frozen best, their geometric mean and the largest."""
    best = tomllib.loads(FROZEN.read_text())
    command = [str(Path(sys.executable).parent / "goalbound"), "ratios", *folders, "--json"]
    for one in json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["learners"]:
        kept = best[one["start"]]
        by_problem = {name.partition(" (")[0]: regret for name, regret in one["expected_regret"].items()}
        found = {name: regret / kept[name] for name, regret in by_problem.items() if name in kept}
        if not found:
            continue
        mean = math.exp(math.fsum(map(math.log, found.values())) / len(found))
        worst = max(found, key=lambda name: found[name])
        print(f"{one['learner']}: {mean:.3f}, at most {found[worst]:.2f} ({worst}), {len(found)} problems")


if __name__ == "__main__":
    main(sys.argv[1:])
