"""The settings and options of context-free learners are checked once, at the door."""

from __future__ import annotations

from typing import Any

import pytest

from goalbound.baselines import Method, TabularLearner, TabularOptions, TabularSettings
from goalbound.errors import InputError
from goalbound.models import Support
from tests.support.tabular_driving import METHODS

ONE = Support.full(1, 2)


@pytest.mark.parametrize("method", METHODS.values(), ids=str)
def test_settings_are_what_their_json_says(method: Method) -> None:
    settings = TabularSettings(method, 0.1, 0.2, 0.0, 1e-3, losses_are_known=False)
    assert TabularSettings.from_json(settings.as_json()) == settings


def test_json_of_another_form_is_refused() -> None:
    settings = TabularSettings(Method("eb-ssp"), 0.1, 0.2, 0.0, 1e-3, losses_are_known=False).as_json()
    with pytest.raises(InputError, match="delta is True, of a wrong type"):
        TabularSettings.from_json(settings | {"delta": True})
    with pytest.raises(InputError, match="they need"):
        TabularSettings.from_json({})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"method": "eb-ssp"}, "method is a str; give a Method"),
        ({"delta": 1.0}, "delta 1.0 is not between 0 and 1"),
        ({"loss_floor": -0.1}, r"loss_floor -0.1 is not in \[0, 1\]"),
        ({"added_loss": float("inf")}, "added_loss inf"),
        ({"tolerance": 0.5}, r"tolerance 0.5 is not in \(0, 0.4\]"),
        ({"rng": 3}, "rng is of the type int; it is a generator"),
        ({"known_losses": [0.5]}, r"known_losses has shape \(1,\); it needs 2 losses"),
        ({"known_losses": [0.5, 1.5]}, r"known_losses\[1\]: loss 1.5 is not in \[0, 1\]"),
        ({"known_losses": [0.5, 0.1]}, r"known_losses\[1\] \(state 0, action 1\) is 0.1, below the loss_floor 0.2"),
    ],
)
def test_settings_that_cannot_be_say_why(changed: dict[str, Any], message: str) -> None:
    settings = {"method": Method("eb-ssp"), "loss_floor": 0.2, **changed}
    method = settings.pop("method")
    options = {name: settings.pop(name) for name in [*settings] if hasattr(TabularOptions, name)}
    with pytest.raises(InputError, match=message):
        TabularLearner(ONE, method, options=TabularOptions(**options), **settings)


@pytest.mark.parametrize("name", METHODS)
def test_losses_of_zero_need_an_added_loss_where_the_method_plans_with_positive_ones(name: str) -> None:
    if METHODS[name].room.positive_losses:
        with pytest.raises(InputError, match="give a loss_floor, or an added_loss"):
            TabularLearner(ONE, METHODS[name], loss_floor=0.0)
    else:
        TabularLearner(ONE, METHODS[name], loss_floor=0.0)
    TabularLearner(ONE, METHODS[name], loss_floor=0.0, options=TabularOptions(added_loss=0.01))


def test_a_table_that_is_too_large_is_refused_before_it_is_made() -> None:
    method = Method("ulcvi", loss_bound=1.0, time_bound=1e8, episodes=10)
    with pytest.raises(InputError, match=r"50,000,000 entries; give a smaller time_bound"):
        TabularLearner(ONE, method, loss_floor=0.0)
