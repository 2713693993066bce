"""One learner for each cell of the contexts: as if each had been played by itself; and files of such learners."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from goalbound.around.around import can_be_saved
from goalbound.around.contexts import ContextBlind, Discretized
from goalbound.errors import FileFormatError, InputError
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.ridge import GreedyRidge, PosteriorSampling
from goalbound.logs import read_log
from goalbound.models import LinearCSSP, Step, Support
from goalbound.models.files.array_file import write_array_file
from goalbound.simulation import Cyclic, Dirichlet, ModelEnvironment, bernoulli, play
from goalbound.simulation.history import PER_EPISODE, History
from goalbound.testing import check_learner
from tests.support.driving import MODES, NO_WAITING, draw_step, small_problem, written
from tests.support.kernel_forms import COMPILED, PYTHON, kernels
from tests.support.ridge import LEARNERS, lr_cssp

PROBLEM = small_problem(2, context_size=3)

Make = Callable[..., LRCSSP]


def one_component(name: str) -> Make:
    """Makes a learner of one component from ``rng=``."""
    return lambda rng: LEARNERS[name](PROBLEM.support, 1, rng)


def cells(name: str, *, parts: int = 2, seed: int = 6) -> Discretized:
    return Discretized(one_component(name), 3, parts=parts, rng=np.random.default_rng(seed))


def run(learner: Any, contexts: Any, *, compiled: bool = True, seed: int = 3) -> History:
    return play(
        PROBLEM, learner, contexts, episodes=60, seed=seed, step_limit=300, compiled=compiled,
        environment=partial(ModelEnvironment, PROBLEM, losses=bernoulli()),
    )  # fmt: skip


def assert_same(one: History, other: History) -> None:
    for column in PER_EPISODE:
        assert getattr(one, column).tobytes() == getattr(other, column).tobytes(), column


class Separate:
    """The learners of one-hot contexts, by hand: component j has its own."""

    def __init__(self, learners: list[LRCSSP]) -> None:
        self.learners = learners

    def begin(self, context: NDArray[np.float64]) -> Any:
        return self.learners[int(np.argmax(context))].begin([1.0])


@pytest.mark.parametrize("name", LEARNERS)
def test_under_one_hot_contexts_it_is_one_learner_for_each_component(name: str) -> None:
    # Component 2 comes first and so has the first stream, then 0, then 1.
    order = [2, 0, 1]
    streams = np.random.default_rng(6).spawn(3)
    separate = Separate([one_component(name)(rng=streams[order.index(j)]) for j in range(3)])
    contexts = Cyclic(np.eye(3)[[2, 0, 0, 1, 2]])
    plain = run(separate, contexts, compiled=False)
    for compiled in (False, True):
        learner = cells(name)
        assert_same(run(learner, contexts, compiled=compiled), plain)
        assert list(learner.cells) == [(0, 0, 1), (1, 0, 0), (0, 1, 0)]
        for j, own in enumerate(separate.learners):
            assert written(learner.cells[tuple(np.eye(3, dtype=int)[j].tolist())]) == written(own)


@pytest.mark.parametrize("name", LEARNERS)
def test_the_compiled_loops_play_the_same_run_to_the_bit(name: str, tmp_path: Path) -> None:
    plain = cells(name, parts=3)
    history = run(plain, Dirichlet.symmetric(3), compiled=False)
    assert len(plain.cells) > 3
    for way in (PYTHON, COMPILED):
        learner = cells(name, parts=3)
        with kernels(way):
            assert_same(run(learner, Dirichlet.symmetric(3)), history)
        assert file_of(learner, tmp_path) == file_of(plain, tmp_path)


def file_of(learner: Any, folder: Path) -> bytes:
    with NO_WAITING:
        learner.save(folder / "learner", overwrite=True)
    return (folder / "learner").read_bytes()


def makes(wrap: Callable[[LinearCSSP, np.random.Generator, Make], Any], name: str) -> Callable[..., Any]:
    def make(problem: LinearCSSP, *, rng: np.random.Generator) -> Any:
        return wrap(problem, rng, lambda rng: LEARNERS[name](problem.support, 1, rng))

    return make


@pytest.mark.parametrize("name", LEARNERS)
def test_the_contract_is_kept_in_cells_and_blindly(name: str) -> None:
    check_learner(makes(lambda problem, rng, one: Discretized(one, problem.context_size, parts=3, rng=rng), name))
    check_learner(makes(lambda problem, rng, one: ContextBlind(one(rng=rng)), name))


def test_which_cell_a_context_lies_in() -> None:
    learner = Discretized(one_component("greedy"), 3, parts=4)
    # quarters: [0, 1/4), [1/4, 1/2), [1/2, 3/4) and [3/4, 1]
    assert learner.cell([0.25, 0.25, 0.5]) == (1, 1, 2)
    assert learner.cell([0.2, 0.3, 0.5]) == (0, 1, 2)
    assert learner.cell([1.0, 0.0, 0.0]) == (3, 0, 0)
    assert Discretized(one_component("greedy"), 3, parts=1).cell([0.2, 0.3, 0.5]) == (0, 0, 0)


def test_a_learner_is_made_when_its_first_context_comes_and_not_by_looking() -> None:
    made = []

    def make(rng: np.random.Generator) -> LRCSSP:
        made.append(rng.random())
        return GreedyRidge(PROBLEM.support, 1, loss_floor=0.1)

    learner = Discretized(make, 3, parts=2, rng=np.random.default_rng(1))
    assert made == []
    learner.begin([1.0, 0.0, 0.0])
    learner.begin([0.9, 0.1, 0.0])
    assert (len(made), list(learner.cells)) == (1, [(1, 0, 0)])
    plan = learner.plan([0.0, 1.0, 0.0])  # of a learner as it would be made
    assert plan.policy.tolist() == [0, 0, 0]
    assert learner.explain(context=[0.0, 1.0, 0.0], state=0).state == "state 0"
    assert list(learner.cells) == [(1, 0, 0)]
    learner.begin([0.0, 1.0, 0.0])
    assert made[1] == made[2] == np.random.default_rng(1).spawn(2)[1].random()


def test_what_comes_later_does_not_move_the_stream_of_a_cell() -> None:
    first = [1.0, 0.0, 0.0]
    orders = ([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]], [])
    files = []
    for later in orders:
        learner = cells("ps")
        play_one(learner, first, seed=1)
        for context in later:
            play_one(learner, context, seed=2)
        play_one(learner, first, seed=3)
        files.append(written(learner.cells[1, 0, 0]))
    assert files[0] == files[1] == files[2]
    # Nor do the draws of one cell: two cells have different streams.
    one, other = cells("ps"), cells("ps")
    states = [one._made(n)._rng.bit_generator.state for n in (0, 1)]
    assert states[0] != states[1]
    play_one(other, first, seed=1)
    assert other._made(1)._rng.bit_generator.state == states[1]


def play_one(learner: Discretized, context: list[float], *, seed: int, most: int = 200) -> list[int]:
    """One episode; its actions."""
    rng, episode, state, actions = np.random.default_rng(seed), learner.begin(context), 0, []
    while state != PROBLEM.support.states and len(actions) < most:
        actions.append(episode.act(state))
        step = draw_step(PROBLEM, np.array(context), state, actions[-1], rng.random())
        episode.observe(step)
        state = step.next_state
    return actions


@pytest.mark.parametrize("name", LEARNERS)
def test_what_was_resumed_goes_on_as_if_there_had_been_no_stop(name: str, tmp_path: Path) -> None:
    learner = cells(name)
    for k, context in enumerate(np.random.default_rng(1).dirichlet(np.ones(3), 12)):
        play_one(learner, context.tolist(), seed=k)
    saved = file_of(learner, tmp_path)
    again = cells(name).restored(tmp_path / "learner")
    assert file_of(again, tmp_path) == saved
    assert list(again.cells) == list(learner.cells)
    for k, context in enumerate([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.4, 0.3, 0.3]]):
        assert play_one(again, context, seed=k) == play_one(learner, context, seed=k)
    assert file_of(again, tmp_path) == file_of(learner, tmp_path)


def test_an_episode_that_is_open_in_a_cell_goes_on(tmp_path: Path) -> None:
    learner, context = cells("ps"), [1.0, 0.0, 0.0]
    play_one(learner, context, seed=1)
    episode = learner.begin(context)
    action = episode.act(0)
    file_of(learner, tmp_path)
    again = cells("ps").restored(tmp_path / "learner")
    (other,) = again.cells[1, 0, 0].open_episodes
    assert other.act(0) == action
    row = PROBLEM.support.row(PROBLEM.support.pair(0, action))
    step = Step(0, action, 0.5, int(PROBLEM.support.next_state[row][0]))
    for one in (episode, other):
        one.observe(step)
    assert file_of(again, tmp_path) == file_of(learner, tmp_path)


def test_resuming_changes_nothing_in_the_learner_that_is_asked(tmp_path: Path) -> None:
    learner = cells("greedy")
    play_one(learner, [1.0, 0.0, 0.0], seed=1)
    file_of(learner, tmp_path)
    fresh = cells("greedy")
    fresh.restored(tmp_path / "learner")
    assert fresh.cells == {}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_blind_learner_is_resumed_too(name: str, tmp_path: Path) -> None:
    def blind() -> ContextBlind:
        return ContextBlind(one_component(name)(rng=np.random.default_rng(3)))

    learner = blind()
    run(learner, Dirichlet.symmetric(3))
    saved = file_of(learner, tmp_path)
    again = blind().restored(tmp_path / "learner")
    assert file_of(again, tmp_path) == saved
    assert_same(run(again, Dirichlet.symmetric(3), seed=4), run(learner, Dirichlet.symmetric(3), seed=4))
    assert can_be_saved(again)


def parts_of(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        names = [name for name in file.namelist() if name.endswith(".npy")]
        arrays = {name.removesuffix(".npy"): np.load(io.BytesIO(file.read(name))) for name in names}
        return json.loads(file.read("header.json")), arrays


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda header, arrays: header.update(parts=3), "it was written for"),
        (lambda header, arrays: header.update(context_size=2), "it was written for"),
        (lambda header, arrays: header.update(cells="all"), "cells is 'all'; each is a list of 3 parts"),
        (lambda header, arrays: header.update(cells=[[1, 0, 0], 7]), "each is a list of 3 parts"),
        (lambda header, arrays: header.update(cells=[[1, 0, 0], [0, 2, 0]]), r"cells is \[\[1, 0, 0\], \[0, 2, 0\]\]"),
        (lambda header, arrays: header.update(cells=[[1, 0, 0], [0, -1, 0]]), "each is a list of 3 parts"),
        (lambda header, arrays: header.update(cells=[[1, 0, 0], [0, True, 0]]), "each is a list of 3 parts"),
        (lambda header, arrays: header.update(cells=[[1, 0, 0], [1, 0]]), "each is a list of 3 parts"),
        (lambda header, arrays: header.update(cells=[[1, 0, 0], [1, 0, 0]]), "do not belong together"),
        (lambda header, arrays: header.update(cells=[[1, 0, 0]]), "do not belong together"),
        (lambda header, arrays: arrays.pop("cell_0"), "do not belong together"),
        (lambda header, arrays: header.pop("cells"), "cells"),
        (lambda header, arrays: header.update(kind="LRCSSP"), "LRCSSP"),
        (lambda header, arrays: header.update(version=99), "99"),
        (lambda header, arrays: arrays.update(cell_1=arrays["cell_1"][:-40]), "learner"),
        (lambda header, arrays: arrays.update(cell_1=np.zeros(0, dtype=np.uint8)), "learner"),
        (lambda header, arrays: arrays.update(more=np.zeros(3)), "more"),
        (lambda header, arrays: arrays.update(cell_1=arrays["cell_1"].astype(float)), "cell_1"),
    ],
)
def test_a_damaged_file_is_refused_with_its_name(
    damage: Callable[[dict[str, Any], dict[str, NDArray[Any]]], Any], message: str, tmp_path: Path
) -> None:
    learner = cells("ps")
    for context in ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]):
        play_one(learner, context, seed=1)
    header, arrays = parts_of(file_of(learner, tmp_path))
    damage(header, arrays)
    with NO_WAITING:
        write_array_file(tmp_path / "damaged", header, arrays)
    with pytest.raises(FileFormatError, match=message) as error:
        cells("ps").restored(tmp_path / "damaged")
    assert str(error.value).startswith(str(tmp_path / "damaged"))


def test_cells_of_other_learners_are_refused(tmp_path: Path) -> None:
    learner = cells("ps")
    play_one(learner, [1.0, 0.0, 0.0], seed=1)
    file_of(learner, tmp_path)
    with pytest.raises(FileFormatError, match="the kind is 'PosteriorSampling', and 'GreedyRidge' is needed"):
        cells("greedy").restored(tmp_path / "learner")


def test_under_one_hot_contexts_cells_learn_what_components_learn() -> None:
    # With one-hot contexts the regressions of the components are apart: both estimate the same, whoever plays.
    together, apart = (
        lr_cssp(PROBLEM.support, 3, **MODES["narrow"]),
        Discretized(lambda rng: lr_cssp(PROBLEM.support, 1, **MODES["narrow"]), 3, parts=2),
    )
    rng = np.random.default_rng(1)
    for _ in range(80):
        context, pair, loss = np.eye(3)[rng.integers(3)], int(rng.integers(PROBLEM.support.pairs)), float(rng.random())
        state, action = int(PROBLEM.support.pair_state[pair]), int(PROBLEM.support.pair_action[pair])
        following = int(rng.choice(PROBLEM.support.next_state[PROBLEM.support.row(pair)]))
        for learner in (together, apart):
            episode = learner.begin(context)
            episode.act(state)
            episode._action = action  # both are made to play it, so that both learn from the same step
            episode.observe(Step(state, action, loss, following))
    for component in range(3):
        own = apart.cells[tuple(np.eye(3, dtype=int)[component].tolist())].estimate
        np.testing.assert_allclose(own.losses[:, 0], together.estimate.losses[:, component], atol=1e-12)
        np.testing.assert_allclose(own.rows[:, 0], together.estimate.rows[:, component], atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"context_size": 0}, "context_size is 0; a context has at least one entry"),
        ({"parts": 0}, "parts is 0; an entry has at least one part"),
        ({"parts": 2.5}, "parts"),
    ],
)
def test_what_cannot_be_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Discretized(one_component("greedy"), **{"context_size": 3, "parts": 2, **arguments})


def test_contexts_and_learners_that_do_not_fit_are_named() -> None:
    with pytest.raises(InputError, match=r"context sums to 0\.5"):
        cells("greedy").begin([0.5, 0.0, 0.0])
    several = Discretized(lambda rng: PosteriorSampling(PROBLEM.support, 3, loss_floor=0.1, rng=rng), 3)
    with pytest.raises(InputError, match="the learner has 3 components; one that is not shown the context has 1"):
        several.begin([1.0, 0.0, 0.0])


def test_a_log_that_was_read_with_other_states_is_refused_and_nothing_is_learned() -> None:
    table = {
        "case": [1, 1], "time": [0, 1], "state": ["b", "a"], "action": ["go", "go"], "loss": [0.5, 0.5],
        "next_state": ["a", "goal"],
    }  # fmt: skip
    own, other = (
        Support.from_pairs([{0: [1, 2]}, {0: [0, 2]}], state_names=names, action_names=["go"])
        for names in (["a", "b"], ["b", "a"])
    )
    log = read_log(table, support=other)
    learner = Discretized(lambda rng: LRCSSP(own, 1, loss_floor=0.1), 1, parts=2)
    with pytest.raises(InputError, match=r"read with other names of states .*'b', 'a'.*support=learner\.support"):
        learner.learn_log(log)
    assert not learner.cells
    assert learner.learn_log(read_log(table, support=own)) == 2
