"""What ``service`` and ``client`` are for together: a case, from its beginning to the goal, over HTTP."""

import socket
import subprocess
import sys

from goalbound import GreedyRidge, Support
from goalbound.serve.client import Client

support = Support.from_names({"down": {"restart": ["down", "goal"], "page": ["goal"]}})
GreedyRidge(support, 2, loss_floor=0.1).save("case.npz")
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
process = subprocess.Popen(
    [sys.executable, "-I", "-m", "goalbound", "serve", "--store", "case-store", "--learner", "recovery=case.npz",
     "--port", str(port), "--cold"], stderr=subprocess.DEVNULL,
)  # fmt: skip
try:
    with Client(f"http://127.0.0.1:{port}", patience=30.0) as client:  # asks until the service listens
        case = client.learner("recovery").begin([0.8, 0.2], "down")
        assert case.action in ("restart", "page")
        case.observe(0.2, "goal")
        assert case.done
finally:
    process.terminate()
    process.communicate()
