"""``goalbound check``: validate a file and describe its content."""

from __future__ import annotations

import json
import tomllib
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goalbound.adapters.learner_files import LEARNER_KINDS, WRAPPER_KINDS
from goalbound.cli.arguments import UsageError
from goalbound.cli.text import caveats_of
from goalbound.errors import ArgumentError, InputError
from goalbound.models import SSP, LinearCSSP
from goalbound.models.files.array_file import peek_header
from goalbound.models.files.io import LIMIT, read_bytes
from goalbound.terminal import one_line, pluralize

if TYPE_CHECKING:
    from goalbound.experiments.run_spec import RunSpec
    from goalbound.experiments.spec import ExperimentSpec


def run(arguments: Namespace) -> int:
    """Print what the file is; a file that is not valid is an error."""
    if arguments.schema:
        from goalbound.experiments.spec import json_schema

        print(json.dumps(json_schema(), indent=2, allow_nan=False))
        return 0
    if arguments.file is None:
        raise UsageError('which file? see "goalbound check --help"')
    suffix = Path(arguments.file).suffix.lower()
    for_experiments = arguments.settings or arguments.quick or arguments.attempt or arguments.plugins
    if suffix != ".toml" and for_experiments:
        raise UsageError(
            f"{arguments.file} is not an experiment; --set, --quick, --try and --plugin are for .toml files"
        )
    if suffix == ".toml" and _is_fit_file(arguments.file):
        from goalbound.cli.fit_options import described

        if for_experiments:
            raise UsageError(
                f"{arguments.file}: this is a file of goalbound fit; --set, --quick, --try and --plugin are for "
                "experiments"
            )
        print(described(arguments.file))
    elif suffix == ".toml":
        print(_experiment(arguments))
    elif suffix == ".parquet":
        print(_record(arguments.file))
    else:
        print(_BY_KIND.get(_kind(arguments.file), _problem)(arguments))
    return 0


def _is_fit_file(path: str) -> bool:
    """Whether a TOML file says how ``goalbound fit`` reads a log. What cannot be read is left to experiments."""
    from goalbound.cli.fit_options import MOST_BYTES, is_fit_file
    from goalbound.experiments.spec import ExperimentSpec

    try:
        values = tomllib.loads(read_bytes(path, MOST_BYTES, remedy="such a file is small", unpack=False).decode())
    except (OSError, InputError, ValueError, RecursionError):  # said where it is read as an experiment
        return False
    return is_fit_file(values, ExperimentSpec.model_fields)


def _experiment(arguments: Namespace) -> str:
    from goalbound.cli.experiments import read_spec

    def read(quick: bool) -> ExperimentSpec:
        return read_spec(arguments.file, changes=arguments.settings, quick=quick, plugins=arguments.plugins)

    spec = read(arguments.quick)
    runs = spec.runs()
    lines = [
        f"{spec.name}: {pluralize(len(runs), 'run')} of {spec.episodes:,} episodes, "
        f"{sum(run.episodes for run in runs):,} in all"
    ]
    for name in ("problem", "contexts", "learner"):
        labels = dict.fromkeys(getattr(run, name).label for run in runs)
        lines.append(f"{name if name == 'contexts' else name + 's'}: {', '.join(map(one_line, labels))}")
    lines.append(f"seeds: {', '.join(map(str, spec.seed_list))}")
    made = _make_all(spec, runs, {}, play=arguments.attempt)
    if spec.quick and not arguments.quick:
        quick = read(True)
        _make_all(quick, quick.runs(), made, play=False)
    if arguments.attempt:
        lines.append(f"one episode of each was played ({pluralize(len(made), 'combination')})")
    return "\n".join(lines)


def _make_all(
    spec: ExperimentSpec, runs: Iterable[RunSpec], before: Mapping[str, RunSpec], *, play: bool
) -> dict[str, RunSpec]:
    """Build one run of each combination of problem, contexts and learner, and play one episode of it if ``play``.

    Combinations in ``before`` are skipped.
    """
    from goalbound.experiments.run import build
    from goalbound.experiments.run import run as play_run

    firsts: dict[str, RunSpec] = {}  # not by label: different runs may share labels
    for run in runs:
        firsts.setdefault(replace(run, seed=0, episodes=1).id, run)
    for run in (run for key, run in firsts.items() if key not in before):
        try:
            build(run, plugins=spec.plugins)
            if play:
                play_run(replace(run, episodes=1), plugins=spec.plugins)
        except Exception as error:
            if not isinstance(error, InputError) and not run.code:
                raise
            said = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
            raise ArgumentError(f"{spec.name}: {', '.join(run.group)}: {said}") from error
    return firsts


def _problem(arguments: Namespace) -> str:
    from goalbound.models.files import load
    from goalbound.testing import ContractError, check_problem

    found = load(arguments.file, loss=arguments.loss, goal=arguments.goal, limit=arguments.limit)
    problem = LinearCSSP.mix([found]) if isinstance(found, SSP) else found
    try:
        report = check_problem(problem)
    except ContractError as error:
        first, *more = error.findings
        others = f" (and {pluralize(len(more), 'finding')} more: {'; '.join(more)})" if more else ""
        raise UsageError(f"{arguments.file}: {first}{others}") from None
    kind = "a problem without context" if isinstance(found, SSP) else "a contextual problem"
    return f"{one_line(arguments.file)}: {kind}; {report}"


def _learner(arguments: Namespace) -> str:
    from goalbound.adapters.learner_files import load_learner

    learner = load_learner(arguments.file, limit=arguments.limit)
    parts = [f"{one_line(arguments.file)}: a learner", str(learner)]
    if _kind(arguments.file) == "LRCSSP":
        how = "found by doubling" if learner.settings.loss_bound is None else "given"
        parts.append(f"loss floor {learner.settings.loss_floor:g}, loss bound {learner.loss_bound:g} ({how})")
    return "; ".join([*parts, pluralize(len(learner.open_episodes), "open episode"), *_not_proven(learner)])


def _not_proven(learner: Any) -> list[str]:
    caveats = caveats_of(learner)
    return [f"not proven: {one_line('; '.join(caveats))}"] if caveats else []


def _covariate_learner(arguments: Namespace) -> str:
    from goalbound.adapters.covariates import CovariateLearner, FromTransformer
    from goalbound.learners.layers import unwrap

    said, found = peek_header(arguments.file).get("map"), None
    if isinstance(said, dict) and said.get("kind") == "FromTransformer":  # not stored; only its description is
        found = FromTransformer(_missing_transformer, said.get("names", ()), said.get("identity"))
    learner = CovariateLearner.load(arguments.file, map=found, load_learner=_load_inner_learner, limit=arguments.limit)
    waiting = pluralize(len(getattr(unwrap(learner), "open_episodes", ())), "open episode")
    begun = f"{pluralize(learner.begun, 'episode')} begun, {waiting}"
    title = f"{one_line(arguments.file)}: a learner with its map of covariates"
    return "; ".join([title, str(learner), begun, *_not_proven(learner)])


def _load_inner_learner(path: Path, *, limit: int = LIMIT) -> Any:
    """The learner of a map; kinds that need a matching learner to load are represented by a placeholder."""
    from goalbound.adapters.learner_files import load_learner
    from goalbound.around.contexts import ContextBlind

    kind = _kind(str(path))
    if _BY_KIND.get(kind) is _other_learner:
        return _OpaqueLearner(kind)
    learner = load_learner(path, limit=limit)
    return learner if getattr(learner, "context_size", 2) > 1 else ContextBlind(learner)


class _OpaqueLearner:
    """Placeholder of a learner that cannot be loaded from a file alone: it has a name, and cannot be played."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def begin(self, context: Any) -> None:
        raise ArgumentError(
            f"{self._kind}: only a learner with the same settings can be restored from this file: restored(path)"
        )

    def __repr__(self) -> str:
        return self._kind


def _missing_transformer(rows: Any) -> Any:
    raise ArgumentError("the transformer of this learner is in no file")


def _other_learner(arguments: Namespace) -> str:
    kind = _kind(arguments.file)
    return f"{one_line(arguments.file)}: a learner ({kind}), restored by one with the same settings: restored(path)"


def _record(path: str) -> str:
    from goalbound.experiments.record_file import read_record

    record = read_record(path)
    problem, contexts, learner = map(one_line, record.spec.group)
    totals = record.metadata["totals"]
    return (
        f"{one_line(path)}: a record; {learner} on {problem}, contexts {contexts}, seed {record.spec.seed}, "
        f"{totals['episodes']:,} episodes, expected regret {totals['expected_regret']:.6g}"
    )


_BY_KIND: dict[Any, Callable[[Namespace], str]] = {
    **dict.fromkeys((*LEARNER_KINDS, *WRAPPER_KINDS), _learner),
    "CovariateLearner": _covariate_learner,
    "Discretized": _other_learner,
    "RandomWalk": _other_learner,
}


def _kind(path: str) -> Any:
    """The kind that the header of a goalbound file states; None for other files."""
    return peek_header(path).get("kind")
