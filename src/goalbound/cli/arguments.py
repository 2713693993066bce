"""The argument parser: commands, options, help."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

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
RUN = """\
examples:
  goalbound run experiments/first.toml                          all processors; leaves out/first/report.html
  goalbound run experiments/first.toml --quick                  a look in seconds, in out/first-quick
  goalbound run mine.toml --set episodes=1000 learners.scale=0.1 seeds=[3,5]
  goalbound run mine.toml --workers 1 --out results/mine
  goalbound run mine.toml --on tcp://scheduler:8786             on a Dask cluster
  goalbound run mine.toml --plugin habit                        with a learner of habit.py, beside the file or installed
  goalbound run mine.toml --fresh                               all runs again, though they have records
  goalbound run mine.toml --json                                one JSON object per line, the summary last

Finished runs are reused: interrupt at any time, and the same command runs the others. A new key of the file, a new
seed or learner does only what is new; so does a plug-in of another version, or a problem whose numbers have changed.

exit code: 0 all runs are there, 1 some failed (the others are kept), 2 wrong input, 130 stopped by Ctrl-C.
"""
REPORT = """\
examples:
  goalbound report out/first              after records were copied, or while a sweep is running
  goalbound report experiments/first.toml

Writes summary.csv, summary.json and report.html into the folder, and prints the table.
"""
RATIOS = """\
examples:
  goalbound ratios out/in-use
  goalbound ratios out/in-use out/in-use-roads --json
  goalbound ratios out/in-use-instances --problems "routing-grid*"

Prints a table in Markdown: the expected regret of each learner on each problem, the geometric mean of its ratios to
the best learner of each problem among those that begin alike (with nothing, a log or a guess), and the largest of
them. Learners of several experiments are known by their labels.
"""
FIGURES = """\
examples:
  goalbound figures out/first
  goalbound figures out/first --format pdf svg --out paper/figures
  goalbound figures out/first --width 3.4 --font "DejaVu Serif" --font-size 9

Figures narrower than 5 inches have their panels below each other. captions.txt, beside the figures, has their captions.
"""
EXPORT = """\
examples:
  goalbound export out/first --csv summary curves
  goalbound export out/first --parquet policies episodes --out data

summary   one row for each problem, contexts and learner, as in summary.csv
curves    expected regret and known steps along the episodes, means over seeds with 95% bands
policies  what each learner would play at last and what is best: by run, context and state, with names
episodes  every kept episode of every run

In Python: goalbound.experiments.load("out/first") has .summary(), .curves(), .policies() and .frame().
"""
COMPARE = """\
examples:
  goalbound compare out/before out/after
  goalbound compare out/first out/first-quick --json

Learners are matched by their labels, runs by their seeds; where runs have different lengths, regret is compared after
as many episodes as the shorter ones have.
"""
LEARNERS = """\
examples:
  goalbound learners
  goalbound learners ps-cssp          one of them, with the meaning of its settings; "thompson" finds it too
  goalbound learners --json
"""
CHECK = """\
examples:
  goalbound check experiments/first.toml          makes every learner, and says how many runs it is
  goalbound check experiments/first.toml --try    plays one episode of everything, too
  goalbound check problem.npz                     does it satisfy the contract of problems?
  goalbound check model.umb --loss time --goal done
  goalbound check learner.npz                     what a saved learner holds
  goalbound check --schema                        the JSON Schema of experiment files, for editors

exit code: 0 fine, 2 not.
"""

EXPLORE = """\
examples:
  goalbound explore windy-grid --set rows=5 columns=8     drag the weather; the page solves the problem at every context
  goalbound explore frozen-lake                           problems of experiments too
  goalbound explore model.umb --loss time --goal done
  goalbound explore out/first                             an experiment: what its learners would do, over time
  goalbound explore out/first --learner "LR-CSSP" --seed 3 --episodes 10000
  goalbound explore out/first --records                   only what the records have: the policies at the end
  goalbound explore out/first/records/0123456789abcdef.parquet     one run
  goalbound explore learner.npz                           a saved learner, on its own estimate
  goalbound explore learner.npz --truth problem.npz       ... beside the problem that it plays

Writes one page that loads nothing. Records have the policies of learners at the end only, so the runs are played again,
which takes as long as it took to run them, and some more to look at the learner on the way.
"""
FIT = """\
examples:
  goalbound fit log.csv --map incidents.toml --out learner.npz --report log.html
  goalbound fit log.parquet --loss minutes --unit min --cap 60 --loss-floor 1 --goal recovered --out learner.npz
  goalbound fit log.csv --map incidents.toml --report log.html     only a page about the log
  goalbound fit log.csv --map incidents.toml --errors skip --out learner.npz --learner greedy-ridge
  goalbound fit log.csv --map incidents.toml --since 2026-03-01 --out learner.npz     what came since a change

The file of --map holds all at once; options go first (docs/how_to/logs.md):

  goal = "recovered"
  [columns]                      case, time, state, action, loss, next_state, covariates or context, probability
  loss = "minutes"
  covariates = ["hour", "traffic"]
  [loss]                         unit, cap, beyond, floor
  unit = "min"
  cap = 60
  floor = 1
  [map]                          a map of covariates (docs/how_to/covariates.md)
  kind = "Tensor"
  columns = ["hour", "traffic"]
  maps = [{ kind = "Periodic", period = 24, knots = [3, 9, 15, 21] }, { kind = "Hats", knots = [0, 0.5, 1] }]
  [learner]                      use, and its settings as in experiments
  use = "lr-cssp"

exit code: 0 done, 2 wrong input (the first wrong row, unless --errors skip).
"""
WARM_UP = """\
examples:
  goalbound warm-up                     what LR-CSSP, greedy, epsilon-greedy, posterior-sampling and R-max learners run
  goalbound warm-up lr-cssp eb-ssp      what these learners of "goalbound learners" run, with their default settings

Kernels are compiled once for each machine and version and cached on disk; without this command that happens when the
first long run begins.
"""

STORE = """\
examples:
  goalbound store create incidents/ recovery --learner learner.npz    a file of "goalbound fit", or of learner.save
  goalbound store create incidents/ rival --learner other.npz --follows recovery      a challenger
  goalbound store status incidents/
  goalbound store verify incidents/                 the whole log, replayed; beside a running service too
  goalbound store replay incidents/ --check         the last events, replayed by this version: before an upgrade
  goalbound store backup incidents/ copy/           a copy as of now; beside a running service too
  goalbound store export incidents/ log.ndjson      one line for each event
  goalbound store import copy/ log.ndjson           the same log in a new store
  goalbound store compact incidents/ --archive old.ndjson     the log begins anew; what came before goes to the file
  goalbound store verify postgresql://goalbound@db/cases?schema=incidents      a store in PostgreSQL
  goalbound store promote incidents/ rival          the challenger takes the place of the learner that it follows
  goalbound store relearn incidents/ recovery --as fresh     a challenger that has forgotten what has changed
  goalbound store save-learner incidents/ recovery now.npz   the learner as it is now; beside a running service too

exit code: 0 done, 1 the store is damaged or a replay differs, 2 wrong input.
"""

SERVE = """\
examples:
  goalbound serve --store incidents/                             on http://127.0.0.1:8765, this machine only
  goalbound serve --store incidents/ --learner recovery=learner.npz     puts it into the store first, if it is missing
  goalbound serve --store incidents/ --socket /run/goalbound.sock       behind a proxy
  goalbound serve --store incidents/ --host 0.0.0.0              other machines too; needs tokens ("goalbound token")
  goalbound serve --store postgresql://goalbound@db/cases        learners and cases in PostgreSQL (extra: postgres)
  goalbound serve --store postgresql://goalbound@db/cases --standby     takes over when the one that serves it ends

A step is acknowledged when it is on the disk. The service listens at once; /readyz says when it is ready. SIGTERM ends
it: what waits is done, and a snapshot is taken.
docs/how_to/service.md says how to run it, docs/how_to/operations.md how to keep it running.

Leave passwords out of URLs: others see them in the list of processes. PGPASSFILE names a file for them.

exit code: 0 stopped, 1 the store cannot be opened, 2 wrong input, 74 the disk or the database failed, or another
process became the leader (start it again).
"""
TOKEN = """\
examples:
  goalbound token incidents/ --scope cases:write cases:read --days 90    shows a new token, once
  goalbound token incidents/                                            lists the tokens
  goalbound token incidents/ --revoke 1f2e3d4c                          takes effect within a second

scopes: cases:read, cases:write, events:read, metrics, admin (everything). As soon as there is a token, everybody needs
one.
"""
TABLES = ("summary", "curves", "policies", "episodes")
"""What can be exported."""
FUNCTIONS = {
    "solve": "solve:run", "problems": "problems:problems", "convert": "problems:convert", "demo": "demo:run",
    "run": "experiments:run", "report": "experiments:report", "figures": "experiments:figures",
    "export": "export:run", "compare": "compare:run", "ratios": "ratios:run",
    "learners": "learners:run", "check": "check:run", "fit": "fit:run", "warm-up": "warm_up:run",
    "explore": "explore:run", "store": "store:run", "serve": "serve:serve",
    "token": "serve:token",
}  # fmt: skip
"""The function that runs each command, in the modules of ``goalbound.cli``."""


STORE_ACTIONS = (
    "create", "status", "verify", "replay", "backup", "export", "import", "compact", "promote", "relearn",
    "save-learner",
)  # fmt: skip
"""What ``goalbound store`` does."""


class UsageError(Exception):
    """Invalid command-line usage."""


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


def _hint(word: str, known: Iterable[str]) -> str:
    import difflib

    names = {name.lstrip("-"): name for name in known}  # dashes would make all options alike
    close = difflib.get_close_matches(word.lstrip("-"), list(names), n=1)
    return f' (did you mean "{names[close[0]]}"?)' if close else ""


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
    commands = top.add_subparsers(metavar="COMMAND", title="commands")
    _add_solve(commands)
    _add_problems(commands)
    _add_convert(commands)
    _add_demo(commands)
    _add_run(commands)
    _add_report(commands)
    _add_figures(commands)
    _add_export(commands)
    _add_compare(commands)
    _add_ratios(commands)
    _add_learners(commands)
    _add_explore(commands)
    _add_check(commands)
    _add_fit(commands)
    _add_warm_up(commands)
    _add_store(commands)
    _add_serve(commands)
    _add_token(commands)
    return top


def _command(commands: argparse._SubParsersAction[Parser], name: str, summary: str, epilog: str) -> Parser:
    command = commands.add_parser(
        name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip
    command.set_defaults(function=f"goalbound.cli.{FUNCTIONS[name]}", command=command)
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


def _add_run(commands: argparse._SubParsersAction[Parser]) -> None:
    command = _command(commands, "run", "run an experiment: a file in, records, a summary and a report out", RUN)
    command.usage = "%(prog)s SPEC.toml [options]"
    command.add_argument("spec", metavar="SPEC.toml", help="the experiment (see docs/how_to/experiments.md)")
    command.add_argument("--workers", type=int, metavar="N", help="processes (default: one per processor)")
    command.add_argument("--on", metavar="ADDRESS", help="a Dask scheduler whose workers are used instead")
    command.add_argument("--out", metavar="FOLDER", help="where everything goes (default: out/NAME)")
    _add_changes(command)
    command.add_argument("--fresh", action="store_true", help="delete the records of these runs, and run all again")
    command.add_argument("--json", action="store_true", help="print events and the summary as JSON lines")
    command.add_argument("--quiet", action="store_true", help="show no progress")
    command.add_argument("--no-report", action="store_true", help="write no report.html")


def _add_report(commands: argparse._SubParsersAction[Parser]) -> None:
    command = _command(commands, "report", "sum up the records of an experiment and write its report", REPORT)
    _add_experiment(command)
    command.add_argument("--json", action="store_true", help="print the summary as one JSON object")


def _add_ratios(commands: argparse._SubParsersAction[Parser]) -> None:
    command = _command(commands, "ratios", "one table of several experiments: regrets, and ratios to the best", RATIOS)
    command.add_argument(
        "experiments", nargs="+", metavar="FOLDER|SPEC.toml", help="folders of results, or their files"
    )
    command.add_argument(
        "--problems",
        nargs="+",
        metavar="PATTERN",
        help="only those whose labels match one of these (* and ? stand for any)",
    )
    command.add_argument("--json", action="store_true", help="print the table as one JSON object")


def _add_figures(commands: argparse._SubParsersAction[Parser]) -> None:
    command = _command(commands, "figures", "draw the figures of an experiment for a paper", FIGURES)
    command.usage = "%(prog)s FOLDER|SPEC.toml [options]"
    _add_experiment(command)
    command.add_argument("--format", dest="formats", nargs="+", choices=("pdf", "svg", "png"), default=["pdf"],
                         help="which files (default: pdf)")  # fmt: skip
    command.add_argument("--width", type=float, metavar="INCHES", help="of the text or a column (default: 7.2)")
    command.add_argument("--font", metavar="FAMILY", help="a font of this machine (default: DejaVu Sans)")
    command.add_argument("--font-size", type=float, metavar="POINTS", help="of the text in figures (default: 8)")
    command.add_argument("--out", metavar="FOLDER", help="where they go (default: figures/ in the experiment)")


def _add_export(commands: argparse._SubParsersAction[Parser]) -> None:
    command = _command(commands, "export", "write the results of an experiment as CSV or Parquet", EXPORT)
    command.usage = "%(prog)s FOLDER|SPEC.toml [--csv TABLE ...] [--parquet TABLE ...] [options]"
    _add_experiment(command)
    for kind in ("csv", "parquet"):
        command.add_argument(f"--{kind}", nargs="+", action="extend", choices=TABLES, default=[], metavar="TABLE",
                             help=f"which tables as {kind}: {', '.join(TABLES)}")  # fmt: skip
    command.add_argument("--out", metavar="FOLDER", help="where they go (default: the folder of the experiment)")


def _add_compare(commands: argparse._SubParsersAction[Parser]) -> None:
    command = _command(commands, "compare", "say what changed between the results of two folders", COMPARE)
    command.add_argument("before", metavar="FOLDER", help="the folder of an experiment")
    command.add_argument("after", metavar="FOLDER", help="another one")
    command.add_argument("--json", action="store_true", help="print one JSON object for programs")


def _add_learners(commands: argparse._SubParsersAction[Parser]) -> None:
    command = _command(commands, "learners", "list what experiments may name: learners, contexts, losses", LEARNERS)
    command.add_argument("name", metavar="NAME", nargs="?", help="explain this one, with its settings")
    command.add_argument("--json", action="store_true", help="print JSON for programs")


def _add_explore(commands: argparse._SubParsersAction[Parser]) -> None:
    command = _command(commands, "explore", "write a page to drag a context in: policies, values, learners", EXPLORE)
    command.usage = "%(prog)s PROBLEM|RUN [options]"
    command.add_argument("target", metavar="PROBLEM|RUN",
                         help="a problem by name or file; an experiment (its folder or file), a record (.parquet) "
                         "or a learner (.npz)")  # fmt: skip
    command.add_argument("--out", metavar="PAGE.html", help="where the page goes (default: in out/)")
    command.add_argument("--set", dest="settings", nargs="+", action="extend", default=[], metavar="KEY=VALUE",
                         help="settings of a built-in problem")  # fmt: skip
    command.add_argument("--grid", metavar="RxC", help="draw states, numbered row by row, on a grid, such as 4x12")
    command.add_argument("--seconds", type=float, default=10.0, metavar="N",
                         help="the most that the search for B* and T* may take (default: 10)")  # fmt: skip
    command.add_argument("--problem", metavar="LABEL", help="of an experiment: the problem (default: the first)")
    command.add_argument("--learner", dest="learners", action="append", default=[], metavar="LABEL",
                         help="of an experiment: a learner; may be given again (default: all)")  # fmt: skip
    command.add_argument("--seed", type=int, metavar="N", help="of an experiment: the seed (default: the first)")
    command.add_argument("--records", action="store_true", help="play no run again; show what records have")
    command.add_argument("--episodes", type=_count, metavar="N", help="play no more than so many episodes again")
    command.add_argument("--views", type=_count, metavar="N",
                         help="how often learners are looked at on the way (default: 6)")  # fmt: skip
    command.add_argument("--contexts", type=_count, metavar="N",
                         help="at how many contexts, at most, learners are looked at (default: 36)")  # fmt: skip
    command.add_argument("--truth", metavar="FILE|PROBLEM", help="of a learner: the problem that it plays")
    command.add_argument("--plugin", dest="plugins", action="append", default=[], metavar="MODULE",
                         help="let runs use code of this module")  # fmt: skip
    _add_file_options(command)


def _count(word: str) -> int:
    """A whole number from 1 on.

    >>> _count("36")
    36
    """
    if not (word.isascii() and word.isdigit() and len(word) <= 12 and int(word) > 0):
        raise argparse.ArgumentTypeError(f"{word!r} is not a whole number from 1 on")
    return int(word)


def _add_fit(commands: argparse._SubParsersAction[Parser]) -> None:
    command = _command(commands, "fit", "learn from a log of what people did, and leave a page about it", FIT)
    command.usage = "%(prog)s LOG [options]"
    command.add_argument("log", metavar="LOG", help="a CSV (UTF-8) or Parquet file, one row for each step")
    command.add_argument("--map", metavar="FILE.toml", help="how the log is read, and by which learner")
    command.add_argument("--out", metavar="LEARNER.npz", help="where the learner goes")
    command.add_argument("--overwrite", action="store_true", help="replace a learner that is there already")
    command.add_argument("--report", metavar="PAGE.html", help="where a page about the log goes")
    for name, what in (("case", "the case"), ("time", "the time"), ("state", "the state"), ("action", "the action"),
                       ("loss", "the loss"), ("next-state", "the next state"), ("probability", "how likely the action "
                       "was")):  # fmt: skip
        command.add_argument(f"--{name}", dest=f"column_{name.replace('-', '_')}", metavar="COLUMN",
                             help=f"the column of {what}")  # fmt: skip
    command.add_argument("--covariates", dest="column_covariates", nargs="+", metavar="COLUMN",
                         help="the columns that the map reads")  # fmt: skip
    command.add_argument("--context", dest="column_context", nargs="+", metavar="COLUMN",
                         help="the columns that are the context itself")  # fmt: skip
    command.add_argument("--since", metavar="TIME", help="only the steps from this time on, such as 2026-03-01")
    command.add_argument("--until", metavar="TIME", help="only the steps before this time")
    command.add_argument("--goal", metavar="NAME", help='what the log calls the goal (default: "goal")')
    command.add_argument("--support", metavar="FILE|PROBLEM",
                         help="a problem, or the file of a learner, that says where actions can lead (default: the "
                         "log itself)")  # fmt: skip
    command.add_argument("--support-out", metavar="FILE.toml",
                         help="where the support goes, as tables to complete for the file of --map")  # fmt: skip
    command.add_argument("--unit", metavar="UNIT", help="the unit of the losses, such as min")
    command.add_argument("--cap", type=float, metavar="X", help="how many of the unit are a loss of 1")
    command.add_argument("--beyond", choices=("refuse", "clip"), help="losses above the cap (default: refuse)")
    command.add_argument("--loss-floor", type=float, metavar="X",
                         help="the least mean loss of a step that you are sure of, in the unit; above 0")  # fmt: skip
    command.add_argument("--errors", choices=("raise", "skip"), help="what wrong rows are (default: raise)")
    command.add_argument(
        "--learner",
        metavar="NAME",
        help='a name from "goalbound learners" (default: lr-cssp, fast widths)',
    )
    command.add_argument("--set", dest="settings", nargs="+", action="extend", default=[], metavar="KEY=VALUE",
                         help="settings of the learner")  # fmt: skip
    command.add_argument("--seed", type=int, default=0, metavar="N", help="of learners that draw (default: 0)")
    command.add_argument("--json", action="store_true", help="print one JSON object for programs")


def _add_warm_up(commands: argparse._SubParsersAction[Parser]) -> None:
    command = _command(commands, "warm-up", "compile ahead what learners and the planner run", WARM_UP)
    command.add_argument("learners", nargs="*", metavar="LEARNER", help="names of learners (default: the common ones)")


def _add_store(commands: argparse._SubParsersAction[Parser]) -> None:
    command = _command(
        commands, "store", "learners in a folder or database, every step on the disk: make, check, copy", STORE
    )
    command.usage = "%(prog)s ACTION FOLDER|URL [options]"
    command.add_argument("action", metavar="ACTION", help=", ".join(STORE_ACTIONS), choices=STORE_ACTIONS)
    command.add_argument("folder", metavar="FOLDER|URL", help="the store: a folder, or postgresql://user@host/database")
    command.add_argument("target", metavar="NAME|FILE", nargs="?",
                         help="create, promote, relearn, save-learner: the name of a learner; export, import: a "
                              "file; backup: a new folder")  # fmt: skip
    command.add_argument("file", metavar="FILE", nargs="?", help="save-learner: where the learner goes")
    command.add_argument("--as", dest="new_name", metavar="NAME",
                         help="relearn: the name of the new learner (default: that of the old one with -relearned)"
                         )  # fmt: skip
    command.add_argument("--learner", metavar="LEARNER.npz", help="create: the file of the learner")
    command.add_argument("--follows", metavar="NAME", help="create: the learner whose cases it follows as challenger")
    command.add_argument("--archive", metavar="FILE", help="compact: where the removed events go")
    command.add_argument("--check", action="store_true", help="replay: compare the last events, and change nothing")
    command.add_argument("--json", action="store_true", help="print one JSON object for programs")


def _add_serve(commands: argparse._SubParsersAction[Parser]) -> None:
    command = _command(commands, "serve", "answer over HTTP what to do next, and learn from what came of it", SERVE)
    command.usage = "%(prog)s --store FOLDER|URL [options]"
    command.add_argument("folder", metavar="FOLDER|URL", nargs="?", help="the same as --store")
    command.add_argument("--store", metavar="FOLDER|URL", help="a folder, or postgresql://user@host/database")
    command.add_argument("--learner", dest="learners", action="append", default=[], metavar="NAME=FILE",
                         help="a learner that is put into the store if it is not there")  # fmt: skip
    command.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (default: 127.0.0.1)")
    command.add_argument("--port", type=int, default=8765, metavar="N", help="where to listen (default: 8765)")
    command.add_argument("--socket", metavar="PATH", help="a Unix socket to listen on instead")
    command.add_argument("--most-cases", type=int, default=100_000, metavar="N",
                         help="so many cases may be open at once (default: 100000)")  # fmt: skip
    command.add_argument("--rate", type=float, metavar="N", help="the most requests a second by one token")
    command.add_argument("--reserve", type=_bytes, default=16 * 2**20, metavar="BYTES",
                         help="write nothing when the disk has less space left (default: 16M)")  # fmt: skip
    command.add_argument("--standby", action="store_true",
                         help="where another process leads the store of a database: wait for its place")  # fmt: skip
    command.add_argument("--access-log", action="store_true",
                         help="say each request: its route, status and time; no ids, no contexts")  # fmt: skip
    command.add_argument("--cold", action="store_true", help="do not compile ahead; the first requests may wait long")


def _add_token(commands: argparse._SubParsersAction[Parser]) -> None:
    command = _command(commands, "token", "make, list and revoke the tokens of a decision service", TOKEN)
    command.usage = "%(prog)s FOLDER|URL [options]"
    command.add_argument("folder", metavar="FOLDER|URL", help="the store: a folder, or postgresql://user@host/database")
    command.add_argument("--scope", dest="scopes", nargs="+", action="extend", default=[], metavar="SCOPE",
                         help="make a token that allows this")  # fmt: skip
    command.add_argument("--days", type=float, metavar="N", help="... for so long (default: for ever)")
    command.add_argument("--revoke", metavar="ID", help="the token with this id counts no more")


def _add_check(commands: argparse._SubParsersAction[Parser]) -> None:
    command = _command(commands, "check", "check an experiment, a problem or a learner, without running it", CHECK)
    command.usage = "%(prog)s FILE [options]"
    command.add_argument("file", metavar="FILE", nargs="?",
                         help="an experiment (.toml), a problem (.npz, .umb, .drn), a learner (.npz) or a record "
                         "(.parquet)")  # fmt: skip
    _add_changes(command)
    command.add_argument("--try", dest="attempt", action="store_true", help="play one episode of every combination")
    command.add_argument("--schema", action="store_true", help="print the JSON Schema of experiment files")
    _add_file_options(command)


def _add_file_options(command: Parser) -> None:
    """Options for reading the file of a problem."""
    command.add_argument("--loss", metavar="NAME", help="which reward model of a .umb or .drn file is the loss")
    command.add_argument("--goal", metavar="LABEL", help="which label of a .umb or .drn file marks the goal")
    command.add_argument("--limit", type=_bytes, default=4 * 2**30, metavar="BYTES",
                         help="the most bytes that a file may have, such as 500M or 8G (default: 4G)")  # fmt: skip


def _bytes(word: str) -> int:
    """A number of bytes, maybe in units of 1024, 1024^2 or 1024^3.

    >>> _bytes("4G") == _bytes("4294967296") == 4 * 2**30
    True
    """
    unit = {"K": 2**10, "M": 2**20, "G": 2**30}.get(word[-1:].upper(), 1)
    digits = word if unit == 1 else word[:-1]
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 18):
        raise argparse.ArgumentTypeError(f"{word!r} is not a number of bytes; give one such as 8589934592, or 8G")
    return int(digits) * unit


def _add_changes(command: Parser) -> None:
    """Options that change an experiment."""
    command.add_argument("--quick", action="store_true", help="with what the file says under [quick]: seconds")
    command.add_argument("--set", dest="settings", nargs="+", action="extend", default=[], metavar="KEY=VALUE",
                         help="change keys of the file; learners.scale=0.1 sets all learners")  # fmt: skip
    command.add_argument("--plugin", dest="plugins", action="append", default=[], metavar="MODULE",
                         help="let the file name code of this module, installed or beside the file")  # fmt: skip


def _add_experiment(command: Parser) -> None:
    command.add_argument("experiment", metavar="FOLDER|SPEC.toml",
                         help="the folder of an experiment, or its file (then the folder is out/NAME)")  # fmt: skip


def _add_problem(command: Parser) -> None:
    """Arguments that select a problem."""
    command.add_argument("problem", metavar="FILE|PROBLEM",
                         help='a .npz, .umb or .drn file, or a name from "goalbound problems"')  # fmt: skip
    command.add_argument("--context", metavar="C",
                         help='weights that sum to 1 (0.2,0.8), the name of a component, or "middle"')  # fmt: skip
    command.add_argument("--set", dest="settings", nargs="+", action="extend", default=[], metavar="KEY=VALUE",
                         help="settings of a built-in problem")  # fmt: skip
    _add_file_options(command)
