"""``goalbound report``, ``figures``, ``export``, ``compare``, ``ratios``: results of experiments; nothing is run."""

from __future__ import annotations

import json
import textwrap
from argparse import Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from goalbound.cli.arguments import UsageError
from goalbound.cli.text import print_error
from goalbound.csv_cells import csv_text
from goalbound.experiments import changes as changed
from goalbound.experiments.comparisons import LEVEL, MIN_SEEDS
from goalbound.experiments.ratios import format_ratios, learner_ratios, ratios_as_json
from goalbound.experiments.results import Results, load
from goalbound.experiments.results_dir import read_runs
from goalbound.experiments.spec import ExperimentSpec
from goalbound.experiments.summary import RunGroup, group_runs
from goalbound.experiments.text import format_estimate, number
from goalbound.models.files.io import atomic_write
from goalbound.terminal import one_line, table

RESULTS_ROOT = Path("out")
"""The root of the results directories."""
METHOD = (
    "change: expected regret after less before, on the seeds that both folders have; [low, high]: its 95% interval by "
    f"sign flips, from {MIN_SEEDS} seeds on. It is called less or more only where that interval excludes 0 and the "
    f"paired t test, corrected for all learners here (Holm), has p below {LEVEL:g}."
)


def report(arguments: Namespace) -> int:
    """``goalbound report``: summarise the records and write the report."""
    show_results(read_results(arguments.experiment), as_json=arguments.json)
    return 0


def figures(arguments: Namespace) -> int:
    """``goalbound figures``: draw what the records hold."""
    from goalbound.experiments.figures import CAPTIONS, write_figures

    results = read_results(arguments.experiment)
    if not results.records:
        raise UsageError(f"{results.folder} has no records to draw; run the experiment first")
    target = Path(arguments.out) if arguments.out else results.folder / "figures"
    formats = list(dict.fromkeys(arguments.formats or ["pdf"]))
    wanted = {name: getattr(arguments, name) for name in ("width", "font", "font_size")}
    given = {name: value for name, value in wanted.items() if value is not None}
    paths = write_figures(results.summarised, results.records, target, formats=formats, runs=results.runs, **given)
    for path in (*paths, target / CAPTIONS):
        print(one_line(str(path)))
    return 0


def export(arguments: Namespace) -> int:
    """``goalbound export``: write the tables that are wanted, and print where they are."""
    wanted = [(name, kind) for kind in ("csv", "parquet") for name in dict.fromkeys(getattr(arguments, kind))]
    if not wanted:
        raise UsageError("nothing to export; say --csv curves, or --parquet summary policies")
    results = read_results(arguments.experiment)
    folder = Path(arguments.out) if arguments.out else results.folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, kind in wanted:
        path = folder / f"{name}.{kind}"
        _write_table(path, results.frame(arrow=True) if name == "episodes" else getattr(results, name)(arrow=True))
        print(one_line(str(path)))
    return 0


def _write_table(path: Path, arrow_table: Any) -> None:
    from pyarrow import parquet

    with atomic_write(path) as file:
        if path.suffix == ".parquet":
            parquet.write_table(arrow_table, file)
        else:
            columns = [column.to_pylist() for column in arrow_table.columns]
            file.write(csv_text(arrow_table.column_names, zip(*columns, strict=True)).encode())


def compare(arguments: Namespace) -> int:
    """``goalbound compare``: print what changed between two folders of results."""
    changes = changed.compare(load(arguments.before), load(arguments.after))
    if arguments.json:
        print(json.dumps(changes.as_json(), indent=1, allow_nan=False))
    else:
        print("\n\n".join(part for part in _changes_text(changes) if part))
    return 0


def _changes_text(changes: changed.Changes) -> list[str]:
    before, after = map(one_line, changes.folders)
    parts = [f"{before}  ->  {after}"]
    if changes.nothing:
        return [*parts, "Nothing changed: the same spec, the same versions, and records that are the same to the bit."]
    parts += [_changed_keys("spec", changes.spec), _changed_keys("versions", changes.versions)]
    if changes.groups:
        head = ["problem", "contexts", "learner", "episodes", "seeds", "before", "after", "change", "verdict"]
        parts += [table(head, map(_changed_group, changes.groups), "lllrrrrrl"), textwrap.fill(METHOD, 100)]
    for folder, labels in ((before, changes.only_before), (after, changes.only_after)):
        parts.append("\n".join(f"only in {folder}: {one_line(', '.join(group))}" for group in labels))
    return parts


def _changed_keys(title: str, keys: Sequence[changed.Change]) -> str:
    lines = [f"  {one_line(key.what)}: {_value(key.before)} -> {_value(key.after)}" for key in keys]
    return "\n".join([f"{title}:", *lines]) if lines else f"{title}: the same"


def _value(value: Any) -> str:
    if value is None:
        return "(none)"
    if isinstance(value, tuple):
        return " and ".join(map(one_line, value))
    return one_line(json.dumps(value, ensure_ascii=False))


def _changed_group(group: changed.GroupChange) -> list[str]:
    versions = [f"another version of the {name}" for name in group.code]
    note = "; ".join(filter(None, [changed.verdict_note(group), *versions]))
    return [
        *map(one_line, (group.problem, group.contexts, group.learner)),
        str(group.episodes),
        str(len(group.seeds)),
        number(group.before),
        number(group.after),
        "-" if group.change is None else format_estimate(group.change),
        group.verdict + (f" ({note})" if note else ""),
    ]


def ratios(arguments: Namespace) -> int:
    """``goalbound ratios``: print regrets and their ratios to the best, over several experiments."""
    experiments: dict[str, list[RunGroup]] = {}
    for word in arguments.experiments:
        results = read_results(word)
        name = results.spec.name
        if name in experiments:
            raise UsageError(f"two of the experiments are called {name}; give each once")
        experiments[name] = group_runs(results.records, results.runs)
        for line in results.summarised.missing:
            print_error(f"{name}: {line}")
    learners = learner_ratios(experiments)
    if learners and arguments.problems:
        labels = dict.fromkeys(problem for learner in learners for problem in learner.regret)
        learners = learner_ratios(experiments, problems=arguments.problems)
        if not learners:
            raise UsageError(f"no problem matches {' or '.join(arguments.problems)}; there are {', '.join(labels)}")
    if not learners:
        raise UsageError("the experiments have no records to compare; run them first")
    print(ratios_as_json(learners) if arguments.json else format_ratios(learners))
    return 0


def results_folder(spec: ExperimentSpec, *, quick: bool = False) -> Path:
    """The default results directory of an experiment; quick runs have their own."""
    return RESULTS_ROOT / (f"{spec.name}-quick" if quick else spec.name)


def read_results(word: str) -> Results:
    """Read the results of a folder with a ``spec.toml`` or of the file of an experiment.

    They are of the runs that the spec has by now. Nothing is imported that a file names: where it names plug-ins, the
    experiment and its runs are those that were last written.
    """
    path = Path(word)
    if path.is_dir():
        if not (path / "spec.toml").is_file():
            raise UsageError(
                f"{word} has no spec.toml; give the folder of an experiment (such as out/first), or its file"
            )
        return results_of(_load_spec(path / "spec.toml"), path)
    spec = _load_spec(path)
    folder = path.parent if (path.parent / "records").is_dir() else results_folder(spec)
    if not (folder / "records").is_dir():
        raise UsageError(f"{folder} has no records yet; goalbound run {word} makes them, or give the folder itself")
    if spec.uses_plugins and (folder / "spec.toml").is_file():
        spec = _load_spec(folder / "spec.toml")
    return results_of(spec, folder)


def _load_spec(path: Path) -> ExperimentSpec:
    """The experiment of a file; its names are looked up only if they are all our own."""
    spec = ExperimentSpec.load_unchecked(path)
    return spec if spec.uses_plugins else ExperimentSpec.load(path)


def results_of(spec: ExperimentSpec, folder: Path) -> Results:
    """Read the results of an experiment in a folder."""
    return Results.read(spec, folder, read_runs(folder) if spec.uses_plugins else spec.runs())


def show_results(results: Results, *, as_json: bool, with_report: bool = True) -> None:
    """Write the summary and the report, and print the question, the table and the files; or one JSON object."""
    spec, summary, folder = results.spec, results.summarised, results.folder
    paths = [folder / "summary.csv", folder / "summary.json"]
    summary.to_csv(paths[0])
    summary.to_json(paths[1])
    if with_report:
        from goalbound.experiments.report import write_report

        paths.append(folder / "report.html")
        failures, times, runs = results.failures, results.times, results.runs
        write_report(paths[-1], spec, summary, results.records, failures=failures, times=times, runs=runs)
    if as_json:
        files = [str(path) for path in paths]
        head = {"event": "summary", "name": spec.name, "folder": str(folder), "files": files}
        print(json.dumps({**head, **summary.as_json()}, allow_nan=False))
    else:
        shown = summary.table() if results.records else "no run has a record yet"
        print("\n\n".join(filter(None, [spec.question, shown, _lines(paths)])))


def _lines(paths: Iterable[Path]) -> str:
    return "\n".join(one_line(str(path)) for path in paths)
