"""Settings for all tests."""

from hypothesis import HealthCheck, settings

from tests.strategies import EXAMPLES_FACTOR

# The same examples at every run, so that a red build is red for everyone; with a factor, fresh ones, and more of them.
settings.register_profile(
    "goalbound",
    max_examples=20 * EXAMPLES_FACTOR,
    derandomize=EXAMPLES_FACTOR == 1,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("goalbound")

collect_ignore = ["reference"]  # witnesses, not tests; one of them needs an optional library
