"""``goalbound problems``, ``goalbound convert``, and the problem and context that arguments select."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.cli.text import safe_name
from goalbound.errors import ArgumentError, InputError
from goalbound.extras import install_command
from goalbound.models import SSP, LinearCSSP
from goalbound.problems.catalog import CATALOG, catalog_entry
from goalbound.terminal import one_line

MIDDLE = "middle"


def problems(arguments: Namespace) -> int:
    """``goalbound problems``: the built-in problems and their settings, and the environments of Gymnasium."""
    from goalbound.experiments.registry.problems import ENVIRONMENTS, PROBLEMS

    if arguments.json:
        listing = [
            *(_listed(one.name, one.summary, one.defaults, "simulated") for one in CATALOG.values()),
            *(_listed(one.name, one.summary, one.settings, "gymnasium") for one in ENVIRONMENTS),
        ]
        print(json.dumps(listing, indent=2, allow_nan=False))
        return 0
    width = max(map(len, PROBLEMS.entries))
    for entry in CATALOG.values():
        settings = " ".join(f"{name}={value}" for name, value in entry.defaults.items())
        print(f"{entry.name:{width}}  {entry.summary}")
        print(f"{'':{width}}  --set {settings}\n" if settings else f"{'':{width}}  no settings\n")
    print(f"only in experiments, with the extra gym ({install_command('gym')}):\n")
    for one in ENVIRONMENTS:
        print(f"{one.name:{width}}  {one.summary}\n")
    print("solve one: goalbound solve windy-grid --set rows=8 columns=12")
    return 0


def _listed(name: str, summary: str, settings: Mapping[str, Any], environment: str) -> dict[str, Any]:
    return {"name": name, "summary": summary, "settings": dict(settings), "environment": environment}


def convert(arguments: Namespace) -> int:
    """``goalbound convert``: read a problem, mix it by the context if there is one, write it in another format."""
    from goalbound.models.files import save

    problem = find_problem(arguments)
    if arguments.context is not None:
        context = find_context(problem, arguments.context)
        problem = problem.at(context) if isinstance(problem, LinearCSSP) else problem
    try:
        save(problem, arguments.out)
    except OSError as error:  # it names the temporary file
        raise OSError(error.errno, error.strerror, arguments.out) from error
    print(f"{one_line(arguments.out)}: {problem}")
    if problem.support.state_names and not arguments.out.lower().endswith(".npz"):
        print("the names of the states were left out: this format has none")
    return 0


def find_problem(arguments: Namespace) -> SSP | LinearCSSP:
    """The problem that ``problem``, ``settings``, ``loss`` and ``goal`` select: a file, or a built-in problem."""
    if _is_file(arguments.problem):
        if arguments.settings:
            raise ArgumentError(f"{arguments.problem} is a file; --set is for built-in problems")
        from goalbound.models.files import load

        return load(arguments.problem, loss=arguments.loss, goal=arguments.goal, limit=arguments.limit)
    if arguments.problem not in CATALOG and Path(arguments.problem).is_dir():
        raise ArgumentError(f"{arguments.problem} is a directory; give a .npz, .umb or .drn file")
    entry = catalog_entry(arguments.problem)
    if arguments.loss is not None or arguments.goal is not None:
        raise ArgumentError(f"{entry.name} is a built-in problem; --loss and --goal are for .umb and .drn files")
    settings = entry.parse(arguments.settings)
    try:
        return entry.make(settings)
    except InputError:
        raise
    except (ValueError, OverflowError) as error:  # numbers beyond what arrays can count
        raise ArgumentError(f"{entry.name} cannot be made with {' '.join(arguments.settings)} ({error})") from error


def is_learner_file(path: str) -> bool:
    """Whether a file holds a learner that ``load_learner`` reads."""
    from goalbound.adapters.learner_files import LEARNER_KINDS, WRAPPER_KINDS
    from goalbound.models.files.array_file import peek_header

    kind = peek_header(path).get("kind") if path.lower().endswith(".npz") else None
    return isinstance(kind, str) and kind in {*LEARNER_KINDS, *WRAPPER_KINDS}


def find_context(problem: SSP | LinearCSSP, words: str) -> NDArray[np.float64]:
    """[d] the context of an argument: a component's name, "middle", or d weights.

    >>> find_context(CATALOG["demo"].make(), "west wind")
    array([0., 1., 0.])
    >>> find_context(CATALOG["demo"].make(), "1/3,1/3,1/3")
    array([0.33333333, 0.33333333, 0.33333333])
    """
    if isinstance(problem, SSP):
        raise ArgumentError("this problem has no context; leave --context out")
    names = problem.component_names or ()
    if words in names:
        return np.eye(problem.context_size)[names.index(words)]
    if words == MIDDLE:
        return uniform_context(problem)
    weights = [_weight(word) for word in words.split(",")]
    if any(weight is None for weight in weights):
        known = ", ".join(f'"{safe_name(name)}"' for name in names)
        raise ArgumentError(
            f'no context is called "{words}"; give {_weights(problem)}, "{MIDDLE}"' + (f", or {known}" if known else "")
        )
    if len(weights) != problem.context_size:
        raise ArgumentError(f'context "{words}" has {_numbers(len(weights))}; give {_weights(problem)}')
    return problem.check_context(np.array(weights, dtype=np.float64))


def uniform_context(problem: LinearCSSP) -> NDArray[np.float64]:
    """[d] equal weights: the context of the averaged model."""
    return np.full(problem.context_size, 1.0 / problem.context_size)


def context_name(problem: LinearCSSP, context: Sequence[float]) -> str:
    """The display name of a context: a component's name, or its weights with the names of those that are not zero."""
    if max(context) == 1.0:
        component = list(context).index(1.0)
        return safe_name(problem.component_names[component]) if problem.component_names else f"component {component}"
    names = problem.component_names or [f"component {at}" for at in range(problem.context_size)]
    parts = [f"{weight:.4g} {safe_name(name)}" for weight, name in zip(context, names, strict=True) if weight > 0.0]
    return " + ".join(parts[:8]) + (f" + {len(parts) - 8} more" if len(parts) > 8 else "")


def _is_file(word: str) -> bool:
    """Whether a word is a path: it has a separator or a dot, which names of problems have not, or the file exists."""
    separators = {os.sep, os.altsep or os.sep, "."}
    path = Path(word)
    return any(mark in word for mark in separators) or (path.exists() and not path.is_dir())


def _weight(word: str) -> float | None:
    """A number or a fraction; None for a word that is neither."""
    above, slash, below = word.partition("/")
    try:
        return float(above) / float(below) if slash else float(above)
    except (ValueError, ZeroDivisionError):
        return None


def _weights(problem: LinearCSSP) -> str:
    return f"{_numbers(problem.context_size)} that sum to 1, with commas between them"


def _numbers(count: int) -> str:
    return "1 number" if count == 1 else f"{count} numbers"
