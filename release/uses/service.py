"""What the extra ``service`` is for: learners that answer over HTTP."""

import json
import socket
import subprocess
import sys
import time
from urllib.error import URLError
from urllib.request import urlopen

from goalbound import GreedyRidge, Support

GreedyRidge(Support.from_names({"down": {"restart": ["down", "goal"]}}), 2, loss_floor=0.1).save("service.npz")
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
process = subprocess.Popen(
    [sys.executable, "-I", "-m", "goalbound", "serve", "--store", "service-store", "--learner", "recovery=service.npz",
     "--port", str(port), "--cold"], stderr=subprocess.PIPE, text=True,
)  # fmt: skip
try:
    for _ in range(300):
        if process.poll() is not None:
            sys.exit(process.stderr.read())
        try:
            with urlopen(f"http://127.0.0.1:{port}/v1/learners", timeout=10) as answer:
                assert [one["name"] for one in json.load(answer)["learners"]] == ["recovery"]
            break
        except URLError:
            time.sleep(0.1)
    else:
        raise AssertionError("no answer in 30 s")
finally:
    process.terminate()
    process.communicate()
