"""The text of the reference, from the tables of the code: parsers, specifications, columns, routes, settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import getdoc
from typing import Any

from gallery import listing_text

from goalbound import production
from goalbound.adapters.covariates import serialization
from goalbound.around.around import VERSION as AROUND_VERSION
from goalbound.cli.arguments import Command, commands
from goalbound.experiments import record_file
from goalbound.experiments.columns import COLUMNS, RUN_COLUMNS, schema
from goalbound.experiments.registry import CATALOGS
from goalbound.experiments.registry.catalog import Entry
from goalbound.experiments.registry.settings import MEANINGS
from goalbound.experiments.spec import ComponentSpec, ExperimentSpec, json_schema
from goalbound.learners import checkpoint as learner_checkpoint
from goalbound.models.files import npz
from goalbound.serve.service.openapi import openapi
from goalbound.serve.service.routes import ROUTES
from goalbound.serve.store import log as store_log
from goalbound.serve.store import transfer


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(_cell(one) for one in line) + " |" for line in lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(value: Any) -> str:
    """As code; an empty text stays empty."""
    return f"`{value}`" if str(value) else ""


# --- the command line ------------------------------------------------------------------------------------------------


def command_line() -> str:
    """A section for each command: usage, arguments and options, examples."""
    table_of_commands = commands()
    heads = table(
        ["command", "what it does"],
        [(f"[`goalbound {one.name}`](#goalbound-{one.name})", _capital(one.summary)) for one in table_of_commands],
    )
    return heads + "\n" + "\n".join(map(_command, table_of_commands))


def _capital(summary: str) -> str:
    return f"{summary[0].upper()}{summary[1:]}"


def _command(command: Command) -> str:
    parts = [
        f"## goalbound {command.name}\n",
        f"{_capital(command.summary)}.\n",
        f"```text\n{command.usage}\n```\n",
        table(["argument", "meaning"], [(code(" ".join(one[:2]).strip()), one.help) for one in command.arguments]),
        f"```text\n{command.examples.rstrip()}\n```\n",
    ]
    return "\n".join(parts)


# --- experiment files ------------------------------------------------------------------------------------------------


def experiment_keys() -> str:
    """The keys of an experiment file, and of its tables."""
    rows = [_key(name, one, json_schema()["properties"][name]) for name, one in ExperimentSpec.model_fields.items()]
    inner = [(code(name), str(one.description)) for name, one in ComponentSpec.model_fields.items()]
    tables = (
        "The tables `[[problems]]`, `[[learners]]` and `[[contexts]]` have these keys; every other key is a setting of "
        "the problem, learner or source that `use` names:\n"
    )
    return "\n".join([table(["key", "default", "meaning"], rows), tables, table(["key", "meaning"], inner)])


def _key(name: str, field: Any, described: Mapping[str, Any]) -> tuple[str, str, str]:
    if field.is_required():
        default = "required"
    elif name == "contexts":
        default = 'one table, `use = "dirichlet"`'
    else:
        default = code(field.default if not isinstance(field.default, str) else f'"{field.default}"')
    meaning = described.get("description") or f"the {name}, one table each"
    return code(name), default, meaning


def components(group: str) -> str:
    """The entries of a catalog: ``problems``, ``learners`` or ``contexts``."""
    entries: Iterable[Entry] = CATALOGS[group].entries.values()
    return table(
        ["`use`", "what it is", "settings and their defaults"],
        [(code(one.name), one.summary, ", ".join(_setting(*pair) for pair in one.settings.items())) for one in entries],
    )


def _setting(key: str, value: Any) -> str:
    return code(f"{key} = {_toml(value)}")


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else "(left out)" if value is None else str(value)


def setting_meanings() -> str:
    """What the settings of learners and sources of contexts mean."""
    return table(["setting", "meaning"], [(code(name), meaning) for name, meaning in MEANINGS.items()])


# --- records ---------------------------------------------------------------------------------------------------------


def record_columns() -> str:
    """The columns of a record."""
    types = {name: kind.__name__ for name, kind in schema().items()}
    meanings = {one.name: one.meaning for one in COLUMNS} | {"episode": "the number of episodes up to this row"}
    return table(
        ["column", "type", "meaning"],
        [
            *((code(one.name), "text" if one.is_text else "int64", one.meaning) for one in RUN_COLUMNS),
            *((code(name), types[name], _summed(name, meanings[name])) for name in types),
        ],
    )


def _summed(name: str, meaning: str) -> str:
    return meaning if name == "episode" else f"{meaning}; summed over the episodes so far"


def summary_columns() -> str:
    """What summaries show of the records of a group of seeds."""
    return table(
        ["column", "heading", "meaning"],
        [(code(one.name), one.heading, one.meaning) for one in COLUMNS if one.aggregate is not None],
    )


# --- the service -----------------------------------------------------------------------------------------------------


STATUSES = {"asked": ("401", "403", "429", "503"), "body": ("400", "408", "413", "415")}
"""Statuses that come together: of who asks and how much, of what is sent."""


def _folded_statuses(statuses: Iterable[str]) -> str:
    """Statuses in a few words."""
    left, words = list(statuses), []
    for word, group in STATUSES.items():
        if set(group) <= set(left):
            left = [status for status in left if status not in group]
            words.append(f"*{word}*")
    return ", ".join([*left, *words])


def http_routes() -> str:
    """A table of all requests, and a section for each body."""
    described = openapi(ROUTES)
    rows, bodies = [], []
    for path, methods in described["paths"].items():
        for method, one in methods.items():
            body = _body_name(one)
            if body is not None and body not in bodies:
                bodies.append(body)
            rows.append((
                code(f"{method.upper()} {path}"), one["summary"],
                one.get("description", "").removeprefix("scope: ") or "-",
                f"[{body}](#{body.lower()})" if body else "a file" if "requestBody" in one else "-",
                _folded_statuses(one["responses"]),
            ))  # fmt: skip
    schemas = described["components"]["schemas"]
    queries = [
        (code(f"{method.upper()} {path}"), code(one["name"]), one.get("description", ""))
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
        for one in operation["parameters"]
        if one["in"] == "query"
    ]
    names = [*bodies, *(name for name in schemas if name not in bodies)]
    return "\n".join([
        table(["request", "what it does", "scope", "body", "statuses"], rows),
        "Statuses that come together have one word: "
        + "; ".join(f"*{word}*: {', '.join(statuses)}" for word, statuses in STATUSES.items()) + ".\n",
        "Parameters after the question mark:\n",
        table(["request", "parameter", "meaning"], queries),
        *(_schema(name, schemas[name]) for name in names),
    ])  # fmt: skip


def _body_name(operation: Mapping[str, Any]) -> str | None:
    content = operation.get("requestBody", {}).get("content", {})
    reference = content.get("application/json", {}).get("schema", {}).get("$ref")
    return None if reference is None else reference.rpartition("/")[2]


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    required = schema.get("required", [])
    rows = [(code(key), _kind(one), "yes" if key in required else "no", one.get("description", _inner(one)))
            for key, one in schema.get("properties", {}).items()]  # fmt: skip
    text = schema.get("description", "")
    return f"## {name}\n\n{text}\n\n" + table(["field", "type", "required", "meaning"], rows)


def _inner(one: Mapping[str, Any]) -> str:
    return next((part["description"] for part in one.get("anyOf", []) if "description" in part), "")


def _kind(one: Mapping[str, Any]) -> str:
    if "$ref" in one:
        return one["$ref"].rpartition("/")[2]
    if "anyOf" in one:
        kinds = list(dict.fromkeys(_kind(part) for part in one["anyOf"]))
        return " or ".join(kinds)
    if "enum" in one:
        return " or ".join(f'"{value}"' for value in one["enum"])
    if one.get("type") == "array":
        return f"list of {_kind(one.get('items', {}))}"
    return str(one.get("type", "anything"))


# --- files -----------------------------------------------------------------------------------------------------------


def file_versions() -> str:
    """The kinds of files that goalbound writes, with the version that this release reads and writes."""
    return table(
        ["file", "kind", "version"],
        [
            ("a problem (`.npz`)", "SSP, LinearCSSP", str(npz._VERSION)),
            ("a learner", "its class", str(learner_checkpoint.VERSION)),
            ("a learner for each cell", "Discretized", str(AROUND_VERSION)),
            ("a map of covariates", serialization.KIND, str(serialization.VERSION)),
            ("the record of a run", record_file._FORMAT["kind"], str(record_file._FORMAT["version"])),
            ("a store: the tables of its log", "log.sqlite", store_log.FORMAT),
            ("the exported log of a store", transfer.FORMAT, str(transfer.VERSION)),
        ],
    )


def production_names() -> str:
    """The names of :mod:`goalbound.production`, and the first sentence of each."""
    rows = []
    for name in production.__all__:
        first = (getdoc(getattr(production, name)) or "").partition("\n\n")[0]
        rows.append([code(name), re.sub(r":\w+:`~?([^`<]*?)(?: <[^`]*)?`", r"`\1`", first).replace("``", "`")])
    return table(["name", "what it is"], rows)


TEXTS: Mapping[str, Callable[[], str]] = {
    "command-line": command_line,
    "experiment-keys": experiment_keys,
    "problems": lambda: components("problems"),
    "learners": lambda: components("learners"),
    "contexts": lambda: components("contexts"),
    "settings": setting_meanings,
    "record-columns": record_columns,
    "summary-columns": summary_columns,
    "http": http_routes,
    "file-versions": file_versions,
    "gallery": listing_text,
    "production-names": production_names,
}
"""What a page may ask for."""
