"""``goalbound check``: is a file fit for use, and what is in it?"""

from __future__ import annotations

import json
import zipfile
from argparse import Namespace
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goalbound.cli.arguments import UsageError
from goalbound.cli.text import counted, one_line
from goalbound.models import SSP, LinearCSSP, ModelError
from goalbound.models.files.storage import open_regular

if TYPE_CHECKING:
    from goalbound.experiments.spec import ExperimentSpec

HEADER = "header.json"
MOST_HEADER = 2**24


def run(arguments: Namespace) -> int:
    """Print what the file is; what is wrong with it is an error."""
    if arguments.schema:
        from goalbound.experiments.spec import json_schema

        print(json.dumps(json_schema(), indent=2, allow_nan=False))
        return 0
    if arguments.file is None:
        raise UsageError('which file? see "goalbound check --help"')
    suffix = Path(arguments.file).suffix.lower()
    if suffix != ".toml" and (arguments.settings or arguments.quick or arguments.attempt):
        raise UsageError(f"{arguments.file} is no experiment; --set, --quick and --try are for .toml files")
    if suffix == ".toml":
        print(_experiment(arguments))
    elif suffix == ".parquet":
        print(_record(arguments.file))
    else:
        print(_BY_KIND.get(_kind(arguments.file), _problem)(arguments))
    return 0


def _experiment(arguments: Namespace) -> str:
    from goalbound.cli.experiment import read_spec

    spec = read_spec(arguments.file, changes=arguments.settings, quick=arguments.quick)
    runs = spec.runs()
    lines = [
        f"{spec.name}: {counted(len(runs), 'run')} of {spec.episodes:,} episodes, "
        f"{sum(run.episodes for run in runs):,} in all"
    ]
    for name in ("problem", "contexts", "learner"):
        labels = dict.fromkeys(getattr(run, name).label for run in runs)
        lines.append(f"{name if name == 'contexts' else name + 's'}: {', '.join(map(one_line, labels))}")
    lines.append(f"seeds: {', '.join(map(str, spec.seed_list))}")
    if arguments.attempt:
        lines.append(f"one episode of each was played ({counted(_try(spec), 'combination')})")
    return "\n".join(lines)


def _try(spec: ExperimentSpec) -> int:
    """Play one episode of every combination; how many there are."""
    from goalbound.experiments.run import run as play_run

    firsts = {replace(run, seed=0).id: run for run in reversed(spec.runs())}  # labels may be shared, what is run not
    for run in reversed(firsts.values()):
        try:
            play_run(replace(run, episodes=1))
        except ModelError as error:
            raise ModelError(f"{spec.name}: {', '.join(run.group)}: {error}") from error
    return len(firsts)


def _problem(arguments: Namespace) -> str:
    from goalbound.models.files import load
    from goalbound.testing import ContractError, check_problem

    found = load(arguments.file, loss=arguments.loss, goal=arguments.goal)
    problem = LinearCSSP.mix([found]) if isinstance(found, SSP) else found
    try:
        report = check_problem(problem)
    except ContractError as error:
        first, *more = error.findings
        others = f" (and {counted(len(more), 'thing')} more: {'; '.join(more)})" if more else ""
        raise UsageError(f"{arguments.file}: {first}{others}") from None
    kind = "a problem without context" if isinstance(found, SSP) else "a contextual problem"
    return f"{one_line(arguments.file)}: {kind}; {report}"


def _learner(arguments: Namespace) -> str:
    from goalbound.learners.lr_cssp import LRCSSP

    learner = LRCSSP.load(arguments.file)
    bound = learner.settings.loss_bound
    told = f"loss bound {learner.loss_bound:g} ({'found by doubling' if bound is None else 'given'})"
    return (
        f"{one_line(arguments.file)}: a learner; {learner}; loss floor {learner.settings.loss_floor:g}, {told}; "
        f"{counted(len(learner.open_episodes), 'open episode')}"
    )


def _unfinished(arguments: Namespace) -> str:
    done = _header(arguments.file).get("episodes")
    name = one_line(arguments.file)
    return (
        f"{name}: a run that is not finished ({done} episodes so far); goalbound run on its experiment goes on with it"
    )


def _record(path: str) -> str:
    from goalbound.experiments.records import read_record

    record = read_record(path)
    problem, contexts, learner = map(one_line, record.spec.group)
    totals = record.facts["totals"]
    return (
        f"{one_line(path)}: a record; {learner} on {problem}, contexts {contexts}, seed {record.spec.seed}, "
        f"{totals['episodes']:,} episodes, expected regret {totals['expected_regret']:.6g}"
    )


_BY_KIND: dict[Any, Callable[[Namespace], str]] = {"LRCSSP": _learner, "RunCheckpoint": _unfinished}


def _kind(path: str) -> Any:
    """What an archive of goalbound says that it is; None for anything else, which its reader will name."""
    return _header(path).get("kind")


def _header(path: str) -> dict[str, Any]:
    with (
        suppress(zipfile.BadZipFile, KeyError, ValueError, RuntimeError, NotImplementedError),
        open_regular(path) as raw,
        zipfile.ZipFile(raw) as file,
    ):
        about = file.getinfo(HEADER)
        if about.file_size <= MOST_HEADER and about.compress_type == zipfile.ZIP_STORED:  # as all of ours are
            found = json.loads(file.read(HEADER))
            return found if isinstance(found, dict) else {}
    return {}
