"""One run of an experiment as plain values, and its id."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from goalbound.errors import ArgumentError, InputError
from goalbound.experiments.plugins import NO_PLUGINS, Plugins
from goalbound.experiments.registry import Component, ProblemInstance, find_entry, instantiate, loss_law
from goalbound.models import LinearCSSP
from goalbound.models.amounts import cap_of
from goalbound.models.files.npz import support_arrays

GROUPS = {"problems": "problem", "learners": "learner", "contexts": "contexts"}
"""The groups of an experiment file, and what a run has of each."""
DIGITS = 32
"""Hexadecimal digits of the digest of a problem."""


@dataclass(frozen=True)
class RunSpec:
    """All that one run depends on."""

    problem: Component
    learner: Component
    contexts: Component
    losses: str | dict[str, Any]
    episodes: int
    seed: int
    step_limit: int
    code: dict[str, str] = field(default_factory=dict)
    """For plug-ins among problem, learner and contexts, and for problem files: see :func:`component_code`."""

    @property
    def id(self) -> str:
        """16 hexadecimal digits of a hash of all that matters: the same run has the same id in every file."""
        text = json.dumps(self.as_json(labels=False), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def group(self) -> tuple[str, str, str]:
        """The labels of the problem, the contexts and the learner: runs that differ only in the seed share it."""
        return self.problem.label, self.contexts.label, self.learner.label

    def check(self, plugins: Plugins = NO_PLUGINS) -> None:
        """Validate every name and setting without instantiating anything."""
        loss_law(self.losses)
        for group, name in GROUPS.items():
            component: Component = getattr(self, name)
            find_entry(group, component, plugins).checked_settings(component.settings, group)

    def as_json(self, *, labels: bool = True) -> dict[str, Any]:
        """As plain values."""
        values: dict[str, Any] = {
            "problem": self.problem.as_json(), "learner": self.learner.as_json(), "contexts": self.contexts.as_json(),
            "losses": self.losses, "episodes": self.episodes, "seed": self.seed, "step_limit": self.step_limit,
        }  # fmt: skip
        if self.code:
            values["code"] = dict(sorted(self.code.items()))
        if labels:
            values["labels"] = {"problem": self.problem.label, "learner": self.learner.label,
                                "contexts": self.contexts.label}  # fmt: skip
        return values

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> RunSpec:
        """What :meth:`as_json` gave."""
        try:
            labels = dict(values.get("labels", {}))
            components = {
                name: Component(str(values[name]["use"]), dict(values[name]["settings"]), str(labels.get(name, "")))
                for name in ("problem", "learner", "contexts")
            }
            numbers = {name: int(values[name]) for name in ("episodes", "seed", "step_limit")}
            code = {name: str(digest) for name, digest in dict(values.get("code", {})).items() if name in components}
            return cls(
                components["problem"], components["learner"], components["contexts"], values["losses"],
                numbers["episodes"], numbers["seed"], numbers["step_limit"], code,
            )  # fmt: skip
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ArgumentError(f"this is not a run of an experiment ({type(error).__name__}: {error})") from None


def component_code(group: str, component: Component, plugins: Plugins, made: Any = None) -> str | None:
    """Identify a plug-in, or the file of a problem, in the id of a run; None for built-in components.

    A problem is identified by its arrays, a learner or a source of contexts by the version of its plug-in, and a
    problem with its own environment by both.

    Args:
        group: the group of the component.
        component: its name and settings.
        plugins: what may be imported.
        made: the problem, if it was instantiated already.
    """
    entry = find_entry(group, component, plugins)
    if entry.plugin is None and not entry.is_file:
        return None
    if group == "problems" and made is None:
        try:
            made = instantiate(group, component, plugins)
        except InputError:
            raise
        except Exception as error:  # whatever a third party raises
            raise ArgumentError(f"{group} ({component.use}): {type(error).__name__}: {error}") from error
    if isinstance(made, LinearCSSP):
        return problem_digest(made)
    version = "" if entry.plugin is None else entry.plugin.version
    return f"{problem_digest(made.problem)} {version}" if isinstance(made, ProblemInstance) else version


def problem_digest(problem: LinearCSSP) -> str:
    """The digest of all arrays and names of a problem; equal problems have equal digests on every machine."""
    support = problem.support
    names = [support.state_names, support.action_names, problem.component_names, cap_of(problem)]
    start = np.asarray(problem.start)
    content = hashlib.sha256(json.dumps([names, start.shape, len(support_arrays(support))]).encode())
    for array in (start, *support_arrays(support).values(), problem.losses, problem.probabilities):
        content.update(json.dumps([array.dtype.kind, array.shape]).encode())
        content.update(array.astype("<f8" if array.dtype.kind == "f" else "<i8").tobytes())
    return content.hexdigest()[:DIGITS]
