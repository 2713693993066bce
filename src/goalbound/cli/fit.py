"""``goalbound fit``: a learner from a log, and a page about the log."""

from __future__ import annotations

import json
import tomllib
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from goalbound.cli.arguments import UsageError
from goalbound.errors import ArgumentError, FileFormatError
from goalbound.logs import Log, LogColumns, read_log
from goalbound.models import LinearCSSP, LossScale, Support
from goalbound.models.files.io import as_format_errors, atomic_write, read_bytes
from goalbound.models.validation import check_float, short_repr
from goalbound.terminal import one_line, pluralize

if TYPE_CHECKING:
    from goalbound.adapters.covariates import CovariateMap

MOST_BYTES = 2**20
"""Of a file that says how a log is read."""
DEFAULT_LEARNER = "lr-cssp"
UNFIT = {
    "clairvoyant": "it knows the problem, and a log is no problem",
    "random": "it learns nothing",
    "ulcvi": "it needs a bound on the steps of optimal policies, which only the problem itself has",
}
"""Learners that cannot be fitted to a log, and why."""
_KEYS = ("goal", "errors", "support", "columns", "loss", "map", "learner")
_LOSS_KEYS = ("unit", "cap", "beyond", "floor")


@dataclass(frozen=True)
class FitOptions:
    """How a log is read and what is learned from it, from a file and from the command line.

    Attributes:
        columns: the names of the columns.
        goal: what the log calls the goal.
        errors: "raise" or "skip".
        support: given, or None: inferred.
        map: of the covariates, or None.
        scale: the unit of the losses, or None.
        floor: the loss floor, in the unit; learners need one.
        learner: its name in the registry.
        settings: its settings.
    """

    columns: LogColumns
    goal: str
    errors: Any
    support: Support | None
    map: CovariateMap | None
    scale: LossScale | None
    floor: float | None
    learner: str
    settings: Mapping[str, Any]


def run(arguments: Namespace) -> int:
    """Read the log, write the page, learn, save the learner."""
    if arguments.out is None and arguments.report is None:
        raise UsageError("nothing to write: give --out FILE.npz for the learner, --report PAGE.html, or both")
    options = fit_options(arguments)
    log = read_log(
        arguments.log, columns=options.columns, goal=options.goal, support=options.support, covariate_map=options.map,
        loss_scale=options.scale, errors=options.errors,
    )  # fmt: skip
    if arguments.report is not None:
        from goalbound.cli.log_page import log_page

        with atomic_write(arguments.report) as file:
            file.write(log_page(log, title=Path(arguments.log).name).encode("utf-8"))
    learner = None if arguments.out is None else fitted(log, options, seed=arguments.seed)
    if learner is not None:
        learner.save(arguments.out, overwrite=arguments.overwrite)
    if arguments.json:
        said = {"report": arguments.report, "out": arguments.out, "learner": None if learner is None else str(learner)}
        print(json.dumps({**log.report().as_json(), **said}, indent=2, allow_nan=False))
        return 0
    print(log.summary())
    if learner is not None:
        print(f"\n{one_line(arguments.out)}: {learner}, after {pluralize(len(log), 'step')}")
    if arguments.report is not None:
        print(f"{one_line(arguments.report)}: a page about the log")
    return 0


def fitted(log: Log, options: FitOptions, *, seed: int) -> Any:
    """The learner that was named, after all steps of the log; around it the unit, and the map of its covariates."""
    from goalbound.adapters.covariates import CovariateLearner
    from goalbound.learners.loss_units import InUnits

    learner = _made(log, options, seed)
    if not callable(getattr(learner, "learn_log", None)):
        raise ArgumentError(f"{options.learner} cannot learn from steps that others chose; name another with --learner")
    if options.scale is not None:
        learner = InUnits(learner, options.scale)
    learner.learn_log(log)
    return learner if options.map is None else CovariateLearner(options.map, learner)


def _made(log: Log, options: FitOptions, seed: int) -> Any:
    from goalbound.experiments.plugins import NO_PLUGINS
    from goalbound.experiments.registry import LEARNERS, Component, instantiate

    name = options.learner
    if name in UNFIT:
        raise ArgumentError(f"{name} cannot be fitted to a log: {UNFIT[name]}; name another with --learner")
    entry = LEARNERS.entry(name, "learner")
    known: dict[str, Any] = {"loss_floor": _loss_floor(options), "loss_bound": "doubling"}
    if name == DEFAULT_LEARNER:
        known["widths"] = "sharp"
    defaults = {key: value for key, value in known.items() if key in entry.settings}
    settings = entry.checked_settings({**defaults, **options.settings}, "learner")
    for key, value in settings.items():
        if value == "certified":
            raise ArgumentError(f"learner.{key} is certified, which only the problem itself could be; give a number")
    return instantiate(
        "learners", Component(name, settings), NO_PLUGINS, _placeholder(log), episodes=max(log.cases, 1),
        rng=np.random.default_rng(seed),
    )  # fmt: skip


def _placeholder(log: Log) -> LinearCSSP:
    """A problem with the support of the log, and nothing else of it: learners take no more from it."""
    sizes = np.diff(log.support.next_start)
    rows = np.repeat(1.0 / sizes, sizes)
    return LinearCSSP(
        log.support, np.ones((log.support.pairs, log.context_size)), np.tile(rows[:, None], (1, log.context_size))
    )


def _loss_floor(options: FitOptions) -> float:
    if options.floor is None:
        raise ArgumentError(
            "the loss floor is missing: the least mean loss of a step that you are sure of, in the unit of the losses; "
            "give --loss-floor"
        )
    floor = options.floor if options.scale is None else options.floor / options.scale.cap
    if not 0.0 < floor <= 1.0:
        unit = "" if options.scale is None else f" {options.scale.unit}"
        raise ArgumentError(
            f"the loss floor {options.floor:g}{unit} is not above 0 and at most the cap; see --loss-floor"
        )
    return floor


def fit_options(arguments: Namespace) -> FitOptions:
    """All that the file and the options say; options go first."""
    values = {} if arguments.map is None else _read_options(arguments.map)
    loss = _table(values, "loss", _LOSS_KEYS)
    given = {"unit": arguments.unit, "cap": arguments.cap, "beyond": arguments.beyond, "floor": arguments.loss_floor}
    loss |= {key: value for key, value in given.items() if value is not None}
    learner = dict(_table(values, "learner", None))
    name = arguments.learner or learner.pop("use", DEFAULT_LEARNER)
    learner.pop("use", None)
    return FitOptions(
        _columns(values, arguments), _first(arguments.goal, values.get("goal"), "goal"),
        _first(arguments.errors, values.get("errors"), "raise"),
        _support(_first(arguments.support, values.get("support"), None)), _map(values), _scale(loss),
        None if "floor" not in loss else check_float(loss["floor"], "the loss floor", "in the unit of the losses"),
        str(name),
        {**learner, **_settings(arguments.settings)},
    )  # fmt: skip


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _read_options(path: str) -> dict[str, Any]:
    with as_format_errors(path, "TOML"):
        text = read_bytes(path, MOST_BYTES, remedy="a file of options is small", unpack=False)
        try:
            values = tomllib.loads(text.decode("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise FileFormatError(f"not a TOML file: {error}") from None
        _check_keys(values, _KEYS, "")
    return values


def _check_keys(values: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in values:
        if key not in known:
            raise ArgumentError(f"{where}{short_repr(key)} is no key; there are {', '.join(known)}")


def _table(values: Mapping[str, Any], name: str, known: Sequence[str] | None) -> dict[str, Any]:
    found = values.get(name, {})
    if not isinstance(found, dict):
        raise ArgumentError(f"{name} is {short_repr(found)}; it is a table, [{name}]")
    if known is not None:
        _check_keys(found, known, f"[{name}] ")
    return dict(found)


def _columns(values: Mapping[str, Any], arguments: Namespace) -> LogColumns:
    names = tuple(one.name for one in fields(LogColumns))
    given = {name: getattr(arguments, f"column_{name}") for name in names}
    chosen = {**_table(values, "columns", names), **{key: one for key, one in given.items() if one is not None}}
    if chosen.get("time") == "":
        chosen["time"] = None
    if given["context"] is not None and given["covariates"] is None:
        chosen["covariates"] = ()
    return LogColumns(**chosen)


def _scale(loss: Mapping[str, Any]) -> LossScale | None:
    if "unit" not in loss and "cap" not in loss:
        return None
    if "cap" not in loss:
        raise ArgumentError("a unit needs a cap, how many of it are a loss of 1; give --cap")
    return LossScale(loss.get("unit", "unit"), loss["cap"], loss.get("beyond", "refuse"))


def _map(values: Mapping[str, Any]) -> CovariateMap | None:
    from goalbound.adapters.covariates import map_from_settings

    return map_from_settings(_table(values, "map", None)) if "map" in values else None


def _support(source: Any) -> Support | None:
    """That of a problem by name, or of a file."""
    from goalbound.models.files import load
    from goalbound.problems.catalog import CATALOG, catalog_entry

    if source is None:
        return None
    if not isinstance(source, str):
        raise ArgumentError(f"support is {short_repr(source)}; it is the file or the name of a problem")
    known = source in CATALOG or not Path(source).suffix
    return catalog_entry(source).make().support if known else load(source).support


def _settings(words: Sequence[str]) -> dict[str, Any]:
    """Settings of the learner from words ``key=value``; a value is as in TOML, or a text."""
    found: dict[str, Any] = {}
    for word in words:
        key, equals, text = (part.strip() for part in word.partition("="))
        if not equals or not key:
            raise UsageError(f'"{word}" is not a setting; write name=value')
        try:
            found[key] = tomllib.loads(f"value = {text}")["value"]
        except (tomllib.TOMLDecodeError, ValueError):
            found[key] = text
    return found
