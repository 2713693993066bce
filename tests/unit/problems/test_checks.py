"""Settings of a family that make no sense."""

import pytest

from goalbound.errors import InputError
from goalbound.problems import (
    deceptive_lock,
    long_corridor,
    random_cssp,
    routing_grid,
    treatment_ladder,
    windy_grid,
)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: random_cssp(0), "states is 0; it needs a whole number, at least 1"),
        (lambda: random_cssp(2.0), r"states is 2\.0; it needs a whole number"),
        (lambda: random_cssp(exit_probability=0.0), "exit_probability is 0.0; it needs a number from 1e-06 to 1"),
        (lambda: treatment_ladder(markers=7), "markers is 7; it needs a whole number, from 1 to 6"),
        (lambda: windy_grid(1, 1), "columns is 1; it needs a whole number, at least 2"),
        (lambda: windy_grid(walk_loss=float("nan")), "walk_loss is nan; it needs a number from 0 to 1"),
        (lambda: windy_grid(slip=True), "slip is True; it needs a number"),
        (lambda: routing_grid(jam=0.5), "jam is 0.5; it needs a number from 1"),
        (lambda: routing_grid(missed_turn=1.0), "missed_turn is 1.0; it needs a number from 0 to 0.99"),
        (lambda: deceptive_lock(actions=2), "actions is 2; it needs a whole number, at least 3"),
        (lambda: long_corridor(stride=0), "stride is 0; it needs a whole number, at least 1"),
    ],
)
def test_a_setting_that_makes_no_sense_is_an_error_that_names_it(make, message):
    with pytest.raises(InputError, match=message):
        make()
