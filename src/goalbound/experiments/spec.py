"""What an experiment is: a TOML file, checked, and the runs that follow from it."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from goalbound.experiments.catalog import Catalog, meant
from goalbound.experiments.learners import LEARNERS, WATCHABLE
from goalbound.experiments.things import CONTEXTS, LOSS_LAWS, PROBLEMS
from goalbound.experiments.toml import plain_values, toml_text, toml_values
from goalbound.models import ModelError
from goalbound.simulation.world import LossLaw

_CATALOGS = {"problems": PROBLEMS, "learners": LEARNERS, "contexts": CONTEXTS}
MOST_RUNS = 1_000_000
"""Of one experiment."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
Whole = Annotated[int, Field(ge=1, strict=True)]


class Thing(BaseModel):
    """Something by name: ``use`` is a catalog name or an import path; every other key is a setting of it."""

    model_config = ConfigDict(extra="allow", frozen=True)

    use: str = Field(description="a catalog name, or an import path package.module:function")
    label: str | None = Field(default=None, description="what people call it; not part of what is run")

    @property
    def settings(self) -> dict[str, Any]:
        """The other keys."""
        return dict(self.model_extra or {})


class ExperimentSpec(BaseModel):
    """A whole experiment, as its file says it. Every problem meets every learner under every source of contexts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(description="names the folder of the results")
    question: str = Field(default="", description="what the experiment is to answer, for the report")
    episodes: Whole = Field(description="episodes of each run")
    seeds: Whole | list[Annotated[int, Field(ge=0, strict=True)]] = Field(default=1, description="how many, or which")
    step_limit: Whole = Field(default=1_000_000, description="an episode of so many steps is abandoned")
    losses: str | dict[str, Any] = Field(default="deterministic", description="deterministic, bernoulli, or a table")
    problems: list[Thing] = Field(min_length=1)
    learners: list[Thing] = Field(min_length=1)
    contexts: list[Thing] = Field(default=[Thing(use="dirichlet")], min_length=1)
    grid: dict[str, list[Any]] = Field(default={}, description='"learners.scale" = [1.0, 0.1]: every combination')
    quick: dict[str, Any] = Field(default={}, description="what --quick changes")

    @field_validator("name")
    @classmethod
    def _is_a_folder(cls, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise ValueError("letters, digits, - and _ only, as it names a folder")
        return name

    @classmethod
    def load(
        cls, path: str | PathLike[str], *, overrides: Mapping[str, Any] | None = None, quick: bool = False
    ) -> ExperimentSpec:
        """Read a TOML file; an error names the key and the remedy."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ModelError(f"{path}: not a TOML file: {error}") from None
        try:
            values = toml_values(text)
            return cls.of(values, overrides=overrides, quick=quick)
        except ModelError as error:
            raise ModelError(f"{path}: {error}") from None

    @classmethod
    def of(
        cls, values: Mapping[str, Any], *, overrides: Mapping[str, Any] | None = None, quick: bool = False
    ) -> ExperimentSpec:
        """From the content of a file. Overrides are set last; their keys may have dots (``learners.scale``)."""
        content = plain_values(values)
        for changes in ([content.get("quick", {})] if quick else []) + [plain_values(overrides or {})]:
            for key, value in changes.items():
                _set(content, key, value)
        try:
            spec = cls.model_validate(content)
        except ValidationError as error:
            raise ModelError(_said(error, cls.model_fields)) from None
        _check_sizes(spec)
        spec.check()
        return spec

    def as_toml(self) -> str:
        """As a file that :meth:`load` reads."""
        return toml_text(self.model_dump(exclude_none=True))

    def check(self) -> None:
        """Every name and setting, without making anything."""
        self.loss_law()
        for run in self.runs():
            run.check()

    def loss_law(self) -> LossLaw:
        """How losses are drawn."""
        return loss_law(self.losses)

    @property
    def seed_list(self) -> list[int]:
        """The seeds of the runs."""
        return list(range(self.seeds)) if isinstance(self.seeds, int) else list(self.seeds)

    def runs(self) -> list[RunSpec]:
        """Every combination, in the order of the file; those that are the same run appear once."""
        found: dict[str, RunSpec] = {}
        used: set[str] = set()
        for problem, contexts, learner in itertools.product(
            self._expanded("problems", used), self._expanded("contexts", used), self._expanded("learners", used)
        ):
            for seed in self.seed_list:
                run = RunSpec(problem, learner, contexts, self.losses, self.episodes, seed, self.step_limit)
                found.setdefault(run.id, run)
        for key in self.grid:
            if key not in used:
                raise ModelError(f'grid: "{key}" fits nothing; write "learners.scale", "problems.states" and so on')
        return list(found.values())

    def _expanded(self, group: str, used: set[str]) -> Iterator[Choice]:
        """The things of a group, each with every combination of the grid's settings that it has."""
        catalog = _CATALOGS[group]
        axes = {key.partition(".")[2]: key for key in self.grid if key.partition(".")[0] == group}
        for place, thing in enumerate(getattr(self, group)):
            where = f"{group}[{place}]"
            entry = catalog.entry(thing.use, where)
            mine = {name: key for name, key in axes.items() if name in entry.settings}
            used.update(mine.values())
            for values in itertools.product(*(self.grid[key] for key in mine.values())):
                chosen = dict(zip(mine, values, strict=True))
                settings = entry.checked({**thing.settings, **chosen}, where)
                label = thing.label or thing.use.rpartition(":")[2]
                extra = ", ".join(f"{name} {value}" for name, value in chosen.items())
                yield Choice(thing.use, settings, f"{label} ({extra})" if extra else label)


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

    @property
    def id(self) -> str:
        """16 hexadecimal digits of a hash of all that matters: the same run has the same id in every file."""
        text = json.dumps(self.as_json(labels=False), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def group(self) -> tuple[str, str, str]:
        """The labels of the problem, the contexts and the learner: runs that differ only in the seed share it."""
        return self.problem.label, self.contexts.label, self.learner.label

    def check(self) -> None:
        """Every name and setting, without making anything."""
        loss_law(self.losses)
        blind = self.learner.use not in WATCHABLE or self.learner.settings.get("sees", "context") != "context"
        if self.contexts.use == "adversary" and blind and self.learner.use in LEARNERS.entries:
            raise ModelError(
                f"the adversary looks at the data of the learner about contexts, and {self.learner.use} has none; "
                "give them in another file, with other contexts"
            )
        for group, choice in (("problems", self.problem), ("learners", self.learner), ("contexts", self.contexts)):
            _CATALOGS[group].entry(choice.use, group).checked(choice.settings, group)

    def as_json(self, *, labels: bool = True) -> dict[str, Any]:
        """As plain values."""
        values: dict[str, Any] = {
            "problem": self.problem.as_json(), "learner": self.learner.as_json(), "contexts": self.contexts.as_json(),
            "losses": self.losses, "episodes": self.episodes, "seed": self.seed, "step_limit": self.step_limit,
        }  # fmt: skip
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
            return cls(
                things["problem"], things["learner"], things["contexts"], values["losses"],
                numbers["episodes"], numbers["seed"], numbers["step_limit"],
            )  # fmt: skip
        except (KeyError, TypeError, ValueError) as error:
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


def json_schema() -> dict[str, Any]:
    """The JSON Schema of experiment files, for editors; the catalog names are listed in it."""
    schema = ExperimentSpec.model_json_schema()
    for group, catalog in _CATALOGS.items():
        schema["properties"][group]["x-names"] = {
            entry.name: {"summary": entry.summary, "settings": entry.settings} for entry in catalog.entries.values()
        }
    return schema


def catalog(group: str) -> Catalog:
    """The catalog of "problems", "learners" or "contexts"."""
    return _CATALOGS[group]


def _check_sizes(spec: ExperimentSpec) -> None:
    """Limits that no experiment comes near, so that a slip of the keyboard does not ask for all memory."""
    for name, most in (("episodes", 2**31 - 1), ("step_limit", 2**62)):
        if getattr(spec, name) > most:
            raise ModelError(f"{name} is {getattr(spec, name)}; at most {most} can be played")
    if isinstance(spec.seeds, int) and spec.seeds > MOST_RUNS:
        raise ModelError(
            f"seeds is {spec.seeds}: it is how many seeds there are, at most {MOST_RUNS}; name single ones as a list, "
            f"seeds = [{spec.seeds}]"
        )
    seeds = spec.seeds if isinstance(spec.seeds, int) else len(spec.seeds)
    values = prod(max(1, len(one)) for one in spec.grid.values())
    runs = len(spec.problems) * len(spec.contexts) * len(spec.learners) * values * seeds
    if runs > MOST_RUNS:
        raise ModelError(f"this experiment has up to {runs} runs; at most {MOST_RUNS} fit in one, cut it into several")


def _set(content: dict[str, Any], key: str, value: Any) -> None:
    """Set a key; ``learners.scale`` sets it in every learner, ``learners.0.scale`` in the first."""
    name, dot, rest = key.partition(".")
    if not dot:
        content[name] = value
        return
    if name in ("grid", "quick"):
        content.setdefault(name, {})[rest] = value
        return
    things = content.get(name)
    if not isinstance(things, list):
        raise ModelError(f'"{key}" cannot be set: the file has no [[{name}]]')
    place, dot, setting = rest.partition(".")
    if dot and place.isdecimal():
        if int(place) >= len(things):
            raise ModelError(f'"{key}" cannot be set: the file has {len(things)} {name}')
        things, rest = [things[int(place)]], setting
    for thing in things:
        thing[rest] = value


def _said(error: ValidationError, known: Mapping[str, Any]) -> str:
    """The first thing that pydantic found, as one line that names the key."""
    first = error.errors()[0]
    where = ".".join(f"[{part}]" if isinstance(part, int) else str(part) for part in first["loc"]).replace(".[", "[")
    if first["type"] == "extra_forbidden":
        return f'there is no key "{where}"{meant(where, known)}; the keys are {", ".join(known)}'
    if first["type"] == "missing":
        return f'"{where}" is missing; {_needs(where, known)}'
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{where} is {first['input']!r}: {first['msg'].removeprefix('Value error, ')}{more}"


def _needs(where: str, known: Mapping[str, Any]) -> str:
    described = getattr(known.get(where), "description", None)
    return described or "give at least one, such as [[problems]] with use = ..."
