"""The argument parser, made from the table of commands in ``commands.toml``, which help and the reference read too."""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from goalbound import __version__

TABLE = Path(__file__).with_name("commands.toml")


class UsageError(Exception):
    """Invalid command-line usage."""


class Argument(NamedTuple):
    """One argument of a command, as ``commands.toml`` describes it."""

    name: str
    """with its dashes, if it is an option"""
    value: str
    """as in the usage; empty for a flag"""
    help: str
    settings: Mapping[str, Any]

    def add_to(self, command: argparse.ArgumentParser) -> None:
        """Add the argument to a parser."""
        found: dict[str, Any] = {"help": self.help}
        if "dest" in self.settings:
            found["dest"] = self.settings["dest"]
        if not self.value:
            command.add_argument(self.name, action="store_true", **found)
            return
        shown = self.value.strip("[]")
        optional, several = shown != self.value, shown.endswith(" ...")
        shown = shown.removesuffix(" ...")
        found |= {"default": self.settings.get("default"), "type": TYPES[self.settings.get("type", "text")]}
        if shown.startswith("{"):
            found["choices"] = shown.strip("{}").split(",")
        else:
            found |= {"metavar": shown, "choices": self.settings.get("choices")}
        if optional or several:
            found["nargs"] = "?" if not several else "*" if optional else "+"
        if self.name.startswith("-") and (several or "repeated" in self.settings):
            found |= {"action": "extend" if several else "append", "default": []}
        command.add_argument(self.name, **found)


class Command(NamedTuple):
    """One command: the function of ``goalbound.cli`` that runs it, and what its help says."""

    name: str
    function: str
    summary: str
    examples: str
    arguments: Sequence[Argument]

    @property
    def usage(self) -> str:
        """The usage: the positional arguments, and that there are options."""
        positional = [one.value for one in self.arguments if not one.name.startswith("-")]
        return " ".join(["goalbound", self.name, *positional, "[options]"])


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage: ``main`` prints one line and sets the exit code."""
        if message.endswith(("FILE|PROBLEM", "SPEC.toml", " LOG", "PROBLEM|RUN")):
            message += " (it comes before the options)"
        raise UsageError(f'{message}; see "{self.prog} --help"')

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """As in argparse, but unknown arguments are an error of the subcommand."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            command: Parser = getattr(found, "command", self)
            command.refuse(unknown)
        return found

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """Report unknown arguments with a suggestion."""
        option = next((word.partition("=")[0] for word in words if word.startswith("-")), None)
        if option is None:
            self.error(f'"{words[0]}" is an unexpected argument')
        if option in self._option_string_actions:
            self.error(f'"{option}" comes after the command: {self.prog} ... {option}')
        self.error(f'there is no option "{option}"{_hint(option, self._option_string_actions)}')

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            names = list(action.choices)
            self.error(f'there is no command "{value}"{_hint(value, names)}; there are {", ".join(names)}')
        super()._check_value(action, value)


def parser() -> Parser:
    """The parser of the whole command line.

    ``function`` names the function that runs the command (``module:name``), and is None without a command;
    ``command`` is the parser of the command.
    """
    top = Parser(
        prog="goalbound",
        description="Learn to reach the goal, with bounds: linear contextual stochastic shortest path problems.",
        epilog='start with "goalbound demo"; "goalbound COMMAND --help" shows examples',
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"goalbound {__version__}")
    top.set_defaults(function=None)
    parsers = top.add_subparsers(metavar="COMMAND", title="commands")
    for command in commands():
        one = parsers.add_parser(
            command.name,
            usage=command.usage,
            help=command.summary,
            description=f"{command.summary[0].upper()}{command.summary[1:]}.",
            epilog=command.examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        one.set_defaults(function=f"goalbound.cli.{command.function}", command=one)
        for argument in command.arguments:
            argument.add_to(one)
    return top


def commands() -> list[Command]:
    """The commands of the table, in its order."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    found = []
    for name, entry in table["commands"].items():
        own = _arguments(entry["arguments"])
        shared = [one for group in entry.get("also", ()) for one in _arguments(table["groups"][group])]
        found.append(Command(name, entry["run"], entry["summary"], entry["examples"], [*own, *shared]))
    return found


def _arguments(table: Mapping[str, Any]) -> list[Argument]:
    arguments = []
    for usage, entry in table.items():
        settings = {"help": entry} if isinstance(entry, str) else entry
        name, _, value = usage.partition(" ")
        arguments.append(Argument(name, value, settings.get("help") or ", ".join(settings["choices"]), settings))
    return arguments


def byte_count(word: str) -> int:
    """A number of bytes, maybe in units of 1024, 1024^2 or 1024^3.

    >>> byte_count("4G") == byte_count("4294967296") == 4 * 2**30
    True
    """
    unit = {"K": 2**10, "M": 2**20, "G": 2**30}.get(word[-1:].upper(), 1)
    digits = word if unit == 1 else word[:-1]
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 18):
        raise argparse.ArgumentTypeError(f"{word!r} is not a number of bytes; give one such as 8589934592, or 8G")
    return int(digits) * unit


def positive_count(word: str) -> int:
    """A whole number from 1 on.

    >>> positive_count("36")
    36
    """
    if not (word.isascii() and word.isdigit() and len(word) <= 12 and int(word) > 0):
        raise argparse.ArgumentTypeError(f"{word!r} is not a whole number from 1 on")
    return int(word)


TYPES = {"text": str, "float": float, "int": int, "bytes": byte_count, "count": positive_count}
"""The types of values that the table names."""


def _hint(word: str, known: Iterable[str]) -> str:
    import difflib

    names = {name.lstrip("-"): name for name in known}  # dashes would make all options alike
    close = difflib.get_close_matches(word.lstrip("-"), list(names), n=1)
    return f' (did you mean "{names[close[0]]}"?)' if close else ""
