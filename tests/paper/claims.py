"""What all tests of the claims say."""

import json

from guarantees.charts import CHARTS, result_charts
from guarantees.result import Result
from tests.support.golden import assert_golden, digest_of_result


def assert_held(result: Result) -> None:
    assert result.checks
    for check in result.checks:
        assert check.held, f"{result.part}: {check}"
    charts = [chart.as_json() for chart in result_charts(result)]
    assert bool(charts) == (result.part in CHARTS)
    assert json.dumps(charts, allow_nan=False)
    assert_golden(f"paper-{result.part}", {"numbers": digest_of_result(result)})
