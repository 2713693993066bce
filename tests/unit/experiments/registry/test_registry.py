"""Components are looked up and instantiated by name."""

from __future__ import annotations

import pytest

from goalbound.errors import ArgumentError
from goalbound.experiments.plugins import NO_PLUGINS, Plugins
from goalbound.experiments.registry import CATALOGS, Component, find_entry, instantiate
from goalbound.problems import treatment_ladder

HERE = "tests.support.third_party_learner"


def test_each_group_has_a_catalog_whose_names_are_unlike_import_paths() -> None:
    assert list(CATALOGS) == ["problems", "learners", "contexts"]
    assert not [name for catalog in CATALOGS.values() for name in catalog.entries if ":" in name]


def test_an_unknown_name_is_answered_by_the_known_ones() -> None:
    with pytest.raises(ArgumentError, match=r'problems.use: no problem is called "demmo" \(did you mean "demo"\?\)'):
        find_entry("problems", Component("demmo", {}), NO_PLUGINS)


def test_settings_reach_the_factory_and_errors_name_the_group() -> None:
    problem = instantiate("problems", Component("treatment-ladder", {"levels": 2}), NO_PLUGINS)
    assert problem == treatment_ladder(2)
    with pytest.raises(ArgumentError, match=r"problems \(treatment-ladder\): levels is 0"):
        instantiate("problems", Component("treatment-ladder", {"levels": 0}), NO_PLUGINS)


def test_plug_ins_are_found_only_where_they_are_allowed() -> None:
    use = Component(f"{HERE}:nobody", {})
    with pytest.raises(ArgumentError, match="is code that a file may not run by itself"):
        find_entry("learners", use, NO_PLUGINS)
    with pytest.raises(ArgumentError, match="cannot be imported"):
        find_entry("learners", use, Plugins((HERE,)))
