"""Forged learner files: every array of a saved learner with entries that no learner writes. Run as a program, one kind
of learner at a time, as compiled code that never returns can only be ended from outside."""

from __future__ import annotations

import contextlib
import faulthandler
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from goalbound import (
    LRCSSP,
    EpsilonGreedy,
    GreedyRidge,
    KwikRmax,
    LearnerOptions,
    LocalOptimism,
    PosteriorSampling,
    PriorKnowledge,
    load_learner,
    play,
    widths,
)
from goalbound.baselines import bernstein_ssp, eb_ssp, hoeffding_ssp, psrl_ssp, uc_ssp, ulcvi
from goalbound.errors import FileFormatError, GoalboundError, LearnerError, PlanningStopped, ProjectionFailed
from goalbound.models import Step
from goalbound.models.files.array_file import write_array_file
from goalbound.simulation import Dirichlet
from tests.support.checkpoints import parts
from tests.support.driving import small_problem, written
from tests.support.kernel_forms import COMPILED, kernels

PROBLEM = small_problem()
PLAIN = small_problem(context_size=1)
"""For learners that know no contexts."""
SUPPORT = PROBLEM.support
SECONDS = 60
"""A forged file that takes longer ends the program."""
FORGED: tuple[float, ...] = (-1000.0, 1e308, np.nan, -1.0, 2.0**40)
ENDS = (GoalboundError, LearnerError, PlanningStopped, ProjectionFailed)


def _ridge(make: Callable[..., Any], **settings: Any) -> Callable[[], Any]:
    return lambda: make(SUPPORT, PROBLEM.context_size, loss_floor=0.1, **settings)


GUESSES = PriorKnowledge.around(PROBLEM, strength=2)
KINDS: dict[str, Callable[[], Any]] = {
    "likelihood": _ridge(LRCSSP),
    "sharp": _ridge(LRCSSP, widths=widths.sharp()),
    "paper": _ridge(LRCSSP, widths=widths.paper()),
    "doubling": _ridge(LRCSSP, widths=widths.scaled(widths.paper(), by=0.01), options=LearnerOptions(forget=True)),
    "local": _ridge(LocalOptimism),
    "greedy": _ridge(GreedyRidge),
    "guesses": _ridge(GreedyRidge, prior=GUESSES),
    "epsilon": _ridge(EpsilonGreedy, rng=np.random.default_rng(0)),
    "posterior": _ridge(PosteriorSampling, rng=np.random.default_rng(0)),
    "rmax": _ridge(KwikRmax),
    "bernstein": lambda: bernstein_ssp(PLAIN.support, loss_floor=0.1),
    "eb": lambda: eb_ssp(PLAIN.support, loss_floor=0.1),
    "hoeffding": lambda: hoeffding_ssp(PLAIN.support, loss_floor=0.1, loss_bound=5.0),
    "psrl": lambda: psrl_ssp(PLAIN.support, loss_floor=0.1, rng=np.random.default_rng(0)),
    "uc": lambda: uc_ssp(PLAIN.support, loss_floor=0.1),
    "ulcvi": lambda: ulcvi(PLAIN.support, loss_floor=0.1, loss_bound=5.0, time_bound=10.0, episodes=50),
}


def saved(kind: str) -> bytes:
    """A learner that has played, with three open episodes: one waits for its outcome, another will never have one."""
    learner = KINDS[kind]()
    _played(learner, 40, seed=1)
    context = np.full(learner.context_size, 1.0 / learner.context_size)
    lost, waits, moves, _ = [learner.begin(context) for _ in range(4)]
    for episode in (lost, waits):
        episode.act(0)
    action = moves.act(0)
    support = learner.support
    moves.observe(Step(0, action, 0.5, int(support.next_state[support.row(support.pair(0, action))][0])))
    lost.abandon()
    return written(learner)


def _played(learner: Any, episodes: int, *, seed: int) -> None:
    problem = PLAIN if learner.context_size == 1 else PROBLEM
    contexts = Dirichlet.symmetric(problem.context_size)
    play(problem, learner, contexts=contexts, episodes=episodes, seed=seed, step_limit=100)


def forged(data: bytes) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Names, headers and arrays of files in which the first entry of one array, or all of them, are forged."""
    header, arrays = parts(data)
    for name, array in arrays.items():
        if not array.size or not name.startswith(("state.", "episodes.")) or array.dtype.kind == "b":
            continue
        for value in FORGED:
            if array.dtype.kind == "i" and not abs(value) <= np.iinfo(array.dtype).max:
                continue
            for place in (0, slice(None)):
                changed = array.copy()
                changed.reshape(-1)[place] = value
                yield f"{name}[{place}] = {value}", header, {**arrays, name: changed}


def go_on(learner: Any) -> None:
    """20 episodes, then the open ones."""
    with contextlib.suppress(*ENDS):
        _played(learner, 20, seed=2)
    for episode in list(learner.open_episodes):
        with contextlib.suppress(*ENDS):
            episode.act(0)


def main(kind: str, note: Path) -> None:
    """Try all forged files of a kind; ``note`` has the last one that was tried."""
    refused = played = 0
    with tempfile.TemporaryDirectory() as folder, mock.patch("os.fsync"), kernels(COMPILED):
        data = saved(kind)
        go_on(KINDS[kind]())
        path = Path(folder) / "forged.npz"
        for name, header, arrays in forged(data):
            note.write_text(name)
            write_array_file(path, header, arrays, overwrite=True)
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            try:
                learner = load_learner(path)
            except FileFormatError:
                refused += 1
            else:
                played += 1
                go_on(learner)
            faulthandler.cancel_dump_traceback_later()
    print(f"{refused} refused, {played} played")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
