"""Categories."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.adapters.covariates import Categories
from goalbound.errors import InputError


def test_a_category_has_all_weight_and_an_unknown_one_is_other() -> None:
    map = Categories(["north", "south"])
    assert map.many(["south", "north", "west"]).tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
    assert map.names == ("north", "south", "other")


def test_without_other_an_unknown_category_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"^row 1: 'west' is none of the categories 'north', 'south'; add it, or give"):
        Categories(["north", "south"], other=False).many(["north", "west"])


def test_whole_numbers_that_became_floats_in_a_table_with_gaps_are_still_categories() -> None:
    map = Categories([1, 2, 3], missing=[0, 0, 0, 1])
    assert map.many(np.array([2.0, np.nan, 7.0])).argmax(axis=1).tolist() == [1, 3, 3]


def test_true_and_false_are_categories() -> None:
    assert Categories([False, True], other=False).many(np.array([True, False])).tolist() == [[0, 1], [1, 0]]


def test_names_differ_where_categories_look_alike() -> None:
    assert Categories(["1", 1]).names == ("'1'", "1", "other")
    assert Categories(["other", "A"]).names == ("'other'", "'A'", "other")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Categories([]), "at least one category"),
        (lambda: Categories("north"), "values is 'north'; it needs a list"),
        (lambda: Categories(["A", 1.5]), r"values\[1\] is 1.5; a category is a word, a whole number"),
        (lambda: Categories(["A", "B", "A"]), r"values\[2\] is 'A', which is given twice"),
        (lambda: Categories([1, True]), r"values\[1\] is True, which is given twice"),
        (lambda: Categories(["A"])(["A", "B"]), r"\['A', 'B'\] is not a category"),
    ],
)
def test_what_makes_no_sense_is_an_error_that_says_why(make, message) -> None:
    with pytest.raises(InputError, match=message):
        make()
