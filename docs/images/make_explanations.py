"""The figures of docs/explanation, each computed by the library: about a minute.

python docs/images/make_explanations.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from goalbound import LRCSSP, Builder, Dirichlet, LinearCSSP, evaluate, play, solve, widths
from goalbound.experiments.figures.style import figure_style, save_figure
from goalbound.experiments.pages.style import LIGHT
from goalbound.problems import treatment_ladder

FOLDER = Path(__file__).parent
BLUE, RED, GREEN = LIGHT[0], LIGHT[1], LIGHT[2]
INK = "#1f2733"


def drugs() -> LinearCSSP:
    """Two drugs: A heals 60% of the young and none of the old; B is dearer and heals both."""
    plan = Builder(components=["young", "old"])
    plan.add("sick", "drug A", loss=0.2, to={"goal": [0.6, 0.0], "sick": [0.4, 1.0]})
    plan.add("sick", "drug B", loss=0.4, to={"goal": [0.5, 0.7], "sick": [0.5, 0.3]})
    return plan.linear_cssp()


def mixing() -> Figure:
    """What each drug and the best policy lose, along the contexts."""
    problem = drugs()
    old = np.linspace(0.0, 0.999, 400)
    found = [problem.at([1 - share, share]) for share in old]
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    axes = figure.subplots()
    for action, colour, name in ((0, BLUE, "always drug A"), (1, RED, "always drug B")):
        values = np.array([evaluate(one, [action]).values[0] for one in found])
        axes.plot(old, values, color=colour, linewidth=1.4, linestyle="--", label=name)
    best = np.array([solve(one).values[0] for one in found])
    axes.plot(old, best, color=INK, linewidth=2.4, alpha=0.5, label="the best policy of each context")
    change = old[int(np.argmax([solve(one).policy[0] for one in found]))]
    axes.axvline(change, color=GREEN, linewidth=1.0)
    axes.annotate(f"from here on drug B: {change:.2f} old", (change, 0.1), xytext=(6, 0), textcoords="offset points",
                  color=GREEN)  # fmt: skip
    axes.set_ylim(0.0, 1.6)
    axes.set_xlim(0.0, 1.0)
    axes.set_xlabel("share of the component old in the context")
    axes.set_ylabel("expected loss until healed")
    axes.legend(loc="upper left", frameon=False)
    return figure


def shrinking() -> Figure:
    """The bounds of one policy under one context, as patients come, for the three proven rules."""
    problem, context = treatment_ladder(3, markers=2), [0.7, 0.2, 0.1]
    best = solve(problem.at(context))
    truth = best.values[2]
    sizes = [100, 300, 1000, 3000, 10_000, 30_000]
    figure = Figure(figsize=(7.2, 3.0), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    rules = (("widths.paper()", widths.paper()), ("widths.sharp()", widths.sharp()),
             ("widths.likelihood()", widths.likelihood()))  # fmt: skip
    for axes, (name, rule) in zip(panels, rules, strict=True):
        lower, upper, guess, played = [], [], [], 0
        learner = LRCSSP(problem.support, 3, loss_floor=0.1, widths=rule)
        for size in sizes:
            play(problem, learner, Dirichlet.symmetric(3), episodes=size - played, seed=size)
            played = size
            bounds = learner.policy_bounds(context, best.policy)
            lower.append(bounds.lower[2])
            upper.append(min(bounds.upper[2], 1e6))
            guess.append(bounds.estimate[2])
        axes.fill_between(sizes, lower, upper, color=BLUE, alpha=0.18, linewidth=0)
        axes.plot(sizes, guess, color=BLUE, marker="o", markersize=3, linewidth=1.2, label="estimate")
        axes.axhline(truth, color=INK, linewidth=1.0, linestyle="--", label="the truth")
        axes.set_xscale("log")
        axes.set_ylim(0.0, 3.0)
        axes.set_title(name, fontsize=9)
        axes.set_xlabel("patients seen")
    panels[0].set_ylabel("loss of the best policy")
    panels[2].legend(loc="upper right", frameon=False)
    return figure


def two_regrets() -> Figure:
    """Realised and expected regret of the same runs: thin and thick lines."""
    problem = treatment_ladder(3, markers=2)
    figure = Figure(figsize=(6.4, 3.0), layout="constrained")
    axes = figure.subplots()
    for seed, colour in ((0, BLUE), (1, RED), (2, GREEN)):
        learner = LRCSSP(problem.support, 3, loss_floor=0.1)
        history = play(problem, learner, Dirichlet.symmetric(3), episodes=5000, seed=seed)
        axes.plot(history.cumulative_regret, color=colour, linewidth=0.7, alpha=0.8)
        axes.plot(history.cumulative_expected_regret, color=colour, linewidth=1.8, label=f"seed {seed}")
    axes.axhline(0.0, color=INK, linewidth=0.8)
    axes.set_xlabel("episodes")
    axes.set_ylabel("regret so far")
    axes.legend(loc="upper left", frameon=False)
    return figure


if __name__ == "__main__":
    with figure_style():
        for name, make in (("mixing", mixing), ("shrinking", shrinking), ("two_regrets", two_regrets)):
            print(*save_figure(make(), FOLDER, name, ["png"]))
