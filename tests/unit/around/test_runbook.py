"""Runbooks of learners that act by one."""

from __future__ import annotations

import pytest

from goalbound.around.runbook import checked_runbook
from goalbound.errors import InputError
from tests.support.incidents_at_work import BEFORE


def test_a_runbook_is_read_from_names_and_numbers() -> None:
    page = BEFORE.support.action("page")
    for given in ({"down": "page", "degraded": "page"}, {0: page, 1: "page"}, [page, page]):
        assert checked_runbook(BEFORE.support, given).tolist() == [page, page]


@pytest.mark.parametrize("given", [{"down": "page"}, [0], {"down": "page", "degraded": "pray"}, "page", None])
def test_what_is_no_runbook_is_an_error_that_names_the_argument(given: object) -> None:
    with pytest.raises(InputError, match=r"^runbook: "):
        checked_runbook(BEFORE.support, given)  # type: ignore[arg-type]
