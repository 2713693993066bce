"""The public names of goalbound: what the API reference must have, page by page.

A name is public if it is in the ``__all__`` of one of the modules below, or listed there. Where several modules offer
the same object, it is documented once, on the page of the module that is named first, under the path that people write:
its shortest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from inspect import isclass
from pathlib import Path
from types import ModuleType
from typing import Any

import goalbound


@dataclass(frozen=True)
class Page:
    """A page of the API reference.

    Attributes:
        name: of the file in docs/reference/api.
        modules: whose names it has. None: all of ``__all__``, or, without one, all public classes and functions that
            are defined in the module.
    """

    name: str
    modules: Mapping[str, tuple[str, ...] | None]


PAGES: tuple[Page, ...] = (
    Page(
        "models",
        {
            "goalbound.models": None,
            "goalbound.models.amounts": ("Amounts", "Capped", "HasUnit"),
            "goalbound.models.files": None,
        },
    ),
    Page("planning", {"goalbound.planning": None}),
    Page(
        "confidence",
        {
            "goalbound.confidence": None,
            "goalbound.confidence.widths": ("Radii",),
        },
    ),
    Page(
        "learners",
        {
            "goalbound.learners.protocol": None,
            "goalbound.learners.lr_cssp": None,
            "goalbound.learners.ridge": None,
            "goalbound.learners.learner": None,
            "goalbound.learners.base": None,
            "goalbound.learners.border": ("Border", "InnerBorder"),
            "goalbound.learners.episode": None,
            "goalbound.learners.settings": ("LearnerOptions", "Settings"),
            "goalbound.learners.explore": None,
            "goalbound.learners.prior": None,
            "goalbound.learners.plan": ("Plan",),
            "goalbound.learners.explanation": ("Explanation", "ActionExplanation", "NextState"),
            "goalbound.learners.answers": ("ModelViolation",),
            "goalbound.learners.card": ("LearnerCard",),
            "goalbound.learners.reference": ("Clairvoyant", "FixedPolicy", "RandomWalk"),
            "goalbound.baselines": None,
            "goalbound.adapters.learner_files": None,
        },
    ),
    Page(
        "wrappers",
        {
            "goalbound.around.around": ("Around", "AroundEpisode"),
            "goalbound.around.contexts": None,
            "goalbound.around.runbook": ("Apprentice", "ApprenticeEpisode", "Guarded", "GuardedEpisode"),
            "goalbound.around.progress": ("ApprenticeProgress",),
            "goalbound.around.excess": ("ExcessLoss",),
            "goalbound.around.monitor": ("ChangeAlarm", "ChangeDetector", "Monitored"),
        },
    ),
    Page("problems", {"goalbound.problems": None}),
    Page("kernels", {"goalbound.jit.compile": ("Kernel", "Slot", "lean"), "goalbound.jit.struct": ("Struct",)}),
    Page(
        "simulation",
        {
            "goalbound.simulation": None,
            "goalbound.simulation.diagnostics": ("RegretTerms",),
            "goalbound.simulation.regret_bounds": None,
        },
    ),
    Page(
        "experiments",
        {
            "goalbound.experiments": None,
            "goalbound.experiments.plugins": ("plugin",),
            "goalbound.experiments.spec": ("ExperimentSpec", "ComponentSpec"),
            "goalbound.experiments.sweep": None,
            "goalbound.experiments.summary": ("Summary", "Group", "summarize"),
            "goalbound.experiments.bootstrap": ("Estimate",),
            "goalbound.experiments.comparisons": ("Difference",),
            "goalbound.experiments.changes": ("Changes", "GroupChange", "Change", "compare"),
            "goalbound.experiments.records": ("RunRecord",),
            "goalbound.experiments.record_file": ("read_record",),
            "goalbound.experiments.report": None,
            "goalbound.experiments.figures": None,
        },
    ),
    Page("explorer", {"goalbound.experiments.explorer": None}),
    Page("logs", {"goalbound.logs": None}),
    Page("covariates", {"goalbound.adapters.covariates": None}),
    Page("gymnasium", {"goalbound.adapters.gymnasium": None}),
    Page("store", {"goalbound.serve.store": None}),
    Page("client", {"goalbound.serve.client": None}),
    Page("testing", {"goalbound.testing": None}),
    Page("errors", {"goalbound.errors": None}),
)
"""The pages, in the order of the reference."""

NOT_PUBLIC = (
    "goalbound.cli", "goalbound.experiments", "goalbound.learners", "goalbound.experiments.pages",
    "goalbound.planning", "goalbound.serve.service", "goalbound.serve.store",
)  # fmt: skip
"""Packages whose inner modules are not public, though some have an ``__all__``."""


@dataclass(frozen=True)
class PublicName:
    """A public object.

    Attributes:
        path: under which it is documented: its shortest public path.
        others: its other public paths.
        value: the object.
    """

    path: str
    others: tuple[str, ...]
    value: Any

    @property
    def parts(self) -> tuple[str, str]:
        """The module and the name."""
        module, _, name = self.path.rpartition(".")
        return module, name


def names_in(module_name: str, listed: tuple[str, ...] | None) -> list[str]:
    """The public names of a module, in the order of its ``__all__`` or of its source."""
    module = import_module(module_name)
    if listed is not None:
        return list(listed)
    if hasattr(module, "__all__"):
        return [name for name in module.__all__ if not name.startswith("__")]
    return [name for name, value in vars(module).items() if _is_defined_in(module, name, value)]


def _is_defined_in(module: ModuleType, name: str, value: Any) -> bool:
    if name.startswith("_") or isinstance(value, ModuleType):
        return False
    return getattr(value, "__module__", None) == module.__name__ and (isclass(value) or callable(value))


def pages() -> dict[str, list[PublicName]]:
    """What each page has to document: every public object once."""
    found: dict[str, list[PublicName]] = {}
    homes = {id(getattr(goalbound, name)): f"goalbound.{name}" for name in goalbound.__all__ if name != "__version__"}
    homes |= {id(getattr(goalbound.widths, name)): f"goalbound.widths.{name}" for name in _width_rules()}
    paths: dict[Any, list[str]] = {}
    places: dict[Any, tuple[str, Any]] = {}
    for page in PAGES:
        for module_name, listed in page.modules.items():
            for name in names_in(module_name, listed):
                value = getattr(import_module(module_name), name)
                # Constants may be equal objects by chance, so only classes and functions are told by identity.
                key = id(value) if isclass(value) or callable(value) else f"{module_name}.{name}"
                paths.setdefault(key, []).append(f"{module_name}.{name}")
                places.setdefault(key, (page.name, value))
    for key, (page_name, value) in places.items():
        every = sorted({*paths[key]}, key=lambda path: (path.count("."), path))
        every = [homes[key], *(path for path in every if path != homes[key])] if key in homes else every
        found.setdefault(page_name, []).append(PublicName(every[0], tuple(every[1:]), value))
    for names in found.values():  # what most programs need comes first; otherwise the order is that of the modules
        names.sort(key=lambda one: one.path not in homes.values())
    return found


def every_path() -> dict[str, str]:
    """Each public path of an object, to the one under which it is documented."""
    return {path: one.path for names in pages().values() for one in names for path in (one.path, *one.others)}


def _width_rules() -> list[str]:
    """The names of ``goalbound.widths``: people write ``widths.paper()``."""
    widths, confidence = goalbound.widths, import_module("goalbound.confidence")
    return [name for name in confidence.__all__ if getattr(widths, name, None) is getattr(confidence, name)]


def undocumented() -> list[str]:
    """The public paths that no page has: names of ``goalbound``, and of modules with an ``__all__``."""
    covered = every_path()
    missing = [f"goalbound.{name}" for name in goalbound.__all__ if f"goalbound.{name}" not in covered]
    for module_name in _modules_with_names():
        missing += [f"{module_name}.{name}" for name in names_in(module_name, None)
                    if f"{module_name}.{name}" not in covered]  # fmt: skip
    return [path for path in missing if path not in ("goalbound.__version__", "goalbound.widths")]


def _modules_with_names() -> list[str]:
    """The packages with an ``__all__`` that are public, from the folders: a new one is found without being listed."""
    root = Path(goalbound.__file__).parent
    names = [".".join(("goalbound", *file.parent.relative_to(root).parts)) for file in root.rglob("__init__.py")]
    inner = [name for name in names if any(name.startswith(f"{package}.") for package in NOT_PUBLIC)]
    return [
        name for name in sorted({*names} - {*inner, "goalbound"})
        if hasattr(import_module(name), "__all__")
    ]  # fmt: skip
