"""What all tests of the claims say."""

from guarantees.result import Result
from tests.support.golden import assert_golden, digest_of_result


def assert_held(result: Result) -> None:
    assert result.checks
    for check in result.checks:
        assert check.held, f"{result.part}: {check}"
    assert_golden(f"paper-{result.part}", {"numbers": digest_of_result(result)})
