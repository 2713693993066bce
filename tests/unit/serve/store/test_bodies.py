"""What is recorded of requests, and what may come in."""

import pytest

from goalbound.errors import ArgumentError
from goalbound.serve.store.bodies import actions_of, begin_body, checked_loss
from tests.support.stores import WORLD


def test_actions_are_numbers_in_order_once_each():
    assert actions_of(WORLD.support, ["page", 0, "restart"]) == [0, 1]
    assert actions_of(WORLD.support, None) is None


@pytest.mark.parametrize("allowed", ["page", [["page"]], 7])
def test_what_is_no_list_of_actions_is_refused(allowed):
    with pytest.raises(ArgumentError):
        actions_of(WORLD.support, allowed)


def test_what_json_cannot_say_is_refused():
    for context in ([float("nan")], {"a": object()}):
        with pytest.raises(ArgumentError, match="cannot be written as JSON"):
            begin_body("a", context, None)


@pytest.mark.parametrize("loss", [True, "1", None, float("nan"), float("inf"), 10**400])
def test_a_loss_is_a_finite_number(loss):
    with pytest.raises(ArgumentError):
        checked_loss(loss)
