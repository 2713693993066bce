"""The experiment specification: a validated TOML file, and the runs that it expands to."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import prod
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, field_validator

from goalbound.errors import ArgumentError, InputError
from goalbound.experiments.plugins import NO_PLUGINS, Plugins
from goalbound.experiments.registry import CATALOGS, Component, loss_law
from goalbound.experiments.registry.catalog import hint
from goalbound.experiments.run_spec import GROUPS, RunSpec, component_code
from goalbound.experiments.toml import plain_values, toml_text, toml_values
from goalbound.models.files.io import file_name, read_bytes
from goalbound.models.step import LossLaw

_MAX_BYTES = 2**24
MAX_RUNS = 1_000_000
"""Of one experiment."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
PositiveInt = Annotated[int, Field(ge=1, strict=True)]
Seed = Annotated[int, Field(ge=0, strict=True)]
Values = Annotated[list[Any], Field(min_length=1)]


class ComponentSpec(BaseModel):
    """A component by name: ``use`` is a catalog name or an import path; every other key is a setting."""

    model_config = ConfigDict(extra="allow", frozen=True)

    use: str = Field(description="a catalog name, or an import path package.module:function")
    label: str | None = Field(default=None, description="display label; not part of the run's identity")

    @property
    def settings(self) -> dict[str, Any]:
        """The other keys."""
        return dict(self.model_extra or {})


class ExperimentSpec(BaseModel):
    """An experiment as specified by its file: every problem with every learner and every context source."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(description="names the folder of the results")
    question: str = Field(default="", description="what the experiment is to answer, for the report")
    episodes: PositiveInt = Field(description="episodes of each run")
    seeds: PositiveInt | Annotated[list[Seed], Field(min_length=1)] = Field(default=1, description="how many, or which")
    step_limit: PositiveInt = Field(default=1_000_000, description="steps after which an episode is abandoned")
    losses: str | dict[str, Any] = Field(default="deterministic", description="deterministic, bernoulli, or a table")
    problems: list[ComponentSpec] = Field(min_length=1)
    learners: list[ComponentSpec] = Field(min_length=1)
    contexts: list[ComponentSpec] = Field(default=[ComponentSpec(use="dirichlet")], min_length=1)
    grid: dict[str, Values] = Field(default={}, description='"learners.scale" = [1.0, 0.1]: every combination')
    quick: dict[str, Any] = Field(default={}, description="what --quick changes")

    _plugins: Plugins = PrivateAttr(default=NO_PLUGINS)

    @field_validator("name")
    @classmethod
    def _is_directory_name(cls, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise ValueError("letters, digits, - and _ only, as it names a folder")
        return name

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        overrides: Mapping[str, Any] | None = None,
        quick: bool = False,
        plugins: Plugins | Iterable[str] = (),
    ) -> ExperimentSpec:
        """Read a TOML file; an error names the key and the remedy.

        Args:
            path: the file.
            overrides: keys to change; they may have dots (``learners.scale``).
            quick: whether to change what the file says under ``[quick]``, too.
            plugins: names of modules that may be imported if the file names them, installed or beside the file. What
                installed packages offer by entry points is always allowed.
        """
        with _file_in_errors(path):
            allowed = Plugins.of(plugins, folder=Path(file_name(path)).parent)
            return cls.of(_toml(path), overrides=overrides, quick=quick, plugins=allowed)

    @classmethod
    def of(
        cls,
        values: Mapping[str, Any],
        *,
        overrides: Mapping[str, Any] | None = None,
        quick: bool = False,
        plugins: Plugins | Iterable[str] = (),
    ) -> ExperimentSpec:
        """From the content of a file. Overrides are set last; their keys may have dots (``learners.scale``)."""
        content = plain_values(values)
        _check_quick(content.get("quick"))
        for changes in ([content.get("quick")] if quick else []) + [plain_values(overrides or {})]:
            for key, value in changes.items() if isinstance(changes, dict) else ():
                _set(content, key, value)
        spec = cls._of(content)
        _check_sizes(spec)
        spec._plugins = Plugins.of(plugins)
        spec.check()
        return spec

    @classmethod
    def load_unchecked(cls, path: str | PathLike[str]) -> ExperimentSpec:
        """Read a TOML file for a report without resolving its names; nothing is imported."""
        with _file_in_errors(path):
            return cls._of(plain_values(_toml(path)))

    @classmethod
    def _of(cls, content: dict[str, Any]) -> ExperimentSpec:
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            raise ArgumentError(_first_error(error, content)) from None

    @property
    def plugins(self) -> Plugins:
        """What may be imported for it."""
        return self._plugins

    @property
    def uses_plugins(self) -> bool:
        """Whether something in it is not in the catalogs of goalbound: a plug-in, or a problem in a file."""
        return any(one.use not in CATALOGS[group].entries for group in GROUPS for one in getattr(self, group))

    def as_toml(self) -> str:
        """As a file that :meth:`load` reads."""
        return toml_text(self.model_dump(exclude_none=True))

    def check(self) -> None:
        """Validate every name and setting without instantiating anything."""
        self.loss_law()
        for run in self._combinations():
            run.check(self.plugins)

    def loss_law(self) -> LossLaw:
        """How losses are drawn."""
        return loss_law(self.losses)

    @property
    def seed_list(self) -> list[int]:
        """The seeds of the runs."""
        return list(range(self.seeds)) if isinstance(self.seeds, int) else list(self.seeds)

    def runs(self) -> list[RunSpec]:
        """Every combination, in the order of the file; those that are the same run appear once.

        Each problem of a third party is made once, as the ids of its runs depend on what it is.
        """
        found: dict[str, RunSpec] = {}
        known: dict[str, str | None] = {}
        for one in self._combinations():
            code = self._code(one, known)
            for seed in self.seed_list:
                run = replace(one, seed=seed, code=code)
                found.setdefault(run.id, run)
        return list(found.values())

    def _combinations(self) -> list[RunSpec]:
        """One run of each problem, contexts and learner; with the first seed only; nothing is instantiated."""
        used: dict[str, bool] = {}
        first = 0 if isinstance(self.seeds, int) else self.seeds[0]
        found = [
            RunSpec(problem, learner, contexts, self.losses, self.episodes, first, self.step_limit)
            for problem, contexts, learner in itertools.product(
                self._expanded("problems", used), self._expanded("contexts", used), self._expanded("learners", used)
            )
        ]
        for key in self.grid:
            if not used.get(key, False):
                raise ArgumentError(
                    f'grid: "{key}" has no match{hint(key, used)}; write "learners.scale", "problems.states" and so on'
                )
        return found

    def _expanded(self, group: str, used: dict[str, bool]) -> Iterator[Component]:
        """The components of a group, each with every applicable combination of the grid.

        ``used`` gets the settings that a grid could name, and whether this one does.
        """
        axes = {key.partition(".")[2]: key for key in self.grid if key.partition(".")[0] == group}
        for place, component_spec in enumerate(getattr(self, group)):
            where = f"{group}[{place}]"
            entry = CATALOGS[group].entry(component_spec.use, where, self.plugins)
            used.update((f"{group}.{name}", name in axes) for name in entry.settings)
            mine = {name: key for name, key in axes.items() if name in entry.settings}
            for values in itertools.product(*(self.grid[key] for key in mine.values())):
                chosen = dict(zip(mine, values, strict=True))
                settings = entry.checked_settings({**component_spec.settings, **chosen}, where)
                label = component_spec.label or component_spec.use.rpartition(":")[2]
                extra = ", ".join(f"{name} {value}" for name, value in chosen.items())
                yield Component(component_spec.use, settings, f"{label} ({extra})" if extra else label)

    def _code(self, run: RunSpec, known: dict[str, str | None]) -> dict[str, str]:
        """What identifies the plug-ins and problem files of a run; ``known`` caches that of earlier runs."""
        found: dict[str, str | None] = {}
        for group, name in GROUPS.items():
            component = getattr(run, name)
            key = json.dumps([group, component.as_json()], sort_keys=True)
            if key not in known:
                known[key] = component_code(group, component, self.plugins)
            found[name] = known[key]
        return {name: code for name, code in found.items() if code is not None}


def json_schema() -> dict[str, Any]:
    """The JSON Schema of experiment files, for editors; the catalog names are listed in it."""
    schema = ExperimentSpec.model_json_schema()
    for group, names in CATALOGS.items():
        schema["properties"][group]["x-names"] = {
            entry.name: {"summary": entry.summary, "settings": entry.settings} for entry in names.entries.values()
        }
    return schema


@contextmanager
def _file_in_errors(path: str | PathLike[str]) -> Iterator[None]:
    """Errors name the file."""
    try:
        yield
    except InputError as error:
        raise ArgumentError(f"{path}: {error}") from None


def _toml(path: str | PathLike[str]) -> dict[str, Any]:
    content = read_bytes(path, _MAX_BYTES, remedy="no experiment is as large", unpack=False)
    try:
        return toml_values(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ArgumentError(f"not a TOML file: {error}") from None


def _check_sizes(spec: ExperimentSpec) -> None:
    """Generous limits, so that a typo does not exhaust memory."""
    for name, most in (("episodes", 2**31 - 1), ("step_limit", 2**62)):
        if getattr(spec, name) > most:
            raise ArgumentError(f"{name} is {getattr(spec, name)}; at most {most} can be played")
    if isinstance(spec.seeds, int) and spec.seeds > MAX_RUNS:
        raise ArgumentError(
            f"seeds is {spec.seeds}: it is how many seeds there are, at most {MAX_RUNS}; name single ones as a list, "
            f"seeds = [{spec.seeds}]"
        )
    seeds = spec.seeds if isinstance(spec.seeds, int) else len(spec.seeds)
    values = prod(max(1, len(one)) for one in spec.grid.values())
    runs = len(spec.problems) * len(spec.contexts) * len(spec.learners) * values * seeds
    if runs > MAX_RUNS:
        raise ArgumentError(
            f"this experiment has up to {runs} runs; at most {MAX_RUNS} fit in one, cut it into several"
        )


def _set(content: dict[str, Any], key: str, value: Any) -> None:
    """Set a key; ``learners.scale`` sets it in every learner, ``learners.0.scale`` in the first."""
    name, dot, rest = key.partition(".")
    if not dot:
        content[name] = value
        return
    if name in ("grid", "quick"):
        table = content.setdefault(name, {})
        if isinstance(table, dict):  # anything else is rejected by the validation
            table[rest] = value
        return
    component_specs = content.get(name)
    if not isinstance(component_specs, list) or not all(
        isinstance(component_spec, dict) for component_spec in component_specs
    ):
        raise ArgumentError(f'"{key}" cannot be set: the file has no [[{name}]]')
    place, dot, setting = rest.partition(".")
    if dot and place.isdecimal():
        if int(place) >= len(component_specs):
            raise ArgumentError(f'"{key}" cannot be set: the file has {len(component_specs)} {name}')
        component_specs, rest = [component_specs[int(place)]], setting
    for component_spec in component_specs:
        component_spec[rest] = value


_POSITIVE_INT = "a whole number, 1 or more"
_TABLES = 'tables, such as [[{key}]] with use = "..."'
_EXPECTED: Mapping[str, str] = {
    "name": "letters, digits, - and _, 64 at most, as it names a folder",
    "question": "text",
    "episodes": _POSITIVE_INT,
    "seeds": f"{_POSITIVE_INT}, or a list of whole numbers, 0 or more, such as [3, 5]",
    "step_limit": _POSITIVE_INT,
    "losses": 'a word such as "bernoulli", or a table such as { law = "bounded", spread = 0.5 }',
    "problems": _TABLES.format(key="problems"),
    "learners": _TABLES.format(key="learners"),
    "contexts": _TABLES.format(key="contexts"),
    "grid": 'a table such as { "learners.scale" = [1.0, 0.1] }',
    "quick": "a table such as { episodes = 50, seeds = 1 }",
}
"""What each key of a file is."""
_COMPONENT_KEYS = {"use": "a name of the catalog, or an import path package.module:function", "label": "text"}


def _first_error(error: ValidationError, content: Mapping[str, Any]) -> str:
    """The first error to fix: an unknown key comes before a missing one, of which it may be a misspelling."""
    errors = error.errors(include_url=False, include_context=False)
    for kind in ("extra_forbidden", "missing"):
        for one in errors:
            if one["type"] == kind:
                return _unknown(one["loc"]) if kind == "extra_forbidden" else _missing(one["loc"], content)
    key = errors[0]["loc"][0]
    places = [_path(one["loc"], content) for one in errors if one["loc"][0] == key]
    deepest = max(places, key=len)  # among the alternatives of a union, the one that matches deepest
    return f"{_path_text(deepest)} is {_value_at(content, deepest)!r:.80}; it is {_expected(deepest)}"


def _check_quick(changes: Any) -> None:
    """The keys that ``--quick`` changes are keys of the file."""
    for key in changes if isinstance(changes, Mapping) else ():
        name = str(key).partition(".")[0]
        if name not in _EXPECTED:
            raise ArgumentError(f"quick: {_unknown([name])}")


def _unknown(loc: Sequence[Any]) -> str:
    key = str(loc[-1])
    return f'there is no key "{key}"{hint(key, _EXPECTED)}; the keys are {", ".join(_EXPECTED)}'


def _missing(loc: Sequence[Any], content: Mapping[str, Any]) -> str:
    table, key = _path(loc[:-1], content), str(loc[-1])
    if not table:
        return f'"{key}" is missing; it is {_EXPECTED[key]}'
    misspelled = [name for name in _value_at(content, table) if hint(key, [name])]
    guess = f' (did you mean it by "{misspelled[0]}"?)' if misspelled else ""
    return f'{_path_text(table)} has no "{key}"{guess}; it is {_COMPONENT_KEYS[key]}'


def _path(loc: Iterable[Any], content: Any) -> tuple[Any, ...]:
    """The keys and numbers that lead to a value. Others, such as names of types, are skipped."""
    place = []
    for part in loc:
        is_key = isinstance(content, Mapping) and part in content
        if is_key or (isinstance(content, list) and isinstance(part, int) and part < len(content)):
            place.append(part)
            content = content[part]
    return tuple(place)


def _value_at(content: Any, place: Iterable[Any]) -> Any:
    for part in place:
        content = content[part]
    return content


def _path_text(place: Sequence[Any]) -> str:
    """As people write it: ``learners[0].use``."""
    first, *rest = place
    parts = [f"[{part}]" if isinstance(part, int) else f".{_toml_key(str(part))}" for part in rest]
    return "".join([_toml_key(str(first)), *parts])


def _toml_key(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name, ensure_ascii=False)


def _expected(place: Sequence[Any]) -> str:
    first, rest = place[0], place[1:]
    if first in ("problems", "learners", "contexts") and rest:
        return _COMPONENT_KEYS[rest[1]] if len(rest) > 1 else 'a table with use = "..."'
    if first == "grid" and rest:
        return "a list of values, at least one, such as [1.0, 0.1]"
    return _EXPECTED[first]
