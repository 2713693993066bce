import inspect

import pytest

from goalbound.errors import InputError
from goalbound.models import LinearCSSP
from goalbound.problems import CATALOG, catalog_entry


@pytest.mark.parametrize("name", CATALOG)
def test_every_entry_makes_its_problem_from_defaults_and_from_its_own_defaults_given_back(name):
    entry = CATALOG[name]
    assert entry.name == name
    assert "\n" not in entry.summary
    assert isinstance(entry.make(), LinearCSSP)
    assert entry.make(entry.defaults) == entry.make({})


@pytest.mark.parametrize("name", CATALOG)
def test_every_parameter_of_a_family_is_a_setting_with_a_number_for_default(name):
    entry = CATALOG[name]
    assert list(entry.defaults) == list(inspect.signature(entry.family).parameters)
    assert all(type(value) in (int, float) for value in entry.defaults.values())
    assert len(entry.defaults) <= 6


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(InputError, match=r'"windy-gird" \(did you mean "windy-grid"\?\); there are demo, random, '):
        catalog_entry("windy-gird")
    assert catalog_entry("demo") is CATALOG["demo"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"row": 3}, r'windy-grid has no setting "row" \(did you mean "rows"\?\); it has rows=4, columns=6, '),
        ({"rows": "3"}, r"windy-grid: rows is '3'; it needs a whole number \(rows=4, columns=6, "),
        ({"rows": 3.0}, r"rows is 3\.0; it needs a whole number"),
        ({"rows": True}, r"rows is True; it needs a whole number"),
        ({"slip": None}, r"slip is None; it needs a number"),
        ({"slip": "much"}, r"slip is 'much'; it needs a number"),
        ({"rows": 0}, r"rows is 0; it needs a whole number, at least 1"),
    ],
)
def test_a_wrong_setting_is_an_error_that_lists_the_right_ones(settings, message):
    with pytest.raises(InputError, match=message):
        CATALOG["windy-grid"].make(settings)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rows"], r'"rows" is not a setting; write name=value'),
        (["rows=2", "rows=3"], r'"rows" is set twice'),
        (["rows=two"], r"rows is 'two'; it needs a whole number"),
        (["rows=2.5"], r"rows is 2\.5; it needs a whole number"),
        (["rose=2"], r'did you mean "rows"'),
    ],
)
def test_words_that_are_no_settings_are_an_error(words, message):
    with pytest.raises(InputError, match=message):
        CATALOG["windy-grid"].parse(words)
