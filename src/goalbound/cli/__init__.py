"""The command line. Nothing heavy is imported before a command runs, so that ``goalbound --help`` answers at once.

Exit codes: 0 done, 1 some runs of an experiment failed or a store is not as it should be, 2 wrong input (one line on
stderr says what; without arguments it is the help), 3 a result that did not converge, 130 Ctrl-C.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pkgutil import resolve_name

from goalbound.cli.arguments import UsageError, parser
from goalbound.cli.text import print_error
from goalbound.extras import missing_library
from goalbound.terminal import guard_output

FAILED, WRONG_INPUT, INTERRUPTED, NO_READER = 1, 2, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command (``sys.argv`` by default) and return its exit code.

    All output passes :mod:`goalbound.terminal`. Without ``argv`` the process is the command, and what
    the process prints later (a traceback) passes there too.

    >>> main(["solve", "demmo"])  # says on stderr: no problem is called "demmo" (did you mean "demo"?); ...
    2
    """
    before = sys.stdout, sys.stderr
    guard_output()
    try:
        return _exit_code(argv)
    finally:
        if argv is not None:
            sys.stdout, sys.stderr = before


def _exit_code(argv: Sequence[str] | None) -> int:
    """Run the command; errors of the input are one line on stderr and an exit code, bugs raise."""
    _escape_unencodable()
    try:
        top = parser()
        arguments = top.parse_args(argv)
        if arguments.function is None:
            top.print_help(sys.stderr)  # an error to a script, help to a person
            return WRONG_INPUT
        code: int = resolve_name(arguments.function)(arguments)
        sys.stdout.flush()  # here, while a closed pipe can still be handled
        return code
    except BrokenPipeError:
        _detach_stdout()
        return NO_READER
    except KeyboardInterrupt:
        return _fail("stopped", INTERRUPTED)
    except UsageError as error:
        return _fail(str(error), WRONG_INPUT)
    except OSError as error:
        what = (error.strerror or str(error)).lower()
        return _fail(f"{error.filename}: {what}" if error.filename else what, WRONG_INPUT)
    except ModuleNotFoundError as error:
        if (explained := missing_library(error)) is error:
            raise
        return _fail(explained.msg, WRONG_INPUT)
    except MemoryError:
        return _fail("the problem does not fit into memory", WRONG_INPUT)
    except ValueError as error:
        from goalbound.errors import InputError

        if not isinstance(error, InputError):
            raise
        return _fail(_as_cli_options(str(error)), WRONG_INPUT)
    except Exception as error:
        from goalbound.errors import StoreError

        if not isinstance(error, StoreError):
            raise
        return _fail(str(error), FAILED)


def _fail(message: str, code: int) -> int:
    print_error(message)
    return code


def _as_cli_options(message: str) -> str:
    """Translate Python remedies in messages to command-line options."""
    for python, shell in (
        ('unreachable="exclude"', "--unreachable exclude"),
        ("name it with loss=", "name it with --loss"),
        ("name it with goal=", "name it with --goal"),
        ("loss= and goal=", "--loss and --goal"),
        ("raise it with limit=", "raise it with --limit "),
        ('errors="skip"', "--errors skip"),
        ('beyond="clip"', "--beyond clip"),
        ('loss_scale=LossScale("min", cap=60)', "--unit min --cap 60"),
        ("say goal=", "say --goal"),
        ("say with goal=", "say with --goal"),
        ("Name the columns with columns=", "Name the columns with --case, --state, ..., or in the file of --map"),
        ("save problem.at(context)", "say which context with --context"),
    ):
        message = message.replace(python, shell)
    return message


def _escape_unencodable() -> None:
    """Escape characters that the terminal cannot encode."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")


def _detach_stdout() -> None:
    """Redirect stdout to the null device, so that flushing it at exit does not fail again."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
