"""``goalbound store``: make, check and copy stores."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from goalbound.adapters.learner_files import load_learner
from goalbound.cli.arguments import UsageError
from goalbound.errors import FileConflictError
from goalbound.serve.store import Store
from goalbound.serve.store.database_url import place_of, shown
from goalbound.serve.store.log import open_log
from goalbound.serve.store.reading import file_of
from goalbound.serve.store.replay import check_upgrade, restore, software, verify
from goalbound.serve.store.store import back_up, save_file
from goalbound.serve.store.transfer import export_log, import_log
from goalbound.terminal import pluralize


def run(arguments: Namespace) -> int:
    """Do what is asked, and say what was done."""
    if arguments.file is not None and arguments.action != "save-learner":
        raise UsageError(f"{arguments.action} takes no {arguments.file!r:.80}; only save-learner has a third name")
    found = _ACTIONS[arguments.action](arguments)
    if arguments.json:
        print(json.dumps({name: value for name, value in found.items() if name != "text"}, allow_nan=False))
    else:
        print(found["text"])
    return 0


def _create(arguments: Namespace) -> Mapping[str, Any]:
    name = _target(arguments, "the name of the learner")
    if arguments.learner is None:
        raise UsageError("create needs the file of a learner: --learner learner.npz")
    learner = load_learner(arguments.learner)
    with Store.open(arguments.folder) as store:
        store.create(name, learner, follows=arguments.follows)
        about = store.learner(name).status()
    return {"learner": about, "text": f"{name}: {about['learner']}"}


def _status(arguments: Namespace) -> Mapping[str, Any]:
    with Store.open(arguments.folder, create=False) as store:
        about, learners = store.status(), [store.learner(name).status() for name in store.names]
    lines = [f"{pluralize(about['events'], 'event')}, {pluralize(about['open_cases'], 'open case')}"]
    for one in learners:
        role = "" if one["follows"] is None else f", follows {one['follows']}"
        lines.append(f"{one['name']}: {one['learner']}, {pluralize(one['open_cases'], 'open case')}{role}")
        lines += [f"  {alarm['kind']}: {alarm['text']}" for alarm in one["alarms"]]
        if any(alarm["kind"] == "change" for alarm in one["alarms"]):
            lines.append(f"  goalbound store relearn {store.name} {one['name']} makes a challenger of relearned()")
    return {"store": about, "learners": learners, "text": "\n".join(lines)}


def _verify(arguments: Namespace) -> Mapping[str, Any]:
    found = verify(arguments.folder)
    before = f" (those up to {found.base} were archived)" if found.base else ""
    lines = [
        f"{pluralize(found.events, 'event')}{before}: all are as they were written, and give the same actions",
        f"{pluralize(found.snapshots, 'snapshot')} compared, bit by bit",
        f"last event {found.seq}, chain {found.chain}",
        f"state {found.state}",
        *found.notes,
    ]
    return {**asdict(found), "text": "\n".join(lines)}


def _export(arguments: Namespace) -> Mapping[str, Any]:
    target = _target(arguments, "the file to write")
    if Path(target).exists():
        raise UsageError(f"{target} exists; give the name of a new file")
    count = export_log(arguments.folder, target)
    return {"events": count, "text": f"{pluralize(count, 'event')} written to {target}"}


def _import(arguments: Namespace) -> Mapping[str, Any]:
    count = import_log(arguments.folder, _target(arguments, "the file of the log"))
    return {"events": count, "text": f"{pluralize(count, 'event')} imported, and replayed with the same actions"}


def _compact(arguments: Namespace) -> Mapping[str, Any]:
    if arguments.archive is None:
        raise UsageError("compact removes events; say where they go with --archive old.ndjson")
    if Path(arguments.archive).exists():
        raise UsageError(f"{arguments.archive} exists; give the name of a new file")
    with Store.open(arguments.folder, create=False) as store:  # nobody writes between the two
        export_log(arguments.folder, arguments.archive)
        count = store.compact()
    return {"events": count, "text": f"{pluralize(count, 'event')} moved to {arguments.archive}"}


def _promote(arguments: Namespace) -> Mapping[str, Any]:
    name = _target(arguments, "the name of the challenger")
    with Store.open(arguments.folder, create=False) as store:
        store.promote(name)
    return {"promoted": name, "text": f"{name} and the learner that it followed have changed places"}


def _relearn(arguments: Namespace) -> Mapping[str, Any]:
    name = _target(arguments, "the name of the learner")
    with Store.open(arguments.folder, create=False) as store:
        found = store.relearn(name, arguments.new_name)
        about = found.status()
    follows = f"follows {about['follows']}; goalbound store promote lets it take its place"
    return {"learner": about, "text": f"{found.name}: {about['learner']}, {follows}"}


def _save_learner(arguments: Namespace) -> Mapping[str, Any]:
    name = _target(arguments, "the name of the learner")
    if arguments.file is None:
        raise UsageError("save-learner needs the file to write after the name of the learner")
    with closing(open_log(place_of(arguments.folder), readonly=True)) as log:  # beside whoever writes
        data = file_of(restore(log).machine, name)
    try:
        save_file(data, arguments.file)
    except FileConflictError:
        raise UsageError(f"{arguments.file} exists; give the name of a new file") from None
    return {"learner": name, "file": arguments.file, "text": f"{name} written to {arguments.file}"}


def _backup(arguments: Namespace) -> Mapping[str, Any]:
    target = _target(arguments, "the new folder of the copy")
    back_up(arguments.folder, target)
    return {"folder": target, "text": f"copied to {target}; goalbound store verify {target} checks it"}


def _replay(arguments: Namespace) -> Mapping[str, Any]:
    if not arguments.check:
        raise UsageError("replay needs --check: it replays the last events with this version, and changes nothing")
    count, written = check_upgrade(arguments.folder)
    text = (
        f"{shown(place_of(arguments.folder))}: the last {pluralize(count, 'event')} give the same actions here\n"
        f"written by {written or 'an unknown version'}\nreplayed by {software()}"
    )
    return {"replayed": count, "written_by": written, "replayed_by": software(), "text": text}


def _target(arguments: Namespace, what: str) -> str:
    if arguments.target is None:
        raise UsageError(f"{arguments.action} needs {what} after the folder")
    name: str = arguments.target
    return name


_ACTIONS = {
    "create": _create,
    "status": _status,
    "verify": _verify,
    "replay": _replay,
    "backup": _backup,
    "export": _export,
    "import": _import,
    "compact": _compact,
    "promote": _promote,
    "relearn": _relearn,
    "save-learner": _save_learner,
}
