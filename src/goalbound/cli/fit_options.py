"""How ``goalbound fit`` reads a log, and which learner it makes: from a file and from the command line."""

from __future__ import annotations

import json
import tomllib
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goalbound.cli.arguments import UsageError, parser
from goalbound.cli.problems import is_learner_file
from goalbound.errors import ArgumentError, FileFormatError, InputError
from goalbound.logs import Log, LogColumns, read_log
from goalbound.logs.log import SUPPORT_INFERRED
from goalbound.models import LossScale, Support
from goalbound.models.files.io import as_format_errors, read_bytes
from goalbound.models.validation import check_float, short_repr
from goalbound.terminal import one_line, pluralize

if TYPE_CHECKING:
    from goalbound.adapters.covariates import CovariateMap

MOST_BYTES = 2**20
"""Of a file that says how a log is read."""
DEFAULT_LEARNER = "lr-cssp"
_KEYS = ("goal", "errors", "support", "columns", "loss", "map", "learner", "guard", "monitor")
_LOSS_KEYS = ("unit", "cap", "beyond", "floor")
_GUARD_KEYS = ("runbook", "after_steps", "after_loss")
_MONITOR_KEYS = ("run_length", "window")


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
        guard: the arguments of a :class:`~goalbound.Guarded` around it, the loss in the unit; None: there is none.
        monitor: those of a :class:`~goalbound.Monitored` around both; None: there is none.
        support_caveats: why a support that was taken from a learner proves nothing.
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
    guard: Mapping[str, Any] | None = None
    monitor: Mapping[str, Any] | None = None
    support_caveats: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """The unit after a number, with a space before it; empty without one."""
        return "" if self.scale is None else f" {self.scale.unit}"

    def read(self, path: str) -> Log:
        """Read the log."""
        return read_log(
            path,
            columns=self.columns,
            goal=self.goal,
            support=self.support,
            covariate_map=self.map,
            loss_scale=self.scale,
            errors=self.errors,
        )


def is_fit_file(values: Mapping[str, Any], others: Iterable[str]) -> bool:
    """Whether the content of a TOML file is that of ``--map``, and has none of the keys of ``others``."""
    return any(key in values for key in _KEYS) and not any(key in values for key in others)


def described(path: str) -> str:
    """What a file of ``--map`` says, checked."""
    options = fit_options(parser().parse_args(["fit", "LOG", f"--map={path}"]))
    parts = [f"goal {short_repr(options.goal)}"]
    if options.scale is not None:
        parts.append(f"losses in {one_line(options.scale.unit)}, cap {options.scale.cap:g}")
    if options.map is not None:
        parts.append(f"map {type(options.map).__name__} of {pluralize(options.map.context_size, 'component')}")
    parts.append(f"learner {one_line(options.learner)}")
    name = one_line(path)
    return f"{name}: a file of goalbound fit; {', '.join(parts)}; goalbound fit LOG --map {name} uses it"


def fit_options(arguments: Namespace) -> FitOptions:
    """All that the file and the options say; options go first."""
    values = {} if arguments.map is None else _read_options(arguments.map)
    loss = _table(values, "loss", _LOSS_KEYS)
    given = {"unit": arguments.unit, "cap": arguments.cap, "beyond": arguments.beyond, "floor": arguments.loss_floor}
    loss |= {key: value for key, value in given.items() if value is not None}
    learner = _table(values, "learner", None)
    name = learner.pop("use", DEFAULT_LEARNER)
    goal = _first(arguments.goal, values.get("goal"), "goal")
    support, caveats = _support(_first(arguments.support, values.get("support"), None), goal)
    options = FitOptions(
        columns=_columns(values, arguments),
        goal=goal,
        errors=_first(arguments.errors, values.get("errors"), "raise"),
        support=support,
        map=_map(values, arguments.map),
        scale=_scale(loss),
        floor=check_float(loss["floor"], "the loss floor", "in the unit of the losses") if "floor" in loss else None,
        learner=arguments.learner or str(name),
        settings={**learner, **_settings(arguments.settings)},
        guard=_table(values, "guard", _GUARD_KEYS) if "guard" in values else None,
        monitor=_table(values, "monitor", _MONITOR_KEYS) if "monitor" in values else None,
        support_caveats=caveats,
    )
    if options.map is not None and not options.columns.covariates:
        raise UsageError(
            "there is a map, and no covariates; name the columns that it reads with --covariates, or with covariates = "
            "[...] under [columns] in the file of --map"
        )
    if options.map is None and options.columns.covariates:
        raise UsageError(
            "covariates are named, and there is no map that makes contexts of them; write one as [map] in the file of "
            "--map"
        )
    return options


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _read_options(path: str) -> dict[str, Any]:
    values = _read_toml(path)
    with as_format_errors(path, "TOML"):
        _check_keys(values, _KEYS, "")
    return values


def _read_toml(path: str) -> dict[str, Any]:
    with as_format_errors(path, "TOML"):
        text = read_bytes(path, MOST_BYTES, remedy="a file of options is small", unpack=False)
        try:
            return tomllib.loads(text.decode("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise FileFormatError(f"not a TOML file: {error}") from None


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
    names = tuple(field.name for field in fields(LogColumns))
    given = {name: getattr(arguments, f"column_{name}") for name in names}
    given = {name: column for name, column in given.items() if column not in (None, [])}
    columns = {**_table(values, "columns", names), **given}
    if columns.get("time") == "":
        columns["time"] = None
    if "context" in given and "covariates" not in given:
        columns["covariates"] = ()
    return LogColumns(**columns)


def _scale(loss: Mapping[str, Any]) -> LossScale | None:
    if "unit" not in loss and "cap" not in loss:
        return None
    if "cap" not in loss:
        raise ArgumentError("a unit needs a cap, how many of it are a loss of 1; give --cap")
    return LossScale(loss.get("unit", "unit"), loss["cap"], loss.get("beyond", "refuse"))


def _map(values: Mapping[str, Any], path: str) -> CovariateMap | None:
    from goalbound.adapters.covariates import map_from_settings

    if "map" not in values:
        return None
    try:
        return map_from_settings(_table(values, "map", None))
    except InputError as error:
        raise FileFormatError(f"{path}: [map] {error}") from None


def named_maps(path: str) -> dict[str, CovariateMap]:
    """The maps of a file of ``--compare``, by name."""
    from goalbound.adapters.covariates import map_from_settings

    found = {}
    for name, settings in _read_toml(path).items():
        try:
            found[name] = map_from_settings(settings)
        except InputError as error:
            raise FileFormatError(f"{path}: [{name}] {error}") from None
    if not found:
        raise FileFormatError(f"{path}: the file has no map; write maps by name, [coarse] with kind = ...")
    return found


def _support(source: Any, goal: Any) -> tuple[Support | None, tuple[str, ...]]:
    """That of a problem by name, or of a file, or a table of states, their actions and the next states of these.

    Also why it proves nothing, where it is that of a learner and was inferred from a log.
    """
    from goalbound.adapters.learner_files import load_learner
    from goalbound.learners.layers import unwrap
    from goalbound.models.files import load
    from goalbound.problems.catalog import CATALOG, catalog_entry

    if source is None:
        return None, ()
    if isinstance(source, dict):
        try:
            return Support.from_names(source, goal=goal), ()
        except InputError as error:
            raise type(error)(str(error).replace("pairs", "[support]", 1)) from None
    if not isinstance(source, str):
        raise ArgumentError(
            f"support is {short_repr(source)}; it is the file or the name of a problem, the file of a learner, or a "
            "table [support]"
        )
    if source in CATALOG or not Path(source).suffix:
        return catalog_entry(source).make().support, ()
    if not is_learner_file(source):
        return load(source).support, ()
    learner = unwrap(load_learner(source))
    caveats = getattr(learner, "caveats", ())
    return learner.support, tuple(caveat for caveat in caveats if caveat.startswith(SUPPORT_INFERRED))


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


def support_table(support: Support) -> str:
    """A support as the tables of a file of ``--map``: to be completed by hand."""
    lines = [
        "# Where actions led. Add where else they can lead, and put it at the end of the file of --map; the goal is",
        f"# goal = {_toml_text(support.goal_name)} there.",
    ]
    states = support.state_names or tuple(map(str, range(support.states)))
    actions = support.action_names or tuple(map(str, range(support.actions)))
    following = (*states, support.goal_name)
    for state, name in enumerate(states):
        lines += ["", f"[support.{_toml_text(name)}]"]
        for pair in range(support.pair_start[state], support.pair_start[state + 1]):
            to = ", ".join(_toml_text(following[one]) for one in support.next_state[support.row(pair)])
            lines.append(f"{_toml_text(actions[support.pair_action[pair]])} = [{to}]")
    return "\n".join(lines) + "\n"


def _toml_text(name: str) -> str:
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
