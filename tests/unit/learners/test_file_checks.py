"""Sums that no visits lead to are refused, and the array is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from goalbound import GreedyRidge, PriorKnowledge, widths
from goalbound.errors import FileFormatError
from goalbound.learners.base import LearnerBase
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.models.files.array_file import write_array_file
from tests.support.checkpoints import Damage, in_array, in_episode, parts
from tests.support.driving import Clinic, small_problem, written

PROBLEM = small_problem()


def played(learner: LearnerBase) -> bytes:
    """Three episodes are open."""
    return written(Clinic(PROBLEM, learner, beds=3, seed=0).run(61).learner)


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    makes = {
        "likelihood": LRCSSP(PROBLEM.support, 2, loss_floor=0.1),
        "balls": LRCSSP(PROBLEM.support, 2, loss_floor=0.1, widths=widths.paper()),
        "guesses": GreedyRidge(PROBLEM.support, 2, loss_floor=0.1, prior=PriorKnowledge.around(PROBLEM, strength=2)),
    }
    return {name: played(learner) for name, learner in makes.items()}


def one_visit_more(header: object, arrays: dict[str, np.ndarray]) -> None:
    arrays["state.regression.visits"][0] += 1


def without_the_ridge(header: object, arrays: dict[str, np.ndarray]) -> None:
    arrays["state.regression.gram"][0] -= np.eye(2)


def not_symmetric(header: object, arrays: dict[str, np.ndarray]) -> None:
    arrays["state.regression.gram"][0] += [[-0.1, 0.1], [0.0, 0.0]]


def half_of_the_least(header: object, arrays: dict[str, np.ndarray]) -> None:
    arrays["state.log_det"] *= 0.5


DAMAGES: list[tuple[str, Damage, str]] = [
    ("likelihood", in_array("state.log_det", -1000.0), r"state\.log_det holds -1000\.0"),
    ("likelihood", in_array("state.log_det", 1e4), r"state\.log_det holds 10000\.0"),
    ("likelihood", half_of_the_least, r"state\.log_det holds"),
    ("likelihood", one_visit_more, r"state\.regression\.gram"),
    ("likelihood", without_the_ridge, r"state\.regression\.gram"),
    ("likelihood", not_symmetric, r"state\.regression\.gram"),
    ("likelihood", in_array("state.regression.gram_low", 1.0), "gram_low holds"),
    ("likelihood", in_array("state.regression.inverse", 1e6), "inverse holds"),
    ("likelihood", in_array("state.regression.loss_sums", -1.0), "loss_sums holds -1"),
    ("likelihood", in_array("state.regression.next_sums", 1e3), "next_sums"),
    ("likelihood", in_array("state.regression.goal_sums", -1.0), "goal_sums holds -1"),
    ("likelihood", in_array("state.pending.norms", 2**40), "pending norms holds"),
    ("likelihood", in_array("state.pending.contexts", 2**40), "pending contexts holds"),
    ("likelihood", in_array("state.sets.sharp.variance", -1.0), "variance of state.sets holds -1"),
    ("likelihood", in_array("state.sets.ones", 1e3), "likelihood ones holds"),
    ("likelihood", in_array("state.sets.estimate", -1.0), "likelihood estimate holds"),
    ("likelihood", in_array("state.sets.shift", 1e9), "likelihood shift holds"),
    ("likelihood", in_array("state.sets.log_loss", 1e9), "likelihood log_loss holds"),
    ("likelihood", in_array("state.watch.losses", 1e9), "linearity losses holds"),
    ("likelihood", in_episode(0, "sets.low", -1.0), "low holds -1"),
    ("likelihood", in_episode(0, "room.forecast", 0.0), "forecast holds 0"),
    ("balls", in_array("state.sets.rows", -1.0), r"state\.sets\.rows holds -1"),
    ("balls", in_array("state.sets.losses", 1e9), r"state\.sets\.losses holds"),
    ("balls", in_array("state.sets.known_width", -1.0), r"state\.sets\.known_width holds -1"),
    ("balls", in_episode(0, "sets.centre", 2.0), "centre holds 2"),
    ("guesses", in_array("state.regression.gram", 1.0), r"state\.regression\.gram"),
    ("guesses", in_array("state.regression.loss_sums", 0.0, slice(None)), "loss_sums holds"),
]


@pytest.mark.parametrize("number", range(len(DAMAGES)), ids=lambda n: f"{n}: {DAMAGES[n][0]}, {DAMAGES[n][2]}"[:60])
def test_a_number_that_no_visits_lead_to_is_refused(files: dict[str, bytes], tmp_path: Path, number: int) -> None:
    kind, damage, message = DAMAGES[number]
    header, arrays = parts(files[kind])
    damage(header, arrays)
    path = tmp_path / "forged.npz"
    write_array_file(path, header, arrays)
    with pytest.raises(FileFormatError, match=message):
        (GreedyRidge if kind == "guesses" else LRCSSP).load(path)


@pytest.mark.parametrize("kind", ["likelihood", "balls", "guesses"])
def test_what_a_learner_wrote_is_read(files: dict[str, bytes], tmp_path: Path, kind: str) -> None:
    path = tmp_path / "valid.npz"
    path.write_bytes(files[kind])
    assert written((GreedyRidge if kind == "guesses" else LRCSSP).load(path)) == files[kind]
