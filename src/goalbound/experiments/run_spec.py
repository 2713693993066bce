"""One run of an experiment as plain values, and its id."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from goalbound.errors import ArgumentError, InputError
from goalbound.experiments.fingerprint import code_digest, problem_digest
from goalbound.experiments.plugins import NO_PLUGINS, Plugins
from goalbound.experiments.registry import Component, error_context, find_entry, instantiate, loss_law

GROUPS = {"problems": "problem", "learners": "learner", "contexts": "contexts"}
"""The groups of an experiment file, and what a run has of each."""


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
    """For those of problem, learner and contexts that are plug-ins: the digest of the problem, or of the source."""

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


def component_digest(group: str, component: Component, plugins: Plugins, made: Any = None) -> str | None:
    """The digest of a plug-in, or of a problem in a file, in the id of a run; None for built-in components.

    Args:
        group: the group of the component.
        component: its name and settings.
        plugins: what may be imported.
        made: the problem, if it was instantiated already.
    """
    entry = find_entry(group, component, plugins)
    plugin = entry.plugin
    if entry.is_file:
        return problem_digest(instantiate(group, component, plugins) if made is None else made)
    if plugin is None:
        return None
    if group == "problems" and made is None:
        try:
            made = instantiate(group, component, plugins)
        except InputError:
            raise
        except Exception as error:  # whatever a third party raises
            raise ArgumentError(f"{group} ({component.use}): {type(error).__name__}: {error}") from error
    with error_context(group, component):
        return code_digest(plugin, made)
