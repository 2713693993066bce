"""A run depends on its spec, and on nothing else: not on how it is cut, stopped or watched."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pytest

from goalbound.errors import InputError
from goalbound.experiments import run as running
from goalbound.experiments.record_file import record_bytes
from goalbound.experiments.run_spec import RunSpec
from goalbound.learners.lr_cssp import LRCSSP
from tests.support import third_party_learner as third_party
from tests.support.small_runs import EPISODES, HERE, NARROW, RUNS, SMALL, Listening, run, spec_of

pytestmark = pytest.mark.usefixtures("small_chunks")


@pytest.mark.parametrize("size", [1, 13])
@pytest.mark.parametrize("name", RUNS)
def test_how_a_run_is_cut_is_not_seen(
    name: str, size: int, whole: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "CHUNK", size)
    monkeypatch.setattr(running, "FIRST_PART", size)
    assert record_bytes(run(RUNS[name])) == whole[name]


def test_progress_that_cannot_be_called_is_an_error_that_says_so() -> None:
    with pytest.raises(InputError, match="progress is 'x'; it is a function of"):
        run(RUNS["lr-cssp"], progress="x")  # type: ignore[arg-type]


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_a_run_without_a_record_and_it_begins_again(whole: dict[str, bytes]) -> None:
    def pressed(done: int, episodes: int, regret: float) -> None:
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run(RUNS["lr-cssp"], progress=pressed)
    assert record_bytes(run(RUNS["lr-cssp"])) == whole["lr-cssp"]


def test_what_is_broken_off_inside_an_episode_is_no_record() -> None:
    whole_part = LRCSSP.play_episodes

    def broken_off(learner: LRCSSP, *arguments: Any, **others: Any) -> None:
        whole_part(learner, *arguments, **others)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LRCSSP, "play_episodes", broken_off)
        with pytest.raises(KeyboardInterrupt):
            run(RUNS["lr-cssp"])


def test_a_third_partys_function_gets_what_it_asks_for_by_name() -> None:
    third_party.SEEN.clear()
    run(spec_of({"use": f"{HERE}:asks_for_all", "patience": 5}, seeds=[4]))
    stream = np.random.default_rng(np.random.SeedSequence(4).spawn(3)[2])
    wanted = {"episodes": EPISODES, "draw": stream.random(), "patience": 5}
    assert wanted == third_party.SEEN


def ill(**changes: Any) -> RunSpec:
    """A spec that no file could give, as a service might."""
    values = spec_of().as_json()
    for group, settings in changes.items():
        values[group] = {"use": values[group]["use"], "settings": {}, **settings}
    return RunSpec.from_json(values)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (lambda: spec_of({**NARROW, "widths": "paper", "delta": 2.0}), r"learners \(lr-cssp\): delta 2.0"),
        (lambda: spec_of({"use": "lr-cssp", "support": "none"}), r"learners \(lr-cssp\): support"),
        (lambda: spec_of({"use": f"{HERE}:refuses"}), r"learners \(.*refuses\): patience 3 is a virtue"),
        (lambda: spec_of({"use": f"{HERE}:no_learner"}), r"learners \(.*\): the function made a str"),
        (lambda: spec_of(problems=[{**SMALL, "states": 0}]), r"problems \(random\): "),
        (lambda: spec_of(contexts=[{"use": "dirichlet", "alpha": -1.0}]), r"contexts \(dirichlet\): alpha"),
        (lambda: spec_of(contexts=[{"use": "cyclic", "contexts": [[1.0]]}]), r"contexts \(cyclic\): contexts have 1"),
        (lambda: spec_of(contexts=[{"use": "listed", "contexts": [[1.0, 0.0]]}]), r"contexts \(listed\): 1 contexts"),
        (lambda: ill(learner={"settings": {"wdiths": "paper"}}), 'learners: lr-cssp has no setting "wdiths"'),
        (lambda: ill(problem={"use": "randon"}), 'problems.use: no problem is called "randon"'),
    ],
)
def test_errors_of_settings_name_the_group(spec: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        run(spec())


def test_progress_is_reported_the_episodes_and_the_expected_regret_which_is_never_negative() -> None:
    heard = Listening()
    record = run(RUNS["lr-cssp"], progress=heard)
    assert [call[0] for call in heard.calls] == [7, 14, 21, 28, 30]
    for done, episodes, regret in heard.calls:
        assert episodes == EPISODES
        assert regret == record.table["expected_regret"][done - 1]
        assert regret >= 0.0  # the realised one is below 0 where luck helps
