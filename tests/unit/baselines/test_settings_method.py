"""A method and its constants are checked once, at the door."""

from __future__ import annotations

from typing import Any

import pytest

from goalbound.baselines import Method
from goalbound.errors import InputError
from goalbound.models import Support
from tests.support.tabular_driving import METHODS

ONE = Support.full(1, 2)


@pytest.mark.parametrize("method", METHODS.values(), ids=str)
def test_a_method_is_what_its_json_says(method: Method) -> None:
    assert Method.from_json(method.as_json()) == method


def test_a_name_has_the_scale_in_it() -> None:
    assert str(Method("eb-ssp")) == "eb-ssp"
    assert str(Method("eb-ssp", scale=0.1)) == "0.1 x eb-ssp"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Method("sarsa"), "no method is called 'sarsa'; there are uc-ssp"),
        (lambda: Method("ulcvi", 1.0, loss_bound=2.0), "ulcvi needs time_bound"),
        (lambda: Method("uc-ssp", 1.0, loss_bound=2.0), "uc-ssp has no loss_bound, and 2.0 was given"),
        (lambda: Method("eb-ssp", scale=0.0), "scale is 0.0; .* above 0"),
        (lambda: Method("eb-ssp", scale=float("inf")), "scale is inf"),
        (lambda: Method("hoeffding-ssp", loss_bound=0.5), "loss_bound is 0.5; .* from 1 on"),
        (lambda: Method("ulcvi", loss_bound=1.0, time_bound=0.0, episodes=5), "time_bound is 0.0"),
        (lambda: Method("ulcvi", loss_bound=1.0, time_bound=1.0, episodes=0), "episodes is 0; .* at least 1"),
        (lambda: Method("ulcvi", loss_bound=1.0, time_bound=1.0, episodes=2.5), "episodes 2.5 is not a whole number"),  # type: ignore[arg-type]
        (lambda: Method("psrl-ssp", prior=0.0), "prior is 0.0"),
        (lambda: Method("psrl-ssp", value_cap=float("nan")), "value_cap is nan"),
    ],
)
def test_a_method_that_cannot_be_says_why(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_json_of_another_form_is_refused() -> None:
    values = Method("eb-ssp").as_json()
    with pytest.raises(InputError, match="it needs"):
        Method.from_json(values | {"more": 1})
    with pytest.raises(InputError, match="scale of a method is '1', of a wrong type"):
        Method.from_json(values | {"scale": "1"})
