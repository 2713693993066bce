"""``goalbound learners``."""

import subprocess
import sys

from goalbound.experiments.registry import CONTEXTS, LOSS_LAWS
from goalbound.experiments.registry.learners import LEARNERS
from tests.support.commands import strict


def test_what_experiments_may_name_is_listed_with_its_settings(run):
    code, out, _ = run("learners")
    assert code == 0
    for name in (*LEARNERS.entries, *CONTEXTS.entries, *LOSS_LAWS):
        assert f"  {name}: " in out
    assert '    widths = "paper"' in out
    assert "package.module:function" in out
    listing = strict(run("learners", "--json")[1])
    assert [one["name"] for one in listing["learners"]] == list(LEARNERS.entries)
    assert listing["learners"][0]["settings"]["scale"] == 1.0
    assert "    sees contexts; known test; proven: Theorem regret-bound-main; widths: paper; delta 0.1" in out
    assert listing["learners"][0]["card"]["guarantee"] == "proven"
    assert [one["name"] for one in listing["losses"]] == list(LOSS_LAWS)


def test_learners_are_listed_without_extras():
    code = (
        "import sys\n"
        "for name in 'pydantic pyarrow joblib matplotlib gymnasium'.split():\n    sys.modules[name] = None\n"
        "from goalbound.cli import main\nsys.exit(main(['learners']) + main(['problems']))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
