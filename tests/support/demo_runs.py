"""A short demo, and one whose numbers are made by hand."""

from goalbound.cli.demo.learning import LEARNERS, PROBLEM, Learning, Run
from goalbound.problems.catalog import catalog_entry

EPISODES = 120
"""Few enough that kernels run as Python and no test waits for the compiler."""


class ProgressLog:
    """Remembers the progress of each run."""

    def __init__(self):
        self.calls = {}

    def __call__(self, name, episodes):
        calls = self.calls[name] = []
        return lambda done: calls.append((done, episodes))


def made_learning():
    """Regrets of 10 sqrt(K), 5 sqrt(K) and K over 100 patients."""
    patients = [float(k) for k in range(1, 101)]
    runs = []
    for name, (factor, power) in zip(LEARNERS, ((10.0, 0.5), (5.0, 0.5), (1.0, 1.0)), strict=True):
        regrets = [(k, factor * k**power) for k in patients]
        values = [(k, 1.0 - 1.0 / (1.0 + k)) for k in patients]
        runs.append(Run(name, "a card", regrets[-1][1], 2.0, 1.5, power, 0.0, 0, regrets, values))
    return Learning(catalog_entry("treatment-ladder").make(dict(PROBLEM)), 100, 1.0, 1.0, 1.08, runs)
