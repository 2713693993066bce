"""Records made by hand: what a run would have left behind, without the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from goalbound.experiments.records import RunRecord, kept_episodes
from goalbound.experiments.registry import Component
from goalbound.experiments.run_spec import RunSpec
from goalbound.learners.card import LearnerCard

KNOWN_TEST = LearnerCard(has_known_test=True)
"""Of a learner of someone else, who says that it has a known test."""
TERMS = ("switching", "dynamics", "martingale", "losses", "planning")


def run_spec(learner: str = "A", *, seed: int = 0, episodes: int = 100, **changes: Any) -> RunSpec:
    """A spec whose labels are its names; ``problem``, ``contexts``, ``settings`` and ``label`` may be changed."""
    return RunSpec(
        problem=Component("random", {"states": 4}, changes.get("problem", "P")),
        learner=Component(f"tests:{learner}", changes.get("settings", {}), changes.get("label", learner)),
        contexts=Component(changes.get("contexts", "dirichlet"), {}, "C"),
        losses="deterministic",
        episodes=episodes,
        seed=seed,
        step_limit=1000,
    )


def power(factor: float, exponent: float) -> Callable[[np.ndarray], np.ndarray]:
    """A regret that is exactly a power of the episode."""
    return lambda episode: factor * episode.astype(float) ** exponent


def record(
    spec: RunSpec,
    regret: Callable[[np.ndarray], np.ndarray],
    *,
    context_size: int = 2,
    metadata: dict[str, Any] | None = None,
) -> RunRecord:
    """3 steps an episode, 2 intervals, optimal loss 1; the loss is the optimal one and the regret."""
    episode = kept_episodes(spec.episodes)
    expected = regret(episode)
    table = {
        "episode": episode,
        "loss": episode + expected,
        "optimal_loss": episode.astype(float),
        "expected_regret": expected,
        "steps": 3 * episode,
        "intervals": 2 * episode,
        "unknown_steps": np.minimum(episode, 30),
        "abandoned": 0 * episode,
    }
    totals: dict[str, Any] = {name: column[-1].item() for name, column in table.items() if name != "episode"}
    totals |= {"episodes": int(episode[-1]), "regret": totals["loss"] - totals["optimal_loss"]}
    given = {
        "totals": totals,
        "diagnosis": None,
        "simplex": simplex(context_size, spec.episodes),
        "policies": None,
        "actions": None,
        "settings": {"delta": 0.1, "widths": "paper", "scale": 1.0},
        "card": KNOWN_TEST.as_json(),
        "alarm": None,
        "problem": {"context_size": context_size, "loss_bound": 1.0, "loss_scale": 1.0, "states": 4,
                    "component_names": None},
        "provenance": {"seed": spec.seed, "id": spec.id},
    }  # fmt: skip
    return RunRecord(spec, table, {**given, **(metadata or {})})


def simplex(context_size: int, episodes: int, *, bins: int = 12) -> dict[str, Any]:
    """Counts and regret by cell, of uniform contexts with more regret where the first component is large."""
    contexts = np.random.default_rng(7).dirichlet(np.ones(context_size), size=episodes)
    cells = np.minimum((bins * contexts).astype(int), bins - 1)
    pairs = [(i, j) for i in range(context_size) for j in range(i + 1, context_size)][:28]
    count, regret = np.zeros((2, len(pairs), bins * bins))
    for place, (i, j) in enumerate(pairs):
        np.add.at(count[place], bins * cells[:, i] + cells[:, j], 1.0)
        np.add.at(regret[place], bins * cells[:, i] + cells[:, j], contexts[:, 0] ** 2)
    return {"bins": bins, "pairs": [list(pair) for pair in pairs], "count": count.tolist(),
            "expected_regret": regret.tolist()}  # fmt: skip


def diagnosis(*, covered: bool = True, coverage: float = 1.0) -> dict[str, Any]:
    """Of a watched learner; the terms are 10, 20, -5, 3 and 0."""
    return {
        "covered": covered,
        "coverage": coverage,
        "decomposition": dict(zip(TERMS, (10.0, 20.0, -5.0, 3.0, 0.0), strict=True)),
        "largest_interval_share": 0.1,
        "bounds": {"measured": 500.0, "lemma": None},
    }


def policies(context_size: int) -> dict[str, Any]:
    """Three optimal policies over the simplex; the learned one is worse near the second corner, once not proper."""
    if context_size == 2:
        first = np.linspace(1.0, 0.0, 41)
        contexts = np.column_stack([first, 1.0 - first])
    else:
        contexts = np.array([[i, j, 10 - i - j] for i in range(11) for j in range(11 - i)]) / 10.0
    gap: list[float | None] = (0.3 * contexts[:, 1] ** 3).tolist()
    gap[-1] = None
    return {
        "contexts": contexts.tolist(),
        "optimal": np.minimum((3.0 * contexts[:, 0]).astype(int), 2).tolist(),
        "learned_gap": gap,
        "differs": np.round(0.5 * contexts[:, 1], 2).tolist(),
    }
