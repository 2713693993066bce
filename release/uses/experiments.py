"""What the extra ``experiments`` is for: a file in; records, a summary, a report and figures out."""

import sys
from pathlib import Path

from goalbound.cli import main

Path("small.toml").write_text("""
name = "small"
question = "Does the installed package run an experiment?"
episodes = 20
seeds = 1
[[problems]]
use = "treatment-ladder"
levels = 2
markers = 1
[[learners]]
use = "lr-cssp"
[[learners]]
use = "context-blind"
[[contexts]]
use = "dirichlet"
""")
for words in (["run", "small.toml", "--out", "out", "--workers", "1", "--quiet"], ["figures", "out"]):
    if code := main(words):
        sys.exit(code)
assert "<svg" in Path("out/report.html").read_text() or "Plotly" in Path("out/report.html").read_text()

from goalbound.experiments import load  # noqa: E402 -- after the command, whose error names the extra

assert len(load("out").runs) == 2
