"""Logs that released versions wrote are replayed, and gone on with, by this one, or refused with a remedy."""

import json

import pytest

from goalbound.errors import InputError, StoreError
from goalbound.serve.store import Store
from goalbound.serve.store.audit import verify
from goalbound.serve.store.events import Kind
from goalbound.serve.store.transfer import import_log
from tests.support.released_logs import REFUSED, STORES, go_on, unpacked, write
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
        assert store.status()["replayed"] == 1
        assert go_on(store) == expected["next"]


@pytest.mark.parametrize("name", sorted(path.name for path in REFUSED.iterdir()))
def test_a_log_with_learners_of_another_version_is_refused_and_says_what_to_do(name, tmp_path):
    """Version 1.0.0 wrote them."""
    exported, compacted = unpacked(REFUSED / name, tmp_path)
    remedy = r"version 1[0-6]; this goalbound reads version .*; learn the log again, or load the learner with goalbound"
    with pytest.raises(InputError, match=remedy) as refused:
        import_log(tmp_path / "store", exported)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "store").exists()
    with pytest.raises(StoreError, match=remedy):
        Store.open(compacted, options=SELDOM)
