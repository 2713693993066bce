"""What clients send and understand."""

import json

import numpy as np
import pytest

from goalbound import errors
from goalbound.serve.client.calls import (
    Proposal,
    begin,
    bounds,
    error_of,
    moved,
    propose,
    report,
    show,
    understood,
    wait_before,
)

PROPOSAL = Proposal("a", 3, 1, "page", 1.0, 9, False)


def test_a_case_has_its_id_and_a_step_its_number_before_they_are_sent():
    one, other = (begin("x", [1.0], 0, id=None, allowed=None) for _ in range(2))
    assert one.body["id"] != other.body["id"]
    assert begin("x", {"hour": 2}, "down", id="a", allowed=("page",)).body == {
        "context": {"hour": 2}, "state": "down", "id": "a", "allowed": ["page"],
    }  # fmt: skip
    assert report("x", PROPOSAL, "goal", loss=0.0, action="page").body == {
        "step": 4, "next_state": "goal", "loss": 0.0, "action": "page",
    }  # fmt: skip
    assert moved("x", PROPOSAL, "goal", allowed=("page",)).body == {
        "step": 4, "next_state": "goal", "allowed": ["page"],
    }  # fmt: skip
    with pytest.raises(errors.InputError, match="loss is None"):
        report("x", PROPOSAL, "goal", loss=None)
    assert show("learners", "a/b").path == "/v1/learners/a%2Fb"
    with pytest.raises(errors.InputError, match="no name"):
        show("learners", "")


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (409, "step-conflict", errors.StepConflict),
        (409, "step-gap", errors.StepGap),
        (404, "case-not-found", errors.CaseNotFound),
        (404, "learner-not-found", errors.LearnerNotFound),
        (409, "case-finished", errors.CaseFinished),
        (422, "invalid", errors.InputError),
        (401, "token", errors.AccessRefused),
        (403, "scope", errors.AccessRefused),
        (507, "storage-full", errors.StorageFull),
        (503, "overloaded", errors.StoreOverloaded),
        (500, "internal", errors.ServiceError),
        (404, "", errors.ServiceError),
    ],
)
def test_errors_are_the_classes_that_they_are_on_the_other_side(status, code, kind):
    found = error_of(status, code, "why", 4)
    assert type(found) is kind
    assert str(found) == "why"
    if isinstance(found, errors.CaseError):
        assert found.expected_step == 4


@pytest.mark.parametrize("text", [b"", b"<html>", b"[1]", b'{"detail": 3}'])
def test_an_answer_of_a_proxy_is_an_error_too(text):
    with pytest.raises(errors.ServiceError):
        understood(502, text, place="http://proxy/v1/learners")


@pytest.mark.parametrize(
    ("status", "text"), [(301, b"<html>moved"), (302, b"{}"), (200, b"<html>log in"), (200, b"\xff"), (200, b"[]"),
                         (204, b""), (200, b'{"step": 1}')],
)  # fmt: skip
def test_what_no_service_answers_is_an_error_with_its_status_and_place(status, text):
    with pytest.raises(errors.ServiceError, match=f"http://proxy/x: the answer, of status {status}, is not") as caught:
        understood(status, text, place="http://proxy/x", has=("case", "step"))
    assert caught.value.status == status
    assert understood(201, b'{"case": "a", "step": 1}', place="", has=("case", "step")) == {"case": "a", "step": 1}


def test_numbers_of_numpy_are_sent_as_numbers():
    one, two = np.int64(1), np.array([0, 1])
    for call in (
        begin("x", np.array([1.0, 0.0]), one, id="a", allowed=two),
        begin("x", {"hour": one}, one, id="a", allowed=[one, np.int32(0)]),
        report("x", PROPOSAL, one, loss=np.float32(0.5), action=one, allowed=(one,)),
        moved("x", PROPOSAL, one, allowed=two),
        propose("x", "a", two),
        propose("x", "a", [one]),
        bounds("x", [np.float64(1.0)], {one: one}),
    ):
        json.dumps(call.body)
    assert begin("x", [one], one, id="a", allowed=two).body == {
        "context": [1], "state": 1, "id": "a", "allowed": [0, 1],
    }  # fmt: skip


def test_waits_grow_are_bounded_and_heed_the_service():
    assert 0.0 < wait_before(0, None) <= 0.05
    assert wait_before(50, None) <= 5.0
    assert wait_before(0, "2") == 2.0
    assert wait_before(0, "99999") == 5.0
    assert wait_before(0, "soon") <= 0.05
