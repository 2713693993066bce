"""What the package itself does: Gymnasium is imported only by what needs it."""

import subprocess
import sys

import pytest

from goalbound.adapters import gymnasium
from goalbound.extras import install_command


def test_without_gymnasium_tables_can_be_read_and_the_environment_says_what_to_install():
    program = """
import sys
sys.modules["gymnasium"] = None  # as if it were not installed
from goalbound.adapters.gymnasium import every_termination, from_environments, per_step
class Table:
    P = {0: {0: [(1.0, 0, 0, True)]}}
    initial_state_distrib = [1.0]
print(from_environments([Table()], losses=per_step(0.1), goals=every_termination).problem)
try:
    from goalbound.adapters.gymnasium import LinearCSSPEnv
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "LinearCSSP(1 components, 1 states, 1 pairs, 1 next states)",
        f"Gymnasium is not installed; this part needs it: {install_command('gym')}",
    ]


def test_the_package_has_what_it_lists_and_nothing_else():
    assert all(getattr(gymnasium, name).__module__.startswith("goalbound.") for name in gymnasium.__all__)
    with pytest.raises(AttributeError, match=r"module 'goalbound.adapters.gymnasium' has no attribute 'GymProblems'"):
        gymnasium.GymProblems  # noqa: B018 - looked up for its error
