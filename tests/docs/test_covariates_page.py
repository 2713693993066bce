"""The page about covariates runs from top to bottom, and says what is so."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from goalbound.adapters.covariates import map_from_settings, serialization

PAGE = Path(__file__).parents[2] / "docs" / "how_to" / "covariates.md"


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """The blocks run in order, in an empty folder; their names, and what was printed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("covariates"))
        names: dict = {"printed": []}
        patch.setitem(names, "print", lambda *things: names["printed"].append(" ".join(map(str, things))))
        for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
            exec(code, names)
    return names


def test_what_the_page_says_is_printed(read: dict) -> None:
    printed = read["printed"]
    assert printed[0] == "[0.  0.5 0.5 0. ]"
    assert printed[1] == "('at 20', 'at 40', 'at 60', 'at 80')"
    assert printed[2] == "[0.   0.17 0.17 0.   0.   0.33 0.   0.28 0.   0.   0.06]"  # a third of each part
    assert printed[3] == "(2, 11)"
    assert "1 [1 0] [0 1]" in printed
    assert printed[-1] == "[0.5 0.5]"


def test_rare_types_are_other_and_the_report_counts_the_gap(read: dict) -> None:
    assert read["people"].names[-3:] == ("type: A", "type: B", "type: other")
    (report,) = (text for text in read["printed"] if text.startswith("500 rows, 0 rejected; 7 components"))
    assert "age: 0.0% outside, 0.2% missing" in report  # one of 500


def test_the_learner_of_the_page_was_saved_with_its_map(read: dict) -> None:
    assert read["episode"].ended
    assert read["again"].begun == 1
    assert read["again"].map is read["people"]


def test_five_hats_lose_less_than_a_line(read: dict) -> None:
    regrets = {int(size): int(regret) for size, regret in (line.split() for line in read["printed"][-3:-1])}
    assert regrets[5] < regrets[2] / 2


def test_the_page_has_every_kind_of_map_in_toml_with_all_its_keys() -> None:
    written = tomllib.loads(re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)[0])
    made = [map_from_settings(one) for one in written.values()]
    assert {type(one).__name__ for one in made} == set(serialization._KINDS)
    for settings, map in zip(written.values(), made, strict=True):
        assert set(settings) == {"kind", *(one.name for one in fields(map))}
