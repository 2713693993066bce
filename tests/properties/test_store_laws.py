"""A store against a model in a few lines: whatever is asked in whatever order, with crashes between."""

from hypothesis import settings

from faults.states import StoreLaws
from tests.support.strategies import EXAMPLES_FACTOR

StoreLaws.TestCase.settings = settings(max_examples=8 * EXAMPLES_FACTOR, stateful_step_count=25)
TestStoreLaws = StoreLaws.TestCase
