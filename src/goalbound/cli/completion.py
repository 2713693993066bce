"""``goalbound completion``: a script for bash, made from the parser and the catalogs.

The script has all words in it, so that completing starts no Python; it is made again after an update.
"""

from __future__ import annotations

import argparse
import shlex
from argparse import Namespace
from collections.abc import Iterator
from typing import Any, NamedTuple

from goalbound.cli.arguments import Parser, parser
from goalbound.experiments.registry import CONTEXTS, LOSS_LAWS
from goalbound.experiments.registry.learners import LEARNERS
from goalbound.experiments.registry.problems import PROBLEMS
from goalbound.problems.catalog import CATALOG

SCRIPT = """\
# Completion of goalbound in bash, made by `goalbound completion`.
_goalbound() {
    local word="${COMP_WORDS[COMP_CWORD]}" command="${COMP_WORDS[1]}" option="" many="" words="" patterns="" folders=""
    local at pattern IFS=$' \\n'
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W "@COMMANDS@" -- "$word"))
        return
    fi
    for ((at = COMP_CWORD - 1; at > 1; at--)); do
        if [[ "${COMP_WORDS[at]}" == -* ]]; then
            option="${COMP_WORDS[at]}"
            break
        fi
    done
    case "$command $option" in
@VALUES@
    *) option="" ;;
    esac
    if [[ -n "$option" && -z "$many" ]] && ((at != COMP_CWORD - 1)); then
        option="" words="" patterns="" folders=""
    fi
    if [[ -z "$option" || -n "$many" && "$word" == -* ]]; then
        case "$command" in
@ARGUMENTS@
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    IFS=$'\\n'
    if [[ "$word" != -* ]]; then
        set -f
        for pattern in ${patterns// /$'\\n'}; do
            COMPREPLY+=($(compgen -f -X "!$pattern" -- "$word"))
        done
        set +f
        if [[ -n "$patterns$folders" ]]; then COMPREPLY+=($(compgen -d -- "$word")); fi
    fi
}
complete -o filenames -F _goalbound goalbound
"""
ANY = ("*",)
FILES = {
    "FILE|PROBLEM": ("*.npz", "*.umb", "*.drn"),
    "PROBLEM|RUN": ("*.npz", "*.umb", "*.drn", "*.toml", "*.parquet"),
    "SPEC.toml": ("*.toml",), "FOLDER|SPEC.toml": ("*.toml",),
    "FILE.toml": ("*.toml",), "LOG": ("*.csv", "*.parquet"), "LEARNER.npz": ("*.npz",), "PAGE.html": ("*.html",),
    "FILE": ("*.toml", "*.npz", "*.umb", "*.drn", "*.parquet"), "FILE.csv": ("*.csv",), "OUT": ANY,
    "NAME|FILE": ANY, "NAME=FILE": (),  # the name is the user's, so nothing is known of what begins with it
}  # fmt: skip
"""The files that an argument takes, by what the help calls it."""
FOLDERS = ("FOLDER", "FOLDER|URL", "FOLDER|SPEC.toml", "PROBLEM|RUN")


class Completion(NamedTuple):
    """What an argument may be: some words, files of some patterns, folders."""

    words: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    folders: bool = False

    def assignments(self) -> str:
        """As assignments of bash."""
        parts = [f"words={shlex.quote(' '.join(self.words))}"] if self.words else []
        parts += [f"patterns={shlex.quote(' '.join(self.patterns))}"] if self.patterns else []
        return " ".join([*parts, *(["folders=1"] if self.folders else [])])


def run(_: Namespace) -> int:
    """Print the script."""
    print(script(), end="")
    return 0


def script() -> str:
    """The script."""
    commands = _commands()
    values = [line for name, command in commands.items() for line in _value_lines(name, command)]
    arguments = [f"        {name}) {_arguments(command).assignments()} ;;" for name, command in commands.items()]
    text = SCRIPT.replace("@COMMANDS@", " ".join(["--help", "--version", *commands]))
    return text.replace("@VALUES@", "\n".join(values)).replace("@ARGUMENTS@", "\n".join(arguments))


def _commands() -> dict[str, Parser]:
    subparsers = next(action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    return dict(subparsers.choices)


def _value_lines(name: str, command: Parser) -> Iterator[str]:
    """For each option that takes a value: what it may be, and whether it takes several."""
    for action in command._actions:
        if action.option_strings and action.nargs != 0:
            many = " many=1" if action.nargs in ("+", "*") else ""
            pattern = "|".join(f'"{name} {option}"' for option in action.option_strings)
            yield f"    {pattern}) {(_completion(action).assignments() + many).strip() or ':'} ;;"


def _arguments(command: Parser) -> Completion:
    """The options of a command, and what its positional arguments may be."""
    found = [_completion(action) for action in command._actions if not action.option_strings]
    options = [option for action in command._actions for option in action.option_strings]
    return Completion(
        (*options, *(word for one in found for word in one.words)),
        tuple(dict.fromkeys(pattern for one in found for pattern in one.patterns)),
        any(one.folders for one in found),
    )


def _completion(action: Any) -> Completion:
    name = action.metavar
    words = tuple(map(str, action.choices or ()))
    if name == "FILE|PROBLEM":
        words = tuple(CATALOG)
    elif name == "PROBLEM|RUN":
        words = tuple(PROBLEMS.entries)
    elif name == "LEARNER" or (name == "NAME" and action.dest == "learner"):
        words = tuple(LEARNERS.entries)
    elif name == "NAME" and action.dest == "name":
        words = (*LEARNERS.entries, *CONTEXTS.entries, *LOSS_LAWS)
    return Completion(words, FILES.get(name, ()), name in FOLDERS)
