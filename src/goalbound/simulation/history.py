"""The results of a run: one row per episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError
from goalbound.frames import data_frame
from goalbound.models.simulated import RESULT_TYPES, EpisodeResults
from goalbound.models.validation import readonly_copy
from goalbound.notebook import html_lines, html_table
from goalbound.plotting import new_axes
from goalbound.simulation.diagnostics import RegretDiagnostics

Floats = NDArray[np.float64]
PER_EPISODE: dict[str, type] = {
    "loss": np.float64,
    "optimal_loss": np.float64,
    "expected_regret": np.float64,
    "steps": np.int64,
    "intervals": np.int64,
    "unknown_steps": np.int64,
    "abandoned": np.bool_,
    "start": np.int64,
    "contexts": np.float64,
}
FIT_POINTS = 100
"""Points of the fit of :meth:`History.growth_exponent`."""


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """K episodes that were played to their end, and what is known about each.

    Attributes:
        loss: [K] what was paid.
        optimal_loss: [K] the optimal value of the first state under the episode's context.
        expected_regret: [K] the gaps of the pairs played, summed (:mod:`goalbound.simulation.regret`).
        steps: [K] at least 1.
        intervals: [K] intervals of the learner; 0 for learners that have none.
        unknown_steps: [K] steps that played an unknown pair; 0 for learners without a known test.
        abandoned: [K] whether the step limit ended the episode. Its numbers are those up to there: the true regret
            is larger.
        start: [K] the first state.
        contexts: [K, d].
        seed: of the run.
        step_limit: the most steps of an episode.
        interrupted: whether the run was broken off after these episodes.
        alarm: what contradicts the linear model, if the learner found something, up to the last episode.
        has_known_test: whether the learner tests when a pair is known, as its card says.
        others: [K] each, by name: columns of the loop that have no attribute of their own.
        diagnostics: the audit of the learner, from its start to the last episode; None without ``audit=``.
    """

    loss: Floats
    optimal_loss: Floats
    expected_regret: Floats
    steps: NDArray[np.int64]
    intervals: NDArray[np.int64]
    unknown_steps: NDArray[np.int64]
    abandoned: NDArray[np.bool_]
    start: NDArray[np.int64]
    contexts: Floats
    seed: int
    step_limit: int
    interrupted: bool = False
    alarm: str | None = None
    has_known_test: bool = False
    others: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    diagnostics: RegretDiagnostics | None = None

    def __post_init__(self) -> None:
        for name, dtype in PER_EPISODE.items():
            array = np.asarray(getattr(self, name))
            if array.ndim != (2 if name == "contexts" else 1) or len(array) != len(self.loss):
                shape = f"[{len(self.loss)}, d]" if name == "contexts" else f"[{len(self.loss)}]"
                raise ArgumentError(f"{name} has shape {array.shape}; it needs {shape}, one row per episode")
            object.__setattr__(self, name, readonly_copy(array, dtype))
        others = {name: readonly_copy(array, array.dtype.type) for name, array in self.others.items()}
        object.__setattr__(self, "others", others)

    def column(self, name: str) -> NDArray[Any]:
        """[K] a column by its name."""
        found: NDArray[Any] = self.others[name] if name in self.others else getattr(self, name)
        return found

    @classmethod
    def concatenate(cls, parts: Sequence[History]) -> History:
        """The episodes of all parts, one part after the other; parts of one run."""
        if not parts:
            raise ArgumentError("there is nothing to concatenate; give at least one history")
        first = parts[0]
        for part in parts:
            for name in ("seed", "step_limit"):
                if getattr(part, name) != getattr(first, name):
                    raise ArgumentError(
                        f"the parts have {name} {getattr(first, name)} and {getattr(part, name)}; "
                        "only parts of one run can be joined"
                    )
            if part.contexts.shape[1] != first.contexts.shape[1]:
                raise ArgumentError("the parts have contexts of different length; only parts of one run can be joined")
        joined: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in PER_EPISODE}
        others = {name: np.concatenate([part.others[name] for part in parts]) for name in first.others}
        last = parts[-1]
        return replace(
            first, **joined, others=others, interrupted=last.interrupted, alarm=last.alarm,
            diagnostics=last.diagnostics,
        )  # fmt: skip

    @property
    def episodes(self) -> int:
        """K, the number of episodes played to their end."""
        return len(self.loss)

    @property
    def regret(self) -> Floats:
        """[K] realised: loss - optimal_loss. Noisy; ``expected_regret`` has the same mean and less noise."""
        return self.loss - self.optimal_loss

    @property
    def known_share(self) -> Floats:
        """[K] the share of the steps that played a known pair; nan for learners without a known test."""
        return 1.0 - self.unknown_steps / self.steps if self.has_known_test else np.full(self.episodes, np.nan)

    @property
    def cumulative_regret(self) -> Floats:
        """[K] realised regret of the episodes up to each."""
        return np.cumsum(self.regret)

    @property
    def cumulative_expected_regret(self) -> Floats:
        """[K] expected regret of the episodes up to each."""
        return np.cumsum(self.expected_regret)

    @property
    def total_regret(self) -> float:
        """Realised regret of all episodes."""
        return float(self.regret.sum())

    @property
    def total_expected_regret(self) -> float:
        """Expected regret of all episodes."""
        return float(self.expected_regret.sum())

    def growth_exponent(self, *, decades: float = 1.0) -> float:
        """The x with regret ~ episodes^x at the end of the run: 1 learns nothing, 1/2 is what the theorem promises.

        The slope of log(cumulative expected regret) over log(episode), by least squares on points evenly spaced in
        the logarithm, from episode K / 10^decades to K.
        """
        if not decades > 0.0:
            raise ArgumentError(f"decades is {decades}; it is the part of the run that is fitted, a positive number")
        if self.episodes < max(10.0**decades, 2.0):
            raise ArgumentError(
                f"a growth over {decades:g} decades needs at least {max(10.0**decades, 2.0):.0f} episodes; "
                f"there are {self.episodes}"
            )
        spaced = np.geomspace(self.episodes / 10.0**decades, self.episodes, FIT_POINTS)
        episode = np.unique(np.clip(np.rint(spaced), 1, self.episodes).astype(np.int64))
        regret = self.cumulative_expected_regret[episode - 1]
        if not regret[0] > 0.0:
            raise ArgumentError(
                f"the regret of the first {episode[0]} episodes is {regret[0]:g}; only a positive one has a logarithm. "
                "Use fewer decades, or the regret itself"
            )
        x, y = np.log(episode), np.log(regret)
        x = x - x.mean()
        return float((x * y).sum() / (x * x).sum())

    def frame(self, *, arrow: bool = False) -> Any:
        """One row per episode: its number from 1 on, the columns of this history, and the weights of its context
        (``context_0`` and so on). A data frame of pandas, or a table of Arrow."""
        return data_frame(self._columns(), arrow=arrow)

    def _columns(self) -> dict[str, NDArray[Any]]:
        per_episode = {name: getattr(self, name) for name in PER_EPISODE if name != "contexts"}
        weights = {f"context_{one}": self.contexts[:, one] for one in range(self.contexts.shape[1])}
        return {"episode": np.arange(1, self.episodes + 1), **per_episode, **self.others, **weights}

    def _repr_html_(self) -> str:
        tenths = np.unique(np.linspace(0, self.episodes, 11).astype(np.int64))[1:]
        rows = {
            "episodes": tenths,
            "loss": np.cumsum(self.loss)[tenths - 1],
            "optimal loss": np.cumsum(self.optimal_loss)[tenths - 1],
            "regret": self.cumulative_regret[tenths - 1],
            "expected regret": self.cumulative_expected_regret[tenths - 1],
            "steps": np.cumsum(self.steps)[tenths - 1],
        }
        return html_lines(str(self).splitlines()) + (html_table(rows) if self.episodes else "")

    def plot(self, axes: Any = None) -> Any:
        """Cumulative regret against episodes: the expected one, and the realised one behind it; the Matplotlib axes."""
        axes = new_axes(axes)
        episode = np.arange(1, self.episodes + 1)
        axes.plot(episode, self.cumulative_regret, color="C0", alpha=0.35, label="realised")
        axes.plot(episode, self.cumulative_expected_regret, color="C0", label="expected")
        axes.set_xlabel("episodes")
        axes.set_ylabel("cumulative regret")
        axes.legend(frameon=False)
        return axes

    def __str__(self) -> str:
        ended = "interrupted after " if self.interrupted else ""
        if not self.episodes:
            return f"{ended}0 episodes"
        abandoned = int(self.abandoned.sum())
        lines = [
            f"{ended}{self.episodes} episodes, {self.steps.sum()} steps; {abandoned} abandoned"
            + (f" at {self.step_limit} steps: the true regret is larger" if abandoned else ""),
            f"loss       {self.loss.sum():<12.6g} optimal {self.optimal_loss.sum():.6g}",
            f"regret     {self.total_regret:<12.6g} expected {self.total_expected_regret:.6g}",
        ]
        if self.alarm is not None:
            lines.append(f"alarm: {self.alarm}")
        tenth = self.episodes // 10
        if tenth:
            early, late = self.expected_regret[:tenth].mean(), self.expected_regret[-tenth:].mean()
            lines.append(f"expected per episode: {early:.6g} in the first tenth, {late:.6g} in the last")
        if self.intervals.any():
            share = 1.0 - self.unknown_steps.sum() / self.steps.sum()
            lines.append(f"intervals  {self.intervals.sum():<12} known steps "
                         + (f"{share:.1%}" if self.has_known_test else "-"))  # fmt: skip
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"History({self.episodes} episodes, seed {self.seed}, expected regret {self.total_expected_regret:.6g})"


def result_columns(results: EpisodeResults) -> dict[str, NDArray[Any]]:
    """The columns that the loop fills, by name."""
    return {name: getattr(results, name) for name in RESULT_TYPES}


class EpisodeBuffer(NamedTuple):
    """Arrays for the episodes of a run; those that count are the first ones, up to the first with no steps."""

    results: EpisodeResults
    contexts: NDArray[np.float64]
    """[K, d]"""
    optimal_loss: NDArray[np.float64]
    """[K]"""

    @classmethod
    def empty(cls, episodes: int, context_size: int) -> EpisodeBuffer:
        """Arrays for ``episodes`` episodes, none of them played."""
        columns: dict[str, Any] = {name: np.zeros(episodes, dtype=kind) for name, kind in RESULT_TYPES.items()}
        return cls(EpisodeResults(**columns), np.zeros((episodes, context_size)), np.zeros(episodes))

    def rows(self, first: int, end: int) -> EpisodeBuffer:
        """Some of the episodes, as views."""
        columns: dict[str, Any] = {name: column[first:end] for name, column in result_columns(self.results).items()}
        return EpisodeBuffer(EpisodeResults(**columns), self.contexts[first:end], self.optimal_loss[first:end])

    @property
    def finished(self) -> int:
        """How many episodes count."""
        return int(np.count_nonzero(self.results.steps))

    @property
    def regret(self) -> float:
        """Realised."""
        return float((self.results.loss - self.optimal_loss).sum())
