"""A method and its constants are checked once, at the door."""

from __future__ import annotations

import pytest

from goalbound.baselines import Method
from goalbound.errors import InputError
from goalbound.models import Support
from tests.support.tabular_driving import METHODS

ONE = Support.full(1, 2)


@pytest.mark.parametrize("method", METHODS.values(), ids=str)
def test_a_method_is_what_its_json_says(method: Method) -> None:
    assert Method.from_json(method.as_json()) == method


def test_json_of_another_form_is_refused() -> None:
    values = Method("eb-ssp").as_json()
    with pytest.raises(InputError, match="it needs"):
        Method.from_json(values | {"more": 1})
    with pytest.raises(InputError, match="scale of a method is '1', of a wrong type"):
        Method.from_json(values | {"scale": "1"})
