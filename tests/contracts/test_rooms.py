"""A confidence model, an exploration rule and a learner around another one, each of a third party and from one file:
they learn in both forms of kernels, are saved, and come back by value."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound import LRCSSP, load_learner, play
from goalbound.errors import FileFormatError
from goalbound.learners.learner import RidgeLearner
from goalbound.learners.reference import RandomWalk
from goalbound.learners.settings import Settings
from goalbound.problems import dense_random
from goalbound.simulation import Dirichlet
from goalbound.testing import check_learner
from tests.support.documents import blocks
from tests.support.driving import NO_WAITING
from tests.support.kernel_forms import COMPILED, PYTHON, kernels

FOLDER = Path(__file__).parent / "third_party"
MODULES = ("by_visits", "curious", "smoothed")
PROBLEM = dense_random(4, actions=3, context_size=2, seed=1)
CONTEXTS = Dirichlet([1.0, 1.0])


@pytest.fixture(scope="module")
def own() -> Iterator[dict[str, Any]]:
    """What the three files define."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        names: dict[str, Any] = {}
        for module in MODULES:
            names |= vars(importlib.import_module(module))
        yield names
    for module in MODULES:
        sys.modules.pop(module)


def learner_of(own: dict[str, Any], kind: str) -> Any:
    support, size = PROBLEM.support, PROBLEM.context_size
    model, rule = own["ByVisits"](width=0.3, enough=40.0), own["Curious"](share=0.2)
    if kind == "model":
        return LRCSSP(support, size, loss_floor=0.1, widths=model)
    rng = np.random.default_rng(0)
    learner = RidgeLearner(support, Settings.of(size, loss_floor=0.1, exploration=rule), rng=rng)
    return learner if kind == "rule" else own["Smoothed"](learner, share=0.1)


def rooms_of(own: dict[str, Any]) -> list[Any]:
    return [own["ByVisits"](width=0.3, enough=40.0), own["Curious"](share=0.2), own["Smoothed"]]


KINDS = ("model", "rule", "around")


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_a_learner(own: dict[str, Any], kind: str) -> None:
    with kernels(PYTHON):
        check_learner(lambda problem: learner_of(own, kind), problem=PROBLEM)


@pytest.mark.parametrize("kind", ["model", "rule"])  # what is around another learner has no kernels
def test_it_learns_and_both_forms_play_the_same(own: dict[str, Any], kind: str) -> None:
    regret = []
    for form, episodes in ((PYTHON, 200), (COMPILED, 3_000)):
        with kernels(form):
            history = play(PROBLEM, learner_of(own, kind), CONTEXTS, episodes=episodes, seed=5)
        regret.append(history.expected_regret)
    np.testing.assert_array_equal(regret[0], regret[1][:200])
    walk = play(PROBLEM, RandomWalk(PROBLEM.support, rng=np.random.default_rng(0)), CONTEXTS, episodes=1_000, seed=5)
    assert regret[1][-1_000:].mean() < 0.5 * walk.expected_regret.mean()


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_gives_it_back_to_who_passes_the_room(own: dict[str, Any], kind: str, tmp_path: Path) -> None:
    learner, path = learner_of(own, kind), tmp_path / "learner"
    with kernels(PYTHON), NO_WAITING:
        play(PROBLEM, learner, CONTEXTS, episodes=30, seed=2)
        learner.save(path)
        again = load_learner(path, rooms=rooms_of(own))
        going_on = [play(PROBLEM, one, CONTEXTS, episodes=30, seed=3).loss for one in (learner, again)]
    np.testing.assert_array_equal(*going_on)
    with pytest.raises(FileFormatError, match=r"load_learner\(path, rooms=\["):
        load_learner(path)


def test_a_room_of_other_numbers_is_another_one(own: dict[str, Any], tmp_path: Path) -> None:
    learner_of(own, "model").save(tmp_path / "learner")
    with pytest.raises(FileFormatError, match=r"widths is \{'name': 'by visits'.*load_learner\(path, rooms=\[model\]"):
        load_learner(tmp_path / "learner", rooms=[own["ByVisits"](width=0.3, enough=41.0)])


def test_the_known_test_and_the_sets_are_its_own(own: dict[str, Any]) -> None:
    learner, context = learner_of(own, "model"), [0.25, 0.75]
    with kernels(PYTHON):
        play(PROBLEM, learner, CONTEXTS, episodes=60, seed=2)
        visits, sets = learner.statistics.visits, learner.confidence_set(context)
        np.testing.assert_array_equal(learner.plan(context).known, visits >= 40)
        bounds = learner.policy_bounds(context)
    np.testing.assert_allclose(sets.radii, 0.3 / np.sqrt(1.0 + visits), rtol=1e-12)
    assert 0 < (visits >= 40).sum() < PROBLEM.support.pairs
    assert (bounds.lower <= bounds.upper).all()
    assert not bounds.proven


def test_the_page_shows_these_files() -> None:
    shown = blocks("docs/how_to/write_a_room.md")
    for module in MODULES:
        assert (FOLDER / f"{module}.py").read_text() in shown


USE = """
import sys
from pathlib import Path
from goalbound import LRCSSP, Support
from goalbound.jit.compile import compiled_ahead
from by_visits import ByVisits
with compiled_ahead():
    learner = LRCSSP(Support.full(2, 2), 2, loss_floor=0.1, widths=ByVisits(width=0.5, enough=9.0))
    print(learner.confidence_set([0.5, 0.5]).radii[0], len(list(Path(sys.argv[1]).rglob("*.nbc"))))
"""


def test_a_room_that_was_edited_is_compiled_again(tmp_path: Path) -> None:
    """The size and the time of the file stay as they are: it is the content that counts."""
    room, cache = tmp_path / "by_visits.py", tmp_path / "cache"
    room.write_text((FOLDER / "by_visits.py").read_text())
    written = room.stat()

    def run() -> tuple[float, int]:
        given = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]), "NUMBA_CACHE_DIR": str(cache)}
        given["PYTHONDONTWRITEBYTECODE"] = "1"  # Python takes a file of the same size and time for the same
        words = [sys.executable, "-c", USE, str(cache)]
        ended = subprocess.run(words, capture_output=True, text=True, check=True, env=given)
        radius, programs = ended.stdout.split()
        return float(radius), int(programs)

    first, again = run(), run()
    assert first == again == (pytest.approx(0.5), first[1])
    source = room.read_text()
    room.write_text(source.replace("sqrt(1.0 + state", "sqrt(4.0 + state"))
    os.utime(room, ns=(written.st_atime_ns, written.st_mtime_ns))
    radius, programs = run()
    assert radius == pytest.approx(0.25)
    assert programs > first[1]
