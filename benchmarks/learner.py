"""Our learning loop against plain C++ and a NumPy prototype: ``python -m benchmarks.learner [--quick]``.

All loops get the same problem, the same contexts and the same uniform for every step. The C++ program is built on the
spot; ours and it are timed in turns (CPU time: the machine may have other work), and the best of three counts. Where
value iteration is run to 1e-9 all must play the very same steps; else they must agree up to chance. Ends with 1 if they
do not, or if we are the slower one.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.cpp_reference import FLAGS, CppReference, NoCompiler, Played, Task
from goalbound import LRCSSP, Dirichlet, LinearCSSP, ModelEnvironment, play, warm_up
from goalbound.confidence import Widths, likelihood, paper, scaled, sharp
from goalbound.jit.compile import compiled_ahead
from goalbound.learners.settings import LearnerOptions
from goalbound.problems import (
    deceptive_lock,
    dense_random,
    long_corridor,
    random_cssp,
    routing_grid,
    treatment_ladder,
    windy_grid,
)
from goalbound.simulation import FromArray, bernoulli
from goalbound.simulation.history import EpisodeBuffer

ROUNDS = 3
ELSEWHERE = 0.1
"""The share of visits that may go to other pairs; with other draws C++ itself has up to 0.04, on 300 episodes."""
STEP_GOAL = 60.0
"""How many microseconds a step from Python may take over the same step in the compiled loop."""
LIKELIHOOD_GOAL = 5.0
"""How much longer a step with likelihood-ratio sets may take than one with sharp intervals."""
PROTOTYPE_GOAL = 10_000.0
"""How much faster than the prototype we want to be."""


@dataclass(frozen=True)
class Size:
    """How large a problem is, and how many episodes take the C++ program one to five seconds."""

    states: int
    actions: int
    context_size: int
    episodes: int
    width_scale: float = 1.0
    intervals: bool = False
    keeps_sets: bool = False

    @property
    def name(self) -> str:
        rule = "sharp" if self.intervals else "paper"
        widths = rule if self.width_scale == 1.0 else f"{rule} x {self.width_scale:g}"
        kept = ", kept" if self.keeps_sets else ""
        return f"S={self.states} A={self.actions} d={self.context_size}, {widths}{kept}"

    def task(self, *, episodes: int | None = None) -> Task:
        shape = {"actions": self.actions, "context_size": self.context_size}
        task = make_task(self.states, episodes=self.episodes if episodes is None else episodes, **shape)
        return replace(
            task, width_scale=self.width_scale, intervals=self.intervals, keeps_sets=self.keeps_sets
        )  # fmt: skip


SIZES = (Size(4, 2, 2, 200_000), Size(10, 3, 3, 20_000), Size(30, 4, 5, 3_000))
NARROW = (Size(10, 3, 3, 20_000, 0.1), Size(30, 4, 5, 3_000, 0.03))
"""Widths at which value iteration has work to do: under the paper's, nearly every pair may go straight to the goal
for as long as these runs last."""
SHARP = tuple(
    replace(size, intervals=True, keeps_sets=kept) for kept in (False, True) for size in SIZES[:2]
)  # fmt: skip
"""Intervals instead of balls. Kept: C++ too renews, under the same context, only the sets of pairs that were played."""
REGRET_GOAL = 0.15
"""What measuring regret may add to the time of the learning alone."""


def goalbound_loop(task: Task) -> Played:
    """Play the task with the compiled loop of goalbound; ``seconds`` is the CPU time of the loop alone.

    Ours also measures the expected regret of every step, which the C++ reference does not.
    """
    learner = _learner(task)
    environment = ModelEnvironment(task.problem, rng=task.generator())
    contexts = _sealed(task.contexts)
    values = _sealed(np.ones((len(contexts), task.problem.support.states + 1)))  # regret is measured, not looked at
    results = EpisodeBuffer.empty(len(contexts), task.problem.context_size).results
    begin = time.process_time()
    learner.play_episodes(environment, contexts, values, step_limit=10**9, results=results)
    seconds = time.process_time() - begin
    return Played(
        steps=int(results.steps.sum()), intervals=learner.intervals, total_loss=float(results.loss.sum()),
        unknown_steps=int(results.unknown_steps.sum()), visits=learner.statistics.visits.copy(), seconds=seconds,
    )  # fmt: skip


def _learner(task: Task) -> LRCSSP:
    learner = LRCSSP(
        task.problem.support, task.problem.context_size, delta=task.confidence, loss_floor=task.loss_floor,
        loss_bound=task.ceiling, widths=scaled(sharp() if task.intervals else paper(), by=task.width_scale),
        options=LearnerOptions(regularization=task.regularization, tolerance=task.tolerance),
    )  # fmt: skip
    learner._state.totals["loss_bound"] = (
        task.loss_bound
    )  # the witnesses use bounds below 1, which the door does not let in
    return learner


def _sealed(array: np.ndarray) -> np.ndarray:
    array = np.array(array)
    array.flags.writeable = False
    return array


def make_task(states: int, *, actions: int, context_size: int, episodes: int, seed: int = 0) -> Task:
    """Rows Dirichlet(1) over all states and the goal, losses uniform in [0.1, 1], contexts uniform on the simplex.

    A step reaches the goal with probability about 1 / (S + 1); there are uniforms for three times as many steps.
    """
    *seeds, environment_seed = np.random.SeedSequence(seed).spawn(3)
    problem, contexts = (np.random.default_rng(one) for one in seeds)
    losses = problem.uniform(0.1, 1.0, (context_size, states, actions))
    transitions = problem.dirichlet(np.ones(states + 1), (context_size, states, actions))
    return Task(
        LinearCSSP.dense(losses, transitions),
        contexts.dirichlet(np.ones(context_size), episodes),
        np.random.default_rng(environment_seed).random(3 * (states + 1) * episodes + 1000),
        environment_seed,
    )


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; returns 1 if a loop disagrees or ours is the slower one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learner", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the episodes")
    quick = parser.parse_args(arguments).quick
    with tempfile.TemporaryDirectory() as folder:
        try:
            cpp = CppReference(Path(folder))
        except NoCompiler as error:
            print(error)
            return 1
        print(f"{os.cpu_count()} cores, Python {platform.python_version()}, {cpp.compiler} {' '.join(FLAGS)}")
        has_loop = _has_loop()
        good = _race(cpp, quick=quick, has_loop=has_loop)
        good &= _witness(cpp, has_loop=has_loop)
        _prototype(goalbound_loop if has_loop else cpp.play, "ours" if has_loop else "C++", quick=quick)
        _regret(quick=quick)
        _likelihood(quick=quick)
        _from_python()
        _sparse()
    return 0 if good else 1


def _has_loop() -> bool:
    """Whether the hook is filled in; its kernels are compiled on the way."""
    try:
        goalbound_loop(SIZES[0].task(episodes=10))
    except NotImplementedError as error:
        print(f"ours: {error}")
        return False
    return True


def _race(cpp: CppReference, *, quick: bool, has_loop: bool) -> bool:
    """Time both loops on all sizes, print microseconds per step; whether we are as fast as C++ and agree with it."""
    print(f"\n{'problem':28}{'episodes':>9}{'steps':>9}{'C++ us':>9}{'ours us':>9}{'C++ / ours':>12}  agreement")
    good = has_loop
    for size in (*SIZES, *NARROW, *SHARP):
        task = size.task(episodes=size.episodes // 10 if quick else None)
        theirs, ours = _in_turns(task, cpp.play, goalbound_loop if has_loop else None)
        row = f"{size.name:28}{len(task.contexts):9}{theirs.steps:9}{_micros(theirs):9.3f}"
        if ours is None:
            print(f"{row}{'-':>9}{'-':>12}", flush=True)
            continue
        ratio = theirs.seconds / theirs.steps / (ours.seconds / ours.steps)
        agree, how = agreement(ours, theirs, episodes=len(task.contexts))
        print(f"{row}{_micros(ours):9.3f}{ratio:12.2f}  {how}", flush=True)
        good &= agree and ratio >= 1.0
    return good


def _in_turns(
    task: Task, first: Callable[[Task], Played], second: Callable[[Task], Played] | None
) -> tuple[Played, Played | None]:
    """The best run of each, after a short one to warm up."""
    few = replace(task, contexts=task.contexts[:10])
    loops = [loop for loop in (first, second) if loop is not None]
    best: list[Played] = [loop(few) for loop in loops]
    for turn in range(ROUNDS):
        for place, loop in enumerate(loops):
            played = loop(task)
            if turn == 0 or played.seconds < best[place].seconds:
                best[place] = played
    return best[0], best[1] if second is not None else None


def agreement(ours: Played, theirs: Played, *, episodes: int) -> tuple[bool, str]:
    """Whether two loops that stop value iteration at different points played alike, and how much they differ.

    One different action and the runs part. The length of an episode is about geometric, so its deviation is about its
    mean, and the steps and losses of two independent runs differ by sqrt(2 / K) of them: five times that is allowed.
    """
    if not ours.difference(theirs):
        return True, "the same steps"
    steps = ours.steps / theirs.steps - 1.0
    loss = ours.total_loss / theirs.total_loss - 1.0
    visits = 0.5 * np.abs(ours.visits / ours.steps - theirs.visits / theirs.steps).sum()
    allowed = 5.0 * np.sqrt(2.0 / episodes)
    agree = max(abs(steps), abs(loss)) <= allowed and visits <= ELSEWHERE
    how = f"steps {steps:+.1%}, loss {loss:+.1%}, visits {visits:.1%} elsewhere (of {allowed:.1%}, {ELSEWHERE:.0%})"
    return agree, how if agree else f"APART: {how}"


def _witness(cpp: CppReference, *, has_loop: bool) -> bool:
    """Value iteration to the end: every loop must play the very same steps. Narrow widths, so that ties are few."""
    print("\nvalue iteration to 1e-9, widths x 0.01: the same steps as C++?")
    tasks = {
        "nothing becomes known": replace(make_task(4, actions=2, context_size=2, episodes=100), width_scale=0.01),
        "most pairs become known": replace(
            make_task(5, actions=3, context_size=3, episodes=200), width_scale=0.01, loss_bound=0.01
        ),
    }
    tasks |= {f"{name}, sharp": replace(task, intervals=True) for name, task in tasks.items()}
    tasks |= {f"{name}, kept": replace(task, keeps_sets=True) for name, task in tasks.items() if task.intervals}
    good = True
    for name, task in tasks.items():
        exact = replace(task, tolerance=1e-9)
        theirs = cpp.play(exact)
        prototype = None if task.intervals else _cvxpy_loop()
        for who, loop in (("ours", goalbound_loop if has_loop else None), ("NumPy + cvxpy", prototype)):
            if loop is not None:
                difference = loop(exact).difference(theirs)
                good &= not difference
                print(f"{name:36}{theirs.steps:6} steps, {theirs.intervals} intervals  {who:16}{difference or 'yes'}")
    return good


def _cvxpy_loop() -> Callable[[Task], Played] | None:
    try:
        import cvxpy  # noqa: F401
    except ImportError:
        return None
    from benchmarks.numpy_cvxpy import play

    return play


def _prototype(loop: Callable[[Task], Played], who: str, *, quick: bool) -> None:
    """The prototype's time per step over that of a fast loop on the same task."""
    if _cvxpy_loop() is None:
        print("\nNumPy + cvxpy: not installed (pip install cvxpy)")
        return
    from benchmarks.numpy_cvxpy import ConeMinimum, inner_minimum, play

    task = SIZES[0].task(episodes=100 if quick else 300)
    fast = min((loop(task) for _ in range(20)), key=lambda played: played.seconds)
    print(f"\nthe first {fast.steps} steps of {SIZES[0].name}; {who} {_micros(fast):.3f} us per step")
    few = replace(task, contexts=task.contexts[: len(task.contexts) // 10])
    for name, minimum, short in (
        ("NumPy, projection by cvxpy", inner_minimum, task),
        ("... inner minimum by cvxpy too", ConeMinimum(SIZES[0].states), few),
    ):
        slow = play(short, minimum=minimum)
        ratio = _micros(slow) / _micros(fast)
        verdict = "reached" if ratio >= PROTOTYPE_GOAL else "MISSED"
        print(f"{name:32}{_micros(slow) / 1e3:8.2f} ms per step  {ratio:8,.0f} x  goal {PROTOTYPE_GOAL:,.0f} {verdict}")


def _regret(*, quick: bool) -> None:
    """The time of a run that is measured (optimal values, gaps, columns) over that of the learning alone."""
    print(f"\n{'problem':28}{'episodes':>9}{'loop us':>9}{'play us':>9}{'on top':>9}")
    for size in (*SIZES[:2], *SHARP[:2]):
        task = size.task(episodes=size.episodes // (10 if quick else 1))
        alone = measured = np.inf
        with compiled_ahead():
            for _ in range(ROUNDS):
                alone = min(alone, _micros(goalbound_loop(task)))
                learner = _learner(task)
                begin = time.process_time()
                history = play(task.problem, learner, FromArray(task.contexts), episodes=len(task.contexts))
                measured = min(measured, (time.process_time() - begin) / int(history.steps.sum()) * 1e6)
        word = "reached" if measured / alone - 1.0 <= REGRET_GOAL else "MISSED"
        print(
            f"{size.name:28}{len(task.contexts):9}{alone:9.3f}{measured:9.3f}{measured / alone - 1.0:9.0%}"
            f"  goal {REGRET_GOAL:.0%} {word}",
            flush=True,
        )


def _likelihood(*, quick: bool) -> None:
    """The time per step of likelihood-ratio sets over that of sharp intervals, in turns, on runs from the beginning."""
    problems = {
        "treatment ladder": (treatment_ladder(3, markers=2), 20_000),
        "deceptive lock": (deceptive_lock(4, actions=4, context_size=2), 5_000),
        "long corridor": (long_corridor(20), 20_000),
        "windy grid": (windy_grid(3, 4), 20_000),
        "dense random 10/3/3": (dense_random(10, actions=3, context_size=3), 20_000),
    }
    print(f"\n{'problem':28}{'episodes':>9}{'sharp us':>10}{'likelihood us':>15}{'ratio':>8}")
    for name, (problem, episodes) in problems.items():
        count = episodes // 10 if quick else episodes
        best = {str(rule): np.inf for rule in (sharp(), likelihood())}
        for _ in range(ROUNDS):
            for rule in (sharp(), likelihood()):
                best[str(rule)] = min(best[str(rule)], _time_per_step(problem, rule, count))
        ratio = best["likelihood"] / best["sharp"]
        word = "reached" if ratio <= LIKELIHOOD_GOAL else "MISSED"
        print(
            f"{name:28}{count:9}{best['sharp']:10.2f}{best['likelihood']:15.2f}{ratio:8.2f}  "
            f"goal {LIKELIHOOD_GOAL:g} {word}",
            flush=True,
        )


def _time_per_step(problem: LinearCSSP, rule: Widths, episodes: int) -> float:
    """Microseconds of CPU time."""
    learner = LRCSSP(
        problem.support, problem.context_size, loss_floor=float(problem.losses.min()), widths=rule,
        options=LearnerOptions(replan_factor=2.0),
    )  # fmt: skip
    environment = ModelEnvironment(problem, losses=bernoulli(), rng=np.random.default_rng(0))
    contexts = _sealed(np.random.default_rng(1).dirichlet(np.ones(problem.context_size), episodes))
    values = _sealed(np.ones((episodes, problem.support.states + 1)))
    results = EpisodeBuffer.empty(episodes, problem.context_size).results
    with compiled_ahead():
        warm_up(learner)
        begin = time.process_time()
        learner.play_episodes(environment, contexts, values, step_limit=2000, results=results)
        return (time.process_time() - begin) / int(results.steps.sum()) * 1e6


def _from_python() -> None:
    """One act and one observe from Python, a new plan each, over the same steps in the compiled loop."""
    task = Size(10, 3, 3, 300).task()
    best = np.inf
    for _ in range(ROUNDS):
        learner, environment = _learner(task), ModelEnvironment(task.problem, rng=task.generator())
        learner._effort.spent = 10**9  # compiled from the first step on
        spent, steps = 0.0, 0
        for context in task.contexts:
            episode, state = learner.begin(context), environment.begin(context)
            while not episode.ended:
                begin = time.perf_counter()
                action = episode.act(state)
                middle = time.perf_counter()
                step = environment.step(action)
                again = time.perf_counter()
                episode.observe(step)
                spent += middle - begin + time.perf_counter() - again
                state, steps = step.next_state, steps + 1
        best = min(best, spent / steps * 1e6)
    kernel = min(_micros(goalbound_loop(task)) for _ in range(ROUNDS))
    over = best - kernel
    word = "reached" if over <= STEP_GOAL else "MISSED"
    print(f"\nact + observe from Python, S=10 A=3 d=3: {best:.1f} us")
    print(f"{over:.1f} us over the same step in the loop; goal {STEP_GOAL:.0f} {word}")


def _sparse() -> None:
    """Supports of a hundred thousand pairs: one step, and one new context."""
    problem = random_cssp(33_000, actions=3, context_size=3, successors=4)
    learner = LRCSSP(problem.support, 3, loss_floor=0.1, loss_bound=10.0, widths=scaled(paper(), by=0.01))
    _time_sparse("random, paper x 0.01", problem, learner)
    roads = routing_grid(160, 160)
    learner = LRCSSP(roads.support, 3, loss_floor=0.1, widths=sharp(), options=LearnerOptions(replan_factor=2.0))
    _time_sparse("road grid, sharp", roads, learner)


def _time_sparse(name: str, problem: LinearCSSP, learner: LRCSSP) -> None:
    play(problem, learner, Dirichlet.symmetric(3), episodes=2, seed=1)
    environment = ModelEnvironment(problem, rng=np.random.default_rng(1))
    first: list[float] = []
    later: list[float] = []
    for context in np.random.default_rng(0).dirichlet(np.ones(3), 21):
        episode, state = learner.begin(context), environment.begin(context)
        spent: list[float] = []
        while not episode.ended and len(spent) < 500:
            begin = time.perf_counter()
            action = episode.act(state)
            middle = time.perf_counter()
            step = environment.step(action)
            again = time.perf_counter()
            episode.observe(step)
            spent.append(middle - begin + time.perf_counter() - again)
            state = step.next_state
        first.append(spent[0])
        later.extend(spent[1:])
    planning, each = float(np.median(first)), float(np.median(later))
    print(
        f"{name}, {problem.support.pairs} pairs: {planning * 1e3:.1f} ms for a new context, {each * 1e6:.0f} us a step"
    )


def _micros(played: Played) -> float:
    """Microseconds per step."""
    return played.seconds / played.steps * 1e6


if __name__ == "__main__":
    sys.exit(main())
