"""Logs that released versions wrote are replayed, and gone on with, by this one."""

import json

import pytest

from goalbound.serve.store import Store
from goalbound.serve.store.events import Kind
from goalbound.serve.store.replay import verify
from goalbound.serve.store.transfer import import_log
from tests.support.released_logs import STORES, go_on, unpacked, write
from tests.support.stores import SELDOM

PRESENT = "present"
RELEASED = sorted(path.name for path in STORES.iterdir()) if STORES.exists() else []


@pytest.mark.parametrize("name", [PRESENT, *RELEASED])
def test_a_log_is_replayed_to_the_last_action_and_gone_on_with(name, tmp_path):
    folder = STORES / name
    if name == PRESENT:
        folder = tmp_path / PRESENT
        write(folder)
    exported, compacted = unpacked(folder, tmp_path)
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    assert import_log(tmp_path / "store", exported) == expected["seq"]
    found = verify(tmp_path / "store")
    assert found.replayed == expected["seq"]
    with Store.open(tmp_path / "store", options=SELDOM) as store:
        assert {event.kind for event in store.events()} == set(Kind)  # something of every kind
        assert store.digest()["chain"] == expected["chain"]
        store.learner("drawn").begin([1.0, 0.0], "down", id="after")
        assert go_on(store) == expected["next"]
    with Store.open(compacted, options=SELDOM) as store:  # begins with a snapshot, which is all there is of the past
        assert go_on(store) == expected["next"]
