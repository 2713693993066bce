"""``goalbound fit``: a learner from a log, and a page about the log."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, simplefilter

import numpy as np

from goalbound.cli.arguments import UsageError
from goalbound.cli.fit_options import DEFAULT_LEARNER, FitOptions, fit_options, named_maps, support_table
from goalbound.cli.text import caveats_of
from goalbound.errors import ArgumentError, ChangeWarning, FileConflictError
from goalbound.learners.border import give_unit
from goalbound.logs import Log, MapComparison, PairBelowFloor, compare_maps, pairs_below_floor
from goalbound.models import LinearCSSP
from goalbound.models.files.io import atomic_write
from goalbound.terminal import console, one_line, pluralize

if TYPE_CHECKING:
    from goalbound.adapters.covariates import CovariateMap

SHOWN = 10
"""Skipped rows that are printed; JSON and the page have more."""
FEW = 4
"""Pairs below the loss floor that a warning lists."""
UNFIT = {
    "clairvoyant": "it knows the problem, and a log is no problem",
    "random": "it learns nothing",
    "ulcvi": "it needs a bound on the steps of optimal policies, which only the problem itself has",
}
"""Learners that cannot be fitted to a log, and why."""


def run(arguments: Namespace) -> int:
    """Read the log, write the page, learn, save the learner."""
    outputs = (arguments.out, arguments.report, arguments.support_out, arguments.chart)
    written = [path for path in outputs if path is not None]
    if arguments.chart is not None and arguments.compare is None:
        raise UsageError("--chart is the chart of --compare; give --compare MAPS.toml too")
    if not written and arguments.compare is None:
        raise UsageError(
            "nothing to do: give --out FILE.npz for the learner, --report PAGE.html, or --compare MAPS.toml"
        )
    for path in written:
        _check_folder(Path(path))
    options = fit_options(arguments)
    maps = {} if arguments.compare is None else _compared_maps(options, arguments.compare)
    log = options.read(arguments.log)
    if arguments.since is not None or arguments.until is not None:
        log = _window(log, arguments)
    warnings = [*_support_warnings(log, arguments), *_floor_warnings(log, options)]
    if arguments.support_out is not None:
        _write_text(arguments.support_out, support_table(log.support))
    if arguments.report is not None:
        from goalbound.cli.log_page import log_page

        _write_text(arguments.report, log_page(log, title=Path(arguments.log).name, warnings=warnings))
    comparison = _compared(log, maps, arguments) if maps else None
    learner = None if arguments.out is None else fitted(log, options, seed=arguments.seed)
    if learner is not None:
        try:
            learner.save(arguments.out, overwrite=arguments.overwrite)
        except FileConflictError:
            raise UsageError(f"{arguments.out} exists; write elsewhere, or replace it with --overwrite") from None
    if arguments.json:
        compared = {} if comparison is None else {"comparison": comparison.as_json()}
        print(json.dumps({**_as_json(log, warnings, learner, arguments), **compared}, indent=2, allow_nan=False))
    else:
        print("\n".join(_lines(log, warnings, learner, arguments)))
        if comparison is not None:
            print(f"\n{comparison}")
        if arguments.chart is not None:
            print(f"{one_line(arguments.chart)}: the chart of the comparison")
    return 0


def _compared_maps(options: FitOptions, path: str) -> dict[str, CovariateMap | None]:
    """The maps of ``--compare``, that of ``--map`` and none."""
    if options.map is None:
        raise UsageError(
            "--compare needs covariates and the map that you have now: [columns] and [map] in the file of --map"
        )
    return {"none": None, "map": options.map, **named_maps(path)}


def _compared(log: Log, maps: dict[str, CovariateMap | None], arguments: Namespace) -> MapComparison:
    """The maps side by side, and the chart."""
    from rich.progress import Progress

    with Progress(console=console(sys.stderr), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("learners of held-out cases", total=None)
        comparison = compare_maps(
            log,
            maps,
            rng=np.random.default_rng(arguments.seed),
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    if arguments.chart is not None:
        try:
            comparison.plot().figure.savefig(arguments.chart, dpi=160, bbox_inches="tight")
        except ValueError as error:
            raise UsageError(f"{arguments.chart}: {error}; write to .png, .svg or .pdf") from None
    return comparison


def _check_folder(path: Path) -> None:
    """An error unless a file can be written there: before the log is read, and without names of temporary files."""
    folder = path.parent
    if not folder.is_dir():
        problem = "is no folder" if folder.exists() else "does not exist"
        raise UsageError(f"{path}: the folder {folder} {problem}; make it first, or write elsewhere")


def _window(log: Log, arguments: Namespace) -> Log:
    """The steps from --since on, before --until."""
    window = log.window(since=arguments.since, until=arguments.until)
    if not len(window):
        assert log.times is not None
        raise ArgumentError(
            f"no step of the log is in the window; its steps are from {log.times[0]} to {log.times[-1]}: see --since, "
            "--until"
        )
    return window


def _write_text(path: str, text: str) -> None:
    with atomic_write(path) as file:
        file.write(text.encode("utf-8"))


def _changes(log: Log, learner: Any) -> list[str]:
    """What a monitor noticed in the log, with the times of the change and of the alarm if the log has times."""
    alarms, times = getattr(learner, "alarms", ()), log.times
    if times is None:
        return [str(alarm) for alarm in alarms]
    return [f"{times[alarm.since_step]} to {times[alarm.step - 1]}: {alarm}" for alarm in alarms]


def _as_json(log: Log, warnings: Sequence[str], learner: Any, arguments: Namespace) -> dict[str, Any]:
    """The report of the log, all skipped rows, and what was written."""
    report = log.report().as_json()
    return {
        **report,
        "warnings": [*report["warnings"], *warnings],
        "skipped_rows": [row._asdict() for row in log.skipped],
        "report": arguments.report,
        "support_out": arguments.support_out,
        "out": arguments.out,
        "learner": None if learner is None else str(learner),
        "changes": _changes(log, learner),
        "caveats": list(caveats_of(learner)),
    }


def _lines(log: Log, warnings: Sequence[str], learner: Any, arguments: Namespace) -> list[str]:
    lines = [log.summary(), *(f"- {warning}" for warning in warnings)]
    if log.skipped:
        lines += ["\nskipped rows:", *(f"  {one_line(str(row))}" for row in log.skipped[:SHOWN])]
        if len(log.skipped) > SHOWN:
            lines.append(f"  ... and {len(log.skipped) - SHOWN} more; --json lists all")
    if learner is not None:
        lines.append(f"\n{one_line(arguments.out)}: {learner}, after {pluralize(len(log), 'step')}")
        lines += [f"- {change}" for change in _changes(log, learner)]
        if caveats := caveats_of(learner):
            lines.append(f"nothing of it is proven: {one_line('; '.join(caveats))}")
    if arguments.report is not None:
        lines.append(f"{one_line(arguments.report)}: a page about the log")
    if arguments.support_out is not None:
        lines.append(f"{one_line(arguments.support_out)}: the support, as tables of a file of --map")
    return lines


def _support_warnings(log: Log, arguments: Namespace) -> list[str]:
    if not log.support_inferred or arguments.support_out is not None:
        return []
    return ["--support-out FILE.toml writes the support that was inferred as tables to complete, for the file of --map"]


def _floor_warnings(log: Log, options: FitOptions) -> list[str]:
    low = _below_floor(log, options)
    sure, maybe = ([pair for pair in low if pair.contradicts is is_sure] for is_sure in (True, False))
    floor = "" if options.floor is None else f"{options.floor:g}{options.unit}"
    warnings = []
    if sure:
        warnings.append(
            f"the losses contradict the loss floor ({floor}), the least mean loss that was declared; "
            f"mean losses are {_listed(sure)}. No bound is valid: lower the floor, --loss-floor"
        )
    if maybe:
        warnings.append(
            f"mean losses below the loss floor ({floor}), perhaps by chance: {_listed(maybe)}. If you "
            "are not sure of the floor, lower it: --loss-floor"
        )
    return warnings


def _below_floor(log: Log, options: FitOptions) -> Sequence[PairBelowFloor]:
    """The pairs whose mean loss is below the floor, where one was given."""
    return () if options.floor is None else pairs_below_floor(log, _loss_floor(options))


def _listed(pairs: Sequence[PairBelowFloor]) -> str:
    more = f" and {len(pairs) - FEW} more" if len(pairs) > FEW else ""
    return "; ".join(map(str, pairs[:FEW])) + more


def fitted(log: Log, options: FitOptions, *, seed: int) -> Any:
    """The learner that was named, after all steps of the log; in the unit, with its guard, its monitor and its map."""
    from goalbound.adapters.covariates import CovariateLearner
    from goalbound.learners.layers import unwrap

    learner = _made(log, options, seed)
    if not callable(getattr(learner, "learn_log", None)):
        raise ArgumentError(f"{options.learner} cannot learn from steps that others chose; name another with --learner")
    if not give_unit(learner, options.scale):
        raise ArgumentError(f"{options.learner} has no unit of losses; leave out --unit, or name another --learner")
    learner = _watched(learner, options)
    with catch_warnings():
        simplefilter("ignore", ChangeWarning)  # it is printed
        learner.learn_log(log)
    inner = unwrap(learner)
    if any(pair.contradicts for pair in _below_floor(log, options)) and hasattr(inner, "add_caveat"):
        inner.add_caveat("the losses of the log contradict the loss floor that was declared")
    for caveat in options.support_caveats:
        inner.add_caveat(caveat)
    return learner if options.map is None else CovariateLearner(options.map, learner)


def _watched(learner: Any, options: FitOptions) -> Any:
    """A learner with what the tables [guard] and [monitor] put around it, before it learns anything."""
    from goalbound.around.monitor import Monitored
    from goalbound.around.runbook import Guarded

    if options.guard is not None:
        given = {"runbook": {}, **options.guard}
        if "after_loss" in given and options.scale is not None:
            given["after_loss"] = options.scale.total_from_unit(given["after_loss"])
        learner = Guarded(learner, **given)
    return learner if options.monitor is None else Monitored(learner, **options.monitor)


def _made(log: Log, options: FitOptions, seed: int) -> Any:
    from goalbound.confidence.widths import FASTEST_RULE
    from goalbound.experiments.plugins import NO_PLUGINS
    from goalbound.experiments.registry import LEARNERS, Component, instantiate
    from goalbound.experiments.registry.warm_start import ANY_LOG

    name = options.learner
    if name in UNFIT:
        raise ArgumentError(f"{name} cannot be fitted to a log: {UNFIT[name]}; name another with --learner")
    entry = LEARNERS.entry(name, "learner")
    defaults: dict[str, Any] = {"loss_floor": _loss_floor(options), "loss_bound": "doubling"}
    if name == DEFAULT_LEARNER:
        defaults["widths"] = FASTEST_RULE
    known = {key: value for key, value in defaults.items() if key in entry.settings}
    settings = entry.checked_settings({**known, **options.settings}, "learner")
    for key, value in settings.items():
        if value == "certified":
            raise ArgumentError(f"learner.{key} is certified, which only the problem itself could be; give a number")
    component, rng = Component(name, settings), np.random.default_rng(seed)
    episodes = max(log.cases, 1)
    return instantiate(
        "learners", component, NO_PLUGINS, _placeholder(log), episodes=episodes, log_law=ANY_LOG, rng=rng
    )


def _placeholder(log: Log) -> LinearCSSP:
    """A problem with the support of the log and nothing else of it: learners take no more from it."""
    sizes = np.diff(log.support.next_start)
    rows = np.repeat(1.0 / sizes, sizes)
    losses = np.ones((log.support.pairs, log.context_size))
    return LinearCSSP(log.support, losses, np.tile(rows[:, None], (1, log.context_size)))


def _loss_floor(options: FitOptions) -> float:
    """The floor as a loss in (0, 1]."""
    if options.floor is None:
        raise ArgumentError(
            "the loss floor is missing: the least mean loss of a step that you are sure of, in the unit of the losses; "
            "give --loss-floor"
        )
    floor = options.floor if options.scale is None else options.floor / options.scale.cap
    if not 0.0 < floor <= 1.0:
        raise ArgumentError(
            f"the loss floor {options.floor:g}{options.unit} is not above 0 and at most the cap; see --loss-floor"
        )
    return floor
