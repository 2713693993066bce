"""Names of columns."""

import pytest

from goalbound.errors import InputError
from goalbound.logs import LogColumns


def test_columns_are_named_once_and_read_once():
    columns = LogColumns(time="hour", covariates=["hour", "traffic"])  # the time may be a covariate too
    assert columns.named == ("case", "hour", "state", "action", "loss", "next_state", "traffic")
    assert LogColumns(time=None, context=["young", "old"]).named[-2:] == ("young", "old")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"case": 3}, "case is 3; it is the name of a column"),
        ({"state": ""}, "state is ''"),
        ({"covariates": "hour"}, "covariates is 'hour'; it is a list of names"),
        ({"covariates": ["hour", "hour"]}, r"covariates\[1\] is 'hour', which is given twice"),
        ({"covariates": [None]}, r"covariates\[0\] is None"),
        ({"covariates": ["a"], "context": ["b"]}, "covariates and context are both given"),
        ({"loss": "case"}, "the column 'case' is named twice"),
        ({"covariates": ["loss"]}, "holds 'loss', which is not known before the action is chosen"),
        ({"context": ["next_state"]}, "holds 'next_state', which is not known"),
    ],
)
def test_names_that_make_no_sense_are_an_error_that_shows_them(names, message):
    with pytest.raises(InputError, match=message):
        LogColumns(**names)
