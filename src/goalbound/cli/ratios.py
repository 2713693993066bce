"""``goalbound ratios``: one table of several experiments, with the ratios to the best learner."""

from __future__ import annotations

from argparse import Namespace

from goalbound.cli.arguments import UsageError
from goalbound.cli.experiments import read_results
from goalbound.cli.text import print_error
from goalbound.experiments.ratios import format_ratios, learner_ratios, ratios_as_json
from goalbound.experiments.summary import RunGroup, group_runs


def run(arguments: Namespace) -> int:
    """Print regrets and their ratios to the best, over several experiments; nothing is run."""
    experiments: dict[str, list[RunGroup]] = {}
    for word in arguments.experiments:
        results = read_results(word)
        name = results.spec.name
        if name in experiments:
            raise UsageError(f"two of the experiments are called {name}; give each once")
        experiments[name] = group_runs(results.records, results.runs)
        for one in results.summarised.missing:
            print_error(f"{name}: {one}")
    found = learner_ratios(experiments)
    if found and arguments.problems:
        labels = dict.fromkeys(problem for one in found for problem in one.regret)
        found = learner_ratios(experiments, problems=arguments.problems)
        if not found:
            raise UsageError(f"no problem matches {' or '.join(arguments.problems)}; there are {', '.join(labels)}")
    if not found:
        raise UsageError("the experiments have no records to compare; run them first")
    print(ratios_as_json(found) if arguments.json else format_ratios(found))
    return 0
