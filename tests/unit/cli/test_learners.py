"""``goalbound learners``."""

import subprocess
import sys

import pytest

from goalbound.experiments.registry import CONTEXTS, LOSS_LAWS
from goalbound.experiments.registry.learners import LEARNERS
from goalbound.experiments.registry.settings import MEANINGS
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


def test_one_learner_is_explained_with_the_meaning_of_its_settings(run):
    code, out, _ = run("learners", "lr-cssp")
    assert code == 0
    assert out.startswith("lr-cssp: LR-CSSP")
    assert "proven: Theorem regret-bound-main" in out
    for name in LEARNERS.entries["lr-cssp"].settings:
        assert f"  {name} = " in out
    assert MEANINGS["delta"] in out
    assert 'use = "lr-cssp"\ndelta = 0.1\n' in out
    listing = strict(run("learners", "lr-cssp", "--json")[1])
    assert listing["group"] == "learners"
    assert listing["meanings"]["delta"] == MEANINGS["delta"]


@pytest.mark.parametrize(
    ("word", "name"),
    [("thompson", "ps-cssp"), ("Thompson sampling", "ps-cssp"), ("greedy", "greedy-ridge"), ("uniform", "random"),
     ("one-hot", "corners"), ("oracle", "clairvoyant"), ("bernoulli", "bernoulli")],
)  # fmt: skip
def test_other_words_find_it_too(word, name, run):
    code, out, _ = run("learners", word)
    assert code == 0
    assert out.startswith(name)


def test_a_word_for_nothing_is_one_line_with_what_there_is(run):
    code, out, err = run("learners", "lr-csp")
    assert (code, out) == (2, "")
    assert 'is called "lr-csp" (did you mean "lr-cssp"?); there are lr-cssp, ' in err
