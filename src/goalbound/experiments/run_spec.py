"""One run of an experiment as plain values: what is played, and the id that it is known by."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from goalbound.experiments.catalog import meant
from goalbound.experiments.fingerprint import code_digest
from goalbound.experiments.learners import LEARNERS, WATCHABLE
from goalbound.experiments.making import catalog, make, naming
from goalbound.experiments.plugins import NO_PLUGINS, Plugins
from goalbound.experiments.things import LOSS_LAWS
from goalbound.models import ModelError
from goalbound.simulation.environment import LossLaw

GROUPS = {"problems": "problem", "learners": "learner", "contexts": "contexts"}
"""The groups of an experiment file, and what a run has of each."""


@dataclass(frozen=True)
class Choice:
    """One thing with all its settings; the label is for people and not part of what is run."""

    use: str
    settings: dict[str, Any]
    label: str = field(default="", compare=False)

    def as_json(self) -> dict[str, Any]:
        """Without the label."""
        return {"use": self.use, "settings": self.settings}


@dataclass(frozen=True)
class RunSpec:
    """All that one run depends on."""

    problem: Choice
    learner: Choice
    contexts: Choice
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
        """Every name and setting, without making anything."""
        loss_law(self.losses)
        blind = self.learner.use not in WATCHABLE or self.learner.settings.get("sees", "context") != "context"
        if self.contexts.use == "adversary" and blind and self.learner.use in LEARNERS.entries:
            raise ModelError(
                f"the adversary looks at the data of the learner about contexts, and {self.learner.use} has none; "
                "give them in another file, with other contexts"
            )
        for group, name in GROUPS.items():
            choice: Choice = getattr(self, name)
            catalog(group).entry(choice.use, group, plugins).checked(choice.settings, group)

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
            things = {
                name: Choice(str(values[name]["use"]), dict(values[name]["settings"]), str(labels.get(name, "")))
                for name in ("problem", "learner", "contexts")
            }
            numbers = {name: int(values[name]) for name in ("episodes", "seed", "step_limit")}
            code = {name: str(digest) for name, digest in dict(values.get("code", {})).items() if name in things}
            return cls(
                things["problem"], things["learner"], things["contexts"], values["losses"],
                numbers["episodes"], numbers["seed"], numbers["step_limit"], code,
            )  # fmt: skip
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ModelError(f"this is no run of an experiment ({type(error).__name__}: {error})") from None


def loss_law(losses: str | Mapping[str, Any]) -> LossLaw:
    """The law that ``losses`` names: a word, or a table ``{ law = "bounded", spread = 0.5 }``."""
    settings = {"law": losses} if isinstance(losses, str) else dict(losses)
    law = settings.pop("law", None)
    if not isinstance(law, str) or law not in LOSS_LAWS:
        guess = meant(law, LOSS_LAWS) if isinstance(law, str) else ""
        raise ModelError(f"losses: there is no law {law!r}{guess}; there are {', '.join(LOSS_LAWS)}")
    try:
        return LOSS_LAWS[law](**settings)
    except TypeError:
        raise ModelError(
            f"losses: {law} does not take {settings}; bounded takes a spread, the others nothing"
        ) from None


def digest_of(group: str, choice: Choice, plugins: Plugins, made: Any = None) -> str | None:
    """What the id of a run has of a problem, a learner or contexts beside their settings; None for ours.

    Args:
        group: where it stands.
        choice: its name and settings.
        plugins: what may be imported.
        made: what it made, for a problem that is there already.
    """
    plugin = catalog(group).entry(choice.use, group, plugins).plugin
    if plugin is None:
        return None
    if group == "problems" and made is None:
        try:
            made = make(group, choice, plugins)
        except ModelError:
            raise
        except Exception as error:  # whatever a third party raises
            raise ModelError(f"{group} ({choice.use}): {type(error).__name__}: {error}") from error
    with naming(group, choice):
        return code_digest(plugin, made)
