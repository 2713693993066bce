"""Settings for all tests."""

import os

from hypothesis import HealthCheck, settings

# The same examples at every run, so that a red build is red for everyone; `HYPOTHESIS_PROFILE=explore` looks further.
_shared = {"deadline": None, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("steady", derandomize=True, max_examples=60, **_shared)
settings.register_profile("explore", max_examples=2000, **_shared)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
