"""What the extra ``cluster`` is for: an experiment on the workers of a Dask cluster."""

import sys
from pathlib import Path

from goalbound.cli import main

try:
    from distributed import LocalCluster
except ImportError:
    LocalCluster = None

Path("cluster.toml").write_text("""
name = "cluster"
episodes = 10
seeds = 1
[[problems]]
use = "treatment-ladder"
levels = 2
markers = 1
[[learners]]
use = "lr-cssp"
[[contexts]]
use = "dirichlet"
""")
words = ["run", "cluster.toml", "--out", "out-cluster", "--quiet", "--on"]
if LocalCluster is None:
    sys.exit(main([*words, "tcp://127.0.0.1:9"]))
with LocalCluster(n_workers=1, processes=False, dashboard_address=None, silence_logs=50) as cluster:
    assert main([*words, cluster.scheduler_address]) == 0
assert list(Path("out-cluster/records").iterdir())
