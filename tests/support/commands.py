"""What tests of the command line share."""

import json
import subprocess
import sys
from pathlib import Path

SPEC = """
name = "small"
question = "Who looks?"
episodes = 20
seeds = 2
step_limit = 2000

[[problems]]
use = "treatment-ladder"
levels = 2
markers = 1

[[learners]]
use = "lr-cssp"
scale = 0.1
label = "looking"

[[learners]]
use = "clairvoyant"

[quick]
episodes = 3
seeds = 1
"""


def strict(text):
    def refuse(word):
        raise AssertionError(f"{word} is not strict JSON")

    return json.loads(text, parse_constant=refuse)


def records(folder):
    return {path.name: path.read_bytes() for path in (Path(folder) / "records").iterdir()}


def in_a_process(*words, **options):
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=60, check=False, **options)
