"""``goalbound convert``: a problem as a file of another format."""

from __future__ import annotations

from argparse import Namespace

from goalbound.cli.problem_arguments import find_context, find_problem
from goalbound.models import LinearCSSP
from goalbound.terminal import one_line


def run(arguments: Namespace) -> int:
    """Read, mix by the context if there is one, write."""
    from goalbound.models.files import save

    problem = find_problem(arguments)
    if arguments.context is not None:
        context = find_context(problem, arguments.context)
        problem = problem.at(context) if isinstance(problem, LinearCSSP) else problem
    try:
        save(problem, arguments.out)
    except OSError as error:  # it names the temporary file beside the one that is meant
        raise OSError(error.errno, error.strerror, arguments.out) from error
    print(f"{one_line(arguments.out)}: {problem}")
    if problem.support.state_names and not arguments.out.lower().endswith(".npz"):
        print("the names of the states were left out: this format has none")
    return 0
