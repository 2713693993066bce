"""Logs that earlier versions wrote are replayed, and gone on with, by this one."""

import gzip
import shutil

import pytest

from goalbound.errors import StoreError
from goalbound.serve.store import Store
from goalbound.serve.store.audit import verify
from goalbound.serve.store.events import Kind
from goalbound.serve.store.sqlite_log import FORMAT
from goalbound.serve.store.transfer import import_log
from tests.support.released_logs import REFUSED, STORES, go_on, unpacked
from tests.support.stores import SELDOM

RELEASED = sorted(path.name for path in STORES.iterdir())


def test_there_is_a_log_of_the_present_format():
    assert f"format-{FORMAT}" in RELEASED


@pytest.mark.parametrize("name", RELEASED)
def test_a_released_log_is_replayed_to_the_last_action_and_gone_on_with(name, tmp_path):
    exported, compacted, expected = unpacked(name, tmp_path)
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


def test_a_log_with_shadow_cases_or_mixing_is_refused_and_says_what_to_do(tmp_path):
    """Version 1.0.0 wrote it; its learner "mixed" draws at random, and its case "b" is a shadow case."""
    exported = tmp_path / "log.ndjson"
    exported.write_bytes(gzip.decompress((REFUSED / "log.ndjson.gz").read_bytes()))
    shutil.unpack_archive(REFUSED / "compacted.zip", tmp_path / "compacted", "zip")
    remedy = r"export the log with goalbound 1\.0\.0, and learn its finished cases as a log in a new store$"
    with pytest.raises(StoreError, match=rf"the learner mixed mixes in random actions, .*{remedy}") as refused:
        import_log(tmp_path / "store", exported)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "store").exists()
    with pytest.raises(StoreError, match=rf"the learner mixed mixes in random actions, .*{remedy}"):
        Store.open(tmp_path / "compacted", options=SELDOM)
