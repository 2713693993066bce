"""Errors as answers."""

import pytest

from goalbound import errors
from goalbound.serve.service.problems import STATUS, Refused, problem_of


def test_every_error_of_a_case_or_a_store_has_a_status_or_is_an_error_of_ours():
    for one in vars(errors).values():
        if isinstance(one, type) and issubclass(one, errors.CaseError) and one is not errors.CaseError:
            assert one in STATUS


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (errors.StepGap("step 1 is the next one", 1), 409, "step-gap"),
        (errors.ArgumentError("no"), 422, "invalid"),
        (errors.StorageFull("full"), 507, "storage-full"),
        (errors.StoreOverloaded("busy"), 503, "overloaded"),
        (errors.PlanningStopped("no plan"), 500, "computation"),
        (errors.StoreDamaged("a secret path"), 503, "store-damaged"),
        (errors.ReplayDifference("a secret path"), 503, "replay-difference"),
        (errors.StorageFailed("a secret path"), 503, "storage-failed"),
        (errors.StoreError("a secret path"), 503, "store"),
        (errors.NotLeader("it is not me"), 503, "not-leader"),
        (ZeroDivisionError("a bug"), 500, "internal"),
        (Refused(418, "teapot", "short"), 418, "teapot"),
    ],
)
def test_an_error_has_a_status_and_a_code(error, status, code, caplog):
    found = problem_of(error, "r1")
    assert (found.status, found.code, found.type) == (status, code, f"urn:goalbound:{code}")
    assert found.request_id == "r1"
    if status == 500 or "secret" in str(error):  # the log has it
        assert str(error) not in found.detail
        assert (type(error).__name__ if status == 500 else str(error)) in caplog.text


def test_the_log_says_where_a_defect_was_and_not_with_which_values(caplog):
    def divided(value):
        return value / {}["marker"]

    try:
        divided(1.0)
    except KeyError as error:
        found = problem_of(error, "r-1")
    assert (found.status, found.code) == (500, "internal")
    assert "KeyError" in caplog.text
    assert "in divided" in caplog.text
    assert "KeyError: 'marker'" not in caplog.text
