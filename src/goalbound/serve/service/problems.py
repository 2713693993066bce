"""Errors as HTTP answers (RFC 9457)."""

from __future__ import annotations

import http
import logging
import traceback

from goalbound.errors import (
    CaseError,
    CaseExists,
    CaseFinished,
    CaseNotFound,
    GoalboundError,
    InputError,
    LearnerNotFound,
    NotLeader,
    StepConflict,
    StepGap,
    StorageFailed,
    StorageFull,
    StoreClosed,
    StoreError,
    StoreOverloaded,
    TooManyCases,
)
from goalbound.serve.service.messages import Problem

log = logging.getLogger("goalbound.serve.service")

STATUS: dict[type[Exception], int] = {
    LearnerNotFound: 404, CaseNotFound: 404, CaseFinished: 409, CaseExists: 409, StepConflict: 409, StepGap: 409,
    TooManyCases: 429, StorageFull: 507, StoreOverloaded: 503, StorageFailed: 503, StoreClosed: 503,
    NotLeader: 503,
}  # fmt: skip
"""The status of each error that has one of its own; wrong input is 422, a store that cannot go on 503, anything else
500."""
_SAID: dict[type[Exception], str] = {
    NotLeader: "", StoreOverloaded: "", StoreClosed: "",
    StorageFull: "no space is left: nothing was recorded, and reading goes on",
    StorageFailed: "reading or writing failed; the same can be asked again",
}  # fmt: skip
"""What whoever asks is told of a store. Other words of its errors say where the store is, which is for the log."""
_STOPPED = "the store cannot go on; the log of the service says why"
RETRY_AFTER = {408: "1", 429: "5", 503: "1", 507: "30"}
"""Seconds after which it is worth asking again."""


_BY_HTTP = {
    "abandon(reason) the episode": "POST .../abandon",
    'raise the cap, or count such losses as the cap with beyond="clip"': "a learner with a larger cap is to be put in",
}
"""Remedies of errors for people who write Python, and the same for those who send requests."""


class Refused(Exception):
    """A request that is refused before it comes to the store."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code


def problem_of(error: BaseException, request_id: str) -> Problem:
    """What is answered to whoever caused an error. Of errors of our own it says nothing but the request's id."""
    if isinstance(error, Refused):
        return problem(error.status, error.code, str(error), request_id)
    if isinstance(error, CaseError):
        return problem(
            STATUS.get(type(error), 422), error.code, str(error), request_id, expected_step=error.expected_step
        )
    if isinstance(error, InputError):
        text = str(error)
        for python, request in _BY_HTTP.items():
            text = text.replace(python, request)
        return problem(422, "invalid", text, request_id)
    if isinstance(error, StoreError):
        said = _SAID.get(type(error), _STOPPED)
        if said:
            log.error("request %s failed: %s", request_id, error)
        return problem(STATUS.get(type(error), 503), error.code, said or str(error), request_id)
    log.error("request %s failed: %s", request_id, where_raised(error))
    what = "computation" if isinstance(error, GoalboundError) else "internal"
    return problem(500, what, "the request could not be answered; the log of the service says why", request_id)


def where_raised(error: BaseException) -> str:
    """The type of an error and the lines that raised it, without its words: they may hold values of a request."""
    return f"{type(error).__name__}\n{''.join(traceback.format_tb(error.__traceback__))}"


def problem(status: int, code: str, detail: str, request_id: str = "", *, expected_step: int | None = None) -> Problem:
    """An error, as it is sent."""
    return Problem(
        f"urn:goalbound:{code}", http.HTTPStatus(status).phrase, status, detail[:2000], code, expected_step, request_id
    )
