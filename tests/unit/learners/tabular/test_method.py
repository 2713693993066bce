"""Methods and settings are checked once, at the door."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from goalbound.errors import InputError
from goalbound.learners.tabular import Method, TabularLearner, TabularSettings
from goalbound.learners.tabular.method import eb_ssp_method, hoeffding_ssp_method, psrl_ssp_method, ulcvi_method
from goalbound.models import Support
from tests.support.tabular_driving import METHODS

ONE = Support.full(1, 2)


@pytest.mark.parametrize("method", METHODS.values(), ids=str)
def test_a_method_is_what_its_json_says(method: Method) -> None:
    assert Method.from_json(method.as_json()) == method
    settings = TabularSettings(method, 0.1, 0.2, 0.0, 1e-3, losses_are_known=False)
    assert TabularSettings.from_json(settings.as_json()) == settings


def test_a_name_has_the_scale_in_it() -> None:
    assert str(eb_ssp_method()) == "eb-ssp"
    assert str(eb_ssp_method(scale=0.1)) == "0.1 x eb-ssp"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Method("sarsa"), "no method is called 'sarsa'; there are uc-ssp"),
        (lambda: Method("ulcvi", 1.0, loss_bound=2.0), "ulcvi needs time_bound"),
        (lambda: Method("uc-ssp", 1.0, loss_bound=2.0), "uc-ssp has no loss_bound, and 2.0 was given"),
        (lambda: eb_ssp_method(scale=0.0), "scale is 0.0; .* above 0"),
        (lambda: eb_ssp_method(scale=float("inf")), "scale is inf"),
        (lambda: hoeffding_ssp_method(loss_bound=0.5), "loss_bound is 0.5; .* from 1 on"),
        (lambda: ulcvi_method(loss_bound=1.0, time_bound=0.0, episodes=5), "time_bound is 0.0"),
        (lambda: ulcvi_method(loss_bound=1.0, time_bound=1.0, episodes=0), "episodes is 0; .* at least 1"),
        (lambda: ulcvi_method(loss_bound=1.0, time_bound=1.0, episodes=2.5), "episodes 2.5 is not a whole number"),  # type: ignore[arg-type]
        (lambda: psrl_ssp_method(prior=0.0), "prior is 0.0"),
        (lambda: psrl_ssp_method(value_cap=float("nan")), "value_cap is nan"),
    ],
)
def test_a_method_that_cannot_be_says_why(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"method": "eb-ssp"}, "method is a str; give one of"),
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
    settings = {"method": eb_ssp_method(), "loss_floor": 0.2, **changed}
    method = settings.pop("method")
    with pytest.raises(InputError, match=message):
        TabularLearner(ONE, method, **settings)


@pytest.mark.parametrize("name", METHODS)
def test_losses_of_zero_need_an_added_loss_where_the_method_plans_with_positive_ones(name: str) -> None:
    if METHODS[name].needs_positive_losses:
        with pytest.raises(InputError, match="give a loss_floor, or an added_loss"):
            TabularLearner(ONE, METHODS[name], loss_floor=0.0)
    else:
        TabularLearner(ONE, METHODS[name], loss_floor=0.0)
    TabularLearner(ONE, METHODS[name], loss_floor=0.0, added_loss=0.01)


def test_a_table_that_is_too_large_is_refused_before_it_is_made() -> None:
    method = ulcvi_method(loss_bound=1.0, time_bound=1e8, episodes=10)
    with pytest.raises(InputError, match=r"50,000,000 entries; give a smaller time_bound"):
        TabularLearner(ONE, method, loss_floor=0.0)


def test_json_of_another_form_is_refused() -> None:
    values = eb_ssp_method().as_json()
    with pytest.raises(InputError, match="it needs"):
        Method.from_json(values | {"more": 1})
    with pytest.raises(InputError, match="scale of a method is '1', of a wrong type"):
        Method.from_json(values | {"scale": "1"})
    settings = TabularSettings(eb_ssp_method(), 0.1, 0.2, 0.0, 1e-3, losses_are_known=False).as_json()
    with pytest.raises(InputError, match="delta is True, of a wrong type"):
        TabularSettings.from_json(settings | {"delta": True})
    with pytest.raises(InputError, match="they need"):
        TabularSettings.from_json({})


def test_hoeffding_knows_a_pair_after_the_visits_of_its_formula() -> None:
    learner = TabularLearner(ONE, hoeffding_ssp_method(loss_bound=2.0, scale=0.5), loss_floor=0.25, added_loss=0.25)
    # 0.5^2 * (5000 * 2^2 * 1 / 0.5^2) * ln(1000 * 2 * 2 / (0.1 * 0.5)) = 20000 ln(80000)
    assert learner._constants.known_after == pytest.approx(np.full(2, 20000.0 * np.log(80000.0)))
