"""Events and their chain."""

import pytest

from goalbound.errors import StoreDamaged
from goalbound.serve.store.events import (
    FIRST_CHAIN,
    Event,
    Kind,
    canonical,
    chained,
    check_chain,
    content_of,
)

EVENT = Event(1, Kind.OVERRIDE, 1, 4, 2, 0, 0.25, 3, '{"allowed":[0]}', 1, 0.5, '{"2":0}', 1_700_000_000_000, b"")
CHANGED = {
    "seq": 2, "kind": Kind.OBSERVE, "learner": 2, "case": 5, "step": 3, "taken": 1, "loss": 0.5, "next_state": 4,
    "body": '{"allowed":[1]}', "action": 0, "propensity": 0.25, "others": '{"2":1}', "time": 1_700_000_000_001,
}  # fmt: skip


@pytest.mark.parametrize("field", CHANGED)
def test_the_chain_depends_on_every_field(field):
    assert chained(FIRST_CHAIN, EVENT._replace(**{field: CHANGED[field]})) != chained(FIRST_CHAIN, EVENT)


@pytest.mark.parametrize("field", ["case", "step", "taken", "loss", "next_state", "body", "action", "others"])
def test_nothing_is_not_the_same_as_zero(field):
    zero = "" if field in ("body", "others") else 0.0 if field == "loss" else 0
    one, other = EVENT._replace(**{field: None}), EVENT._replace(**{field: zero})
    assert chained(FIRST_CHAIN, one) != chained(FIRST_CHAIN, other)


def test_an_event_that_is_as_it_was_written_passes_and_one_that_is_not_is_named():
    event = EVENT._replace(chain=chained(FIRST_CHAIN, EVENT))
    check_chain(FIRST_CHAIN, event, follows=0)
    with pytest.raises(StoreDamaged, match="event 1 is not as it was written"):
        check_chain(FIRST_CHAIN, event._replace(loss=0.125), follows=0)
    with pytest.raises(StoreDamaged, match="event 1 is not as it was written"):
        check_chain(FIRST_CHAIN, event._replace(body=b"{}"), follows=0)
    with pytest.raises(StoreDamaged, match="event 7 follows event 4; 2 are missing"):
        check_chain(FIRST_CHAIN, event._replace(seq=7), follows=4)


def test_the_same_content_has_the_same_bytes():
    assert canonical({"b": 1, "a": [0.1, "é"]}) == canonical({"a": [0.1, "é"], "b": 1}) == '{"a":[0.1,"\\u00e9"],"b":1}'
    assert content_of(canonical({"a": 0.1})) == {"a": 0.1}
    assert content_of(None) == {}


@pytest.mark.parametrize("data", ["{", "[1]", "\ufffd"])
def test_a_body_that_is_no_object_is_damage(data):
    with pytest.raises(StoreDamaged, match="the body of an event"):
        content_of(data)
