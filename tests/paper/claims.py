"""What all tests of the claims say."""

from guarantees.result import Result


def assert_held(result: Result) -> None:
    assert result.checks
    for check in result.checks:
        assert check.held, f"{result.part}: {check}"
