"""Digests and files of maps, and what was made elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound import FileFormatError
from goalbound.adapters.covariates import (
    Additive,
    Categories,
    Hats,
    Periodic,
    Tensor,
    load_map,
    map_as_json,
    map_digest,
    map_from_json,
    map_from_settings,
    save_map,
)
from goalbound.errors import InputError
from goalbound.models.files.array_file import write_array_file
from tests.support.covariate_maps import MAPS
from tests.support.strategies import examples


def test_a_moved_knot_another_rule_or_another_column_is_another_digest() -> None:
    maps = [
        Hats([0, 1, 2]),
        Hats([0, 1 + 2**-52, 2]),
        Hats([0, 1, 2], clamp=True),
        Hats([0, 1, 2], missing=[1, 0, 0]),
        Periodic(4, [0, 1, 2]),
        Additive([Hats([0, 1, 2])], ["age"]),
        Additive([Hats([0, 1, 2])], ["dose"]),
        Additive([Hats([0, 1, 2])], [0]),
        Categories(["1"]),
        Categories([1]),
    ]
    assert len({map_digest(one) for one in maps}) == len(maps)


def test_a_digest_stays_what_it_is_from_version_to_version() -> None:
    # sha256 of {"clamp":false,"kind":"Hats","knots":[0.0,1.0],"missing":null}
    assert map_digest(Hats([0, 1])) == "1cb94206f62972003db1ea9517b892e457663dd60e7e84c275426ad56c52632b"


def test_json_is_plain_and_read_back_from_text() -> None:
    map = Additive([Hats([0, 0.1]), Categories(["A", 1, True][:2])], [("age",), "kind"], [0.25, 0.75])
    text = json.dumps(map_as_json(map), allow_nan=False)
    assert map_as_json(map_from_json(json.loads(text))) == map_as_json(map)


HATS = {"kind": "Hats", "knots": [0.0, 1.0], "clamp": False, "missing": None}


def nested(depth: int) -> dict[str, Any]:
    return HATS if depth == 0 else {"kind": "Tensor", "maps": [nested(depth - 1)], "columns": [[0]]}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "it needs an object with a kind"),
        ({"kind": 3}, "it needs an object with a kind"),
        ({"kind": "Popen"}, "no map is of kind 'Popen'; there are Hats, Periodic"),
        ({"kind": "__init__"}, "no map is of kind '__init__'"),
        ({"kind": "Hats", "knots": [0, 1]}, "a Hats has no clamp; it needs kind, knots, clamp, missing"),
        ({**HATS, "more": 1}, "'more' is no key of a Hats; there are kind, knots, clamp, missing"),
        ({**HATS, "clamp": 1}, "clamp is 1; it is True or False"),
        ({**HATS, "knots": {"a": 1}}, "knots"),
        ({**HATS, "knots": [0, "1"]}, "knots: row 1: '1' is not a number"),
        ({**HATS, "knots": None}, "knots"),
        ({"kind": "Tensor", "maps": 3, "columns": [0]}, "maps of a Tensor is not a list"),
        ({"kind": "Tensor", "maps": [HATS], "columns": 3}, "columns is 3"),
        ({"kind": "Periodic", "period": "24", "knots": [0, 1], "missing": None}, "period"),
        (nested(20), "maps are nested more than 8 deep"),
        ({"kind": "FromTransformer", "names": ["a"], "identity": "x"}, "which no file can hold; make it again"),
    ],
)
def test_json_of_another_kind_is_an_error_and_nothing_else(values: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        map_from_json(values)
    header = {"format": "goalbound", "version": 1, "kind": "CovariateMap", "map": values, "digest": ""}
    write_array_file(tmp_path / "map", header, {})
    with pytest.raises(FileFormatError, match=message):
        load_map(tmp_path / "map")


anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 2**70), st.floats(), st.text(max_size=3)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=2)),
    max_leaves=6,
)


def places(values: Any) -> list[tuple[Any, ...]]:
    """The ways to everything inside JSON."""
    keys = list(values) if isinstance(values, dict) else range(len(values)) if isinstance(values, list) else []
    return [way for key in keys for way in [(key,), *((key, *rest) for rest in places(values[key]))]]


@examples(60)
@given(data=st.data())
def test_whatever_stands_in_the_json_of_a_map_is_a_map_or_an_error_of_ours(data: st.DataObject) -> None:
    values = json.loads(json.dumps(map_as_json(MAPS[data.draw(st.sampled_from(sorted(MAPS)))][0])))
    *way, last = data.draw(st.sampled_from(places(values)))
    inside = values
    for key in way:
        inside = inside[key]
    inside[last] = data.draw(anything)
    try:
        map = map_from_json(values)
    except InputError:
        return
    assert map_digest(map_from_json(map_as_json(map))) == map_digest(map)


def test_a_file_whose_map_was_changed_is_refused(tmp_path: Path) -> None:
    digest = map_digest(Hats([0, 1]))
    header = {"format": "goalbound", "version": 1, "kind": "CovariateMap", "map": {**HATS, "knots": [0, 2]}}
    write_array_file(tmp_path / "map", {**header, "digest": digest}, {})
    with pytest.raises(FileFormatError, match=rf"and {digest[:12]}\.\.\. is needed: it is another map, or was changed"):
        load_map(tmp_path / "map")


def test_a_map_of_someone_elses_is_not_written(tmp_path: Path) -> None:
    class Mine:
        context_size = 1

    with pytest.raises(
        InputError, match="a Mine is not a map of goalbound, and cannot be written; see FromTransformer"
    ):
        save_map(Mine(), tmp_path / "map")
    assert not (tmp_path / "map").exists()


def test_settings_that_have_defaults_may_be_left_out_where_people_write_them():
    hats = {"kind": "Hats", "knots": [0, 1]}
    map = map_from_settings({"kind": "Tensor", "columns": ["a", "b"], "maps": [hats, {**hats, "clamp": True}]})
    assert map_digest(map) == map_digest(Tensor([Hats([0, 1]), Hats([0, 1], clamp=True)], ["a", "b"]))
    no_maps = {"kind": "Tensor", "maps": 3, "columns": []}
    for wrong in (None, [], {"kind": 3}, {"kind": "Hats"}, {**hats, "knot": 1}, no_maps):
        with pytest.raises(InputError):
            map_from_settings(wrong)
