"""``goalbound explore``: a page in which a context is dragged, of a problem, an experiment, a record or a learner."""

from __future__ import annotations

import errno
import os
import re
import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path

from goalbound.cli.arguments import UsageError
from goalbound.cli.problems import find_problem, is_learner_file
from goalbound.errors import ArgumentError
from goalbound.experiments.explorer.layout import make_layout
from goalbound.experiments.explorer.learner_views import LearnerCourse
from goalbound.experiments.explorer.page import explorer_page
from goalbound.experiments.explorer.runs import (
    ReplayOptions,
    chosen_runs,
    grid_of,
    recorded_course,
    replayed_course,
    run_problem,
)
from goalbound.experiments.plugins import Plugins
from goalbound.experiments.records import RunRecord
from goalbound.experiments.registry import Component, instantiate
from goalbound.experiments.registry.problems import PROBLEMS, problem_instance
from goalbound.experiments.run_spec import RunSpec
from goalbound.models import SSP, LinearCSSP
from goalbound.models.step import deterministic
from goalbound.problems.catalog import CATALOG
from goalbound.terminal import one_line, pluralize

Grid = tuple[int, int] | None
FILES = (".npz", ".umb", ".drn", ".toml", ".parquet")
"""The endings of files that can be explored."""


def run(arguments: Namespace) -> int:
    """Find out what is to be explored, write its page and print where it is."""
    path = Path(arguments.target)
    if path.suffix in FILES and not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), arguments.target)
    if path.is_dir() or path.suffix in (".toml", ".parquet"):
        _refuse(arguments, "a run", ["--loss", "--goal", "--set", "--truth"])
        title, page = _explore_runs(arguments)
    elif path.is_file() and is_learner_file(arguments.target):
        _refuse(arguments, "a learner", OF_RUNS)
        title, page = _explore_learner(arguments)
    else:
        _refuse(arguments, "a problem", [*OF_RUNS, "--truth", "--contexts"])
        title, page = _explore_problem(arguments)
    out = Path(arguments.out) if arguments.out else Path("out") / f"explore-{_slug(title)}.html"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page, encoding="utf-8")
    print(one_line(str(out)))
    return 0


OF_RUNS = ("--learner", "--seed", "--episodes", "--views", "--records", "--problem", "--plugin")
"""Options for runs of experiments."""
ATTRIBUTES = {"--set": "settings", "--learner": "learners", "--plugin": "plugins"}
"""Where the values of options are that have other names than they."""


def _refuse(arguments: Namespace, kind: str, options: Iterable[str]) -> None:
    """An error where an option was given that means nothing for what is explored."""
    for option in options:
        if getattr(arguments, ATTRIBUTES.get(option, option[2:])) not in (None, [], False):
            raise UsageError(f"{arguments.target} is {kind}; {option} is not for that")


def _slug(title: str) -> str:
    """A title as the name of a file.

    >>> _slug("windy-grid: 8 x 12")
    'windy-grid-8-x-12'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", title).strip("-.")[:60] or "problem"


def parse_grid(word: str | None) -> Grid:
    """Rows and columns.

    >>> parse_grid("4x12")
    (4, 12)
    """
    if word is None:
        return None
    found = re.fullmatch(r"(\d{1,4})x(\d{1,4})", word)
    if found is None:
        raise UsageError(f'--grid "{word}" is no grid; give rows x columns, such as 4x12')
    return int(found[1]), int(found[2])


def _explore_problem(arguments: Namespace) -> tuple[str, str]:
    name, grid = arguments.target, parse_grid(arguments.grid)
    if name in PROBLEMS.entries and name not in CATALOG:
        if arguments.settings or arguments.loss or arguments.goal:
            raise UsageError(f"{name} is a problem of experiments; --set, --loss and --goal are not for it")
        made = instantiate("problems", Component(name, {}, name), Plugins.of(()))
        problem, grid = problem_instance(made, deterministic(), name).problem, grid or grid_of(name, {})
    else:
        problem = _problem(arguments, name)
    title = Path(name).stem if Path(name).is_file() else " ".join([name, *arguments.settings])
    layout = make_layout(problem.support, grid=grid)
    if problem.context_size > 1:
        _say(f"{title}: searching for B* and T* over all contexts, {arguments.seconds:g} s at most (--seconds)")
    return title, explorer_page(problem, title=title, layout=layout, seconds=arguments.seconds)


def _problem(arguments: Namespace, name: str) -> LinearCSSP:
    """The problem of a name or file; one without context has one component."""
    problem = find_problem(Namespace(**{**vars(arguments), "problem": name}))
    return LinearCSSP.mix([problem]) if isinstance(problem, SSP) else problem


def _explore_runs(arguments: Namespace) -> tuple[str, str]:
    runs, records, times = _read_runs(arguments.target)
    chosen = chosen_runs(runs, problem=arguments.problem, learners=arguments.learners, seed=arguments.seed)
    recorded = {record.spec.id: record for record in records}
    plugins = Plugins.of(arguments.plugins, folder=_beside(arguments.target))
    views, contexts = arguments.views or ReplayOptions().views, arguments.contexts or ReplayOptions().contexts
    options = ReplayOptions(views, contexts, arguments.episodes, plugins)
    problem = run_problem(chosen[0], plugins=plugins)
    courses = []
    for spec in chosen:
        if arguments.records:
            course = _recorded(spec, recorded.get(spec.id))
        else:
            course = _replayed(spec, options, recorded.get(spec.id), times)
        if course is None:
            _say(f"{spec.learner.label}: it cannot say what it would do, and is left out")
        else:
            courses.append(course)
    if not courses:
        raise ArgumentError(f"{arguments.target}: no learner of it can say what it would do at a context")
    use, label = chosen[0].problem, f"{chosen[0].problem.label}, contexts {chosen[0].contexts.label}"
    layout = make_layout(problem.support, grid=parse_grid(arguments.grid) or grid_of(use.use, use.settings))
    return label, explorer_page(problem, title=label, courses=courses, layout=layout, seconds=arguments.seconds)


def _beside(target: str) -> Path:
    """Where plug-ins and problems of a run are, if not installed: beside the file of the experiment, else here."""
    return Path(target).parent if Path(target).suffix == ".toml" else Path()


def _read_runs(target: str) -> tuple[Sequence[RunSpec], Sequence[RunRecord], dict[str, float]]:
    """The runs, their records, and how long each took: of a record, or of an experiment."""
    if Path(target).suffix == ".parquet":
        from goalbound.experiments.record_file import read_record

        record = read_record(target)
        return [record.spec], [record], {}
    from goalbound.cli.results import read_results

    results = read_results(target)
    return results.runs, results.records, {str(one["id"]): float(one["seconds"]) for one in results.times}


def _recorded(spec: RunSpec, record: RunRecord | None) -> LearnerCourse | None:
    if record is None:
        raise ArgumentError(f"{', '.join(spec.group)}, seed {spec.seed} has no record; run the experiment first")
    return recorded_course(record)


def _replayed(
    spec: RunSpec, options: ReplayOptions, record: RunRecord | None, times: dict[str, float]
) -> LearnerCourse | None:
    last = min(spec.episodes, options.episodes or spec.episodes)
    took = f"; the whole run took {times[spec.id]:.0f} s" if spec.id in times else ""
    _say(
        f"{spec.learner.label}: playing {pluralize(last, 'episode')} of seed {spec.seed} again, which are not in the "
        f"records{took}"
    )
    return replayed_course(spec, options, record=record, tell=_say)


def _say(text: str) -> None:
    print(one_line(text), file=sys.stderr)


def _explore_learner(arguments: Namespace) -> tuple[str, str]:
    from goalbound.adapters.learner_files import load_learner
    from goalbound.experiments.explorer.saved_learner import learner_course, learner_model

    learner = load_learner(arguments.target, limit=arguments.limit)
    truth = None if arguments.truth is None else _problem(arguments, arguments.truth)
    if truth is None and (arguments.settings or arguments.loss or arguments.goal):
        raise UsageError("--set, --loss and --goal are for the problem of --truth, which is not given")
    title = Path(arguments.target).stem
    problem = truth or learner_model(learner)
    course = learner_course(learner, problem, label=title, most=arguments.contexts or ReplayOptions().contexts)
    layout = make_layout(problem.support, grid=parse_grid(arguments.grid))
    return title, explorer_page(
        problem, title=title, courses=[course], layout=layout, estimated=truth is None, seconds=arguments.seconds
    )
