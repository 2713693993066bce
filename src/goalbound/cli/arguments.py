"""What can be typed: commands, options, help."""

from __future__ import annotations

import argparse
from typing import NoReturn

from goalbound import __version__

SOLVE = """\
examples:
  goalbound solve demo                                 every pure context of a built-in problem, and their average
  goalbound solve demo --context "west wind"           one context by name: what to do in each state
  goalbound solve demo --context 0.5,0.3,0.2           one context by weights (1/3,1/3,1/3 is fine too)
  goalbound solve windy-grid --set rows=8 columns=12
  goalbound solve model.umb --loss time --goal done    a model checker's file

--json prints one object. "contexts" holds one entry for each context solved, with "status", bounds at the "start" and
one entry of "states" for each state: number and name of the state, number and name of the action, value, bounds,
expected steps. Numbers read back to the bit; those that JSON cannot write are the strings "Infinity" and "NaN".
Values are in the unit of the file: losses in [0, 1] times "loss_scale".

exit code: 0 converged, 3 the bounds are valid but wider than the tolerance, 2 wrong input.
"""
PROBLEMS = """\
examples:
  goalbound problems
  goalbound solve treatment-ladder --set levels=4 markers=3
"""
CONVERT = """\
examples:
  goalbound convert model.drn model.npz --loss time --goal done
  goalbound convert demo calm.umb --context calm       for Storm, PRISM or Modest
  goalbound convert windy-grid big.npz --set rows=50 columns=50
"""
DEMO = """\
example:
  goalbound demo --out out/demo     then open out/demo/index.html
"""


class UsageError(Exception):
    """What was typed is no command."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage: ``main`` prints one line and sets the exit code."""
        if message.endswith("FILE|PROBLEM"):
            message += " (it comes before the options)"
        raise UsageError(f'{message}; see "{self.prog} --help"')


def parser() -> Parser:
    """The parser of the whole command line. ``module`` names the module whose ``run`` does the work."""
    top = Parser(
        prog="goalbound",
        description="Learn to reach the goal, with bounds: linear contextual stochastic shortest path problems.",
        epilog='start with "goalbound demo"; "goalbound COMMAND --help" shows examples',
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"goalbound {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True, title="commands")
    _add_solve(commands)
    _add_problems(commands)
    _add_convert(commands)
    _add_demo(commands)
    return top


def _command(commands: argparse._SubParsersAction[Parser], name: str, summary: str, epilog: str) -> Parser:
    command = commands.add_parser(
        name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip
    command.set_defaults(module=f"goalbound.cli.{name}")
    return command


def _add_solve(commands: argparse._SubParsersAction[Parser]) -> None:
    command = _command(commands, "solve", "find the best proper policy, with certified bounds of its value", SOLVE)
    command.usage = "%(prog)s FILE|PROBLEM [options]"
    _add_problem(command)
    command.add_argument("--tolerance", type=float, default=1e-9, metavar="T",
                         help="largest relative width of the bounds (default: 1e-9)")  # fmt: skip
    command.add_argument("--unreachable", choices=("refuse", "exclude"), default="refuse",
                         help="what to do if some state cannot reach the goal surely (default: refuse)")  # fmt: skip
    command.add_argument("--all", action="store_true", help="print every state, not the first 20")
    command.add_argument("--json", action="store_true", help="print one JSON object for programs")
    command.add_argument("--policy-out", metavar="FILE.csv", help="also write the states, actions and values as CSV")


def _add_problems(commands: argparse._SubParsersAction[Parser]) -> None:
    command = _command(commands, "problems", "list the built-in problems and their settings", PROBLEMS)
    command.add_argument("--json", action="store_true", help="print JSON for programs")


def _add_convert(commands: argparse._SubParsersAction[Parser]) -> None:
    command = _command(commands, "convert", "write a problem to a file of another format", CONVERT)
    command.usage = "%(prog)s FILE|PROBLEM OUT [options]"
    _add_problem(command)
    command.add_argument("out", metavar="OUT", help="the file to write: .npz, .umb or .drn")


def _add_demo(commands: argparse._SubParsersAction[Parser]) -> None:
    command = _command(commands, "demo", "learn a small contextual problem and leave a page about it", DEMO)
    command.add_argument("--out", default="out/demo", metavar="FOLDER",
                         help="where to leave the report (default: out/demo)")  # fmt: skip
    command.add_argument("--quiet", action="store_true", help="show no progress")


def _add_problem(command: Parser) -> None:
    """The words that say which problem is meant."""
    command.add_argument("problem", metavar="FILE|PROBLEM",
                         help='a .npz, .umb or .drn file, or a name from "goalbound problems"')  # fmt: skip
    command.add_argument("--context", metavar="C",
                         help='weights that sum to 1 (0.2,0.8), the name of a component, or "middle"')  # fmt: skip
    command.add_argument("--set", dest="settings", nargs="+", action="extend", default=[], metavar="KEY=VALUE",
                         help="settings of a built-in problem")  # fmt: skip
    command.add_argument("--loss", metavar="NAME", help="which reward model of a .umb or .drn file is the loss")
    command.add_argument("--goal", metavar="LABEL", help="which label of a .umb or .drn file marks the goal")
