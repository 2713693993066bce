from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from goalbound import (
    LRCSSP,
    Apprentice,
    ContextBlind,
    EpsilonGreedy,
    GreedyRidge,
    Guarded,
    KwikRmax,
    LossScale,
    Monitored,
    PosteriorSampling,
    Step,
    Support,
    load_learner,
)
from goalbound.adapters.covariates import CovariateLearner, Hats
from goalbound.baselines import uc_ssp
from goalbound.cli import main
from goalbound.errors import ArgumentError, FileFormatError
from tests.support.driving import written
from tests.support.units import in_units

SUPPORT = Support.full(2, 2)
MINUTES = LossScale("min", cap=60)


def lr_cssp() -> LRCSSP:
    return LRCSSP(SUPPORT, 2, loss_floor=0.1)


LEARNERS = {
    "LR-CSSP": lr_cssp,
    "greedy": lambda: GreedyRidge(SUPPORT, 2, loss_floor=0.1),
    "epsilon": lambda: EpsilonGreedy(SUPPORT, 2, loss_floor=0.1, rng=np.random.default_rng(0)),
    "posterior": lambda: PosteriorSampling(SUPPORT, 2, loss_floor=0.1, rng=np.random.default_rng(0)),
    "Rmax": lambda: KwikRmax(SUPPORT, 2, loss_floor=0.1),
    "tabular": lambda: uc_ssp(SUPPORT, loss_floor=0.1),
    "unit": lambda: in_units(GreedyRidge(SUPPORT, 2, loss_floor=0.1), MINUTES),
    "apprentice": lambda: Apprentice(lr_cssp(), [0, 1]),
    "guarded": lambda: Guarded(lr_cssp(), [0, 1], after_steps=3),
    "monitored": lambda: Monitored(lr_cssp()),
    "monitored guard": lambda: in_units(Monitored(Guarded(lr_cssp(), [0, 1], after_loss=3.0)), MINUTES),
    "covariates": lambda: CovariateLearner(Hats([0, 1], clamp=True), lr_cssp()),
    "all": lambda: CovariateLearner(Hats([0, 1], clamp=True), in_units(Apprentice(lr_cssp(), [0, 1]), MINUTES)),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_file_is_loaded_by_what_it_says_itself(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    learner, path = LEARNERS[name](), tmp_path / "learner.npz"
    shown = 0.25 if isinstance(learner, CovariateLearner) else [1.0] if name == "tabular" else [0.25, 0.75]
    learner.learn(shown, Step(0, 1, 0.5, 1))
    learner.save(path)

    loaded = load_learner(path)

    assert type(loaded) is type(learner)
    assert repr(loaded) == repr(learner)
    assert written(loaded) == written(learner)
    assert main(["check", str(path)]) == 0
    assert "learner" in capsys.readouterr().out


def test_what_no_file_holds_whole_is_refused_and_the_way_named(tmp_path: Path) -> None:
    from goalbound import Discretized

    discretized = Discretized(lambda rng: uc_ssp(SUPPORT, loss_floor=0.1), 2, parts=2)
    discretized.save(tmp_path / "learner.npz")
    (tmp_path / "text").write_text("no learner")

    with pytest.raises(FileFormatError, match=r"it holds a 'Discretized'; .* fresh.restored\(path\)"):
        load_learner(tmp_path / "learner.npz")
    with pytest.raises(FileFormatError, match="it is no file of goalbound"):
        load_learner(tmp_path / "text")
    with pytest.raises(FileNotFoundError):
        load_learner(tmp_path / "nowhere")


def test_a_blind_learner_says_how_it_is_loaded(tmp_path: Path) -> None:
    inner = LRCSSP(SUPPORT, 1, loss_floor=0.1)
    ContextBlind(inner).save(tmp_path / "learner.npz")

    assert isinstance(load_learner(tmp_path / "learner.npz"), LRCSSP)  # the file is that of the learner inside


class Mine(GreedyRidge):
    kind = "Mine"


def test_a_class_of_a_third_party_is_loaded_by_who_passes_it(tmp_path: Path) -> None:
    Mine(SUPPORT, 2, loss_floor=0.1).save(tmp_path / "learner.npz")

    with pytest.raises(FileFormatError, match=r"it holds a 'Mine'; .* load_learner\(path, rooms=\[TheClass\]\)"):
        load_learner(tmp_path / "learner.npz")
    assert type(load_learner(tmp_path / "learner.npz", rooms=[Mine])) is Mine
    with pytest.raises(ArgumentError, match="rooms is of the type int; it is a list of confidence models"):
        load_learner(tmp_path / "learner.npz", rooms=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("lost", [1, 7, 100])
def test_a_file_that_lost_bytes_at_the_front_is_an_error_that_names_it(
    lost: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "learner.npz"
    lr_cssp().save(path)
    path.write_bytes(path.read_bytes()[lost:])
    with pytest.raises(
        FileFormatError, match=r"learner\.npz: it is no file of goalbound, or a damaged one.*take a copy"
    ):
        load_learner(path)
    assert main(["check", str(path)]) == 2
    assert "learner.npz: " in capsys.readouterr().err
