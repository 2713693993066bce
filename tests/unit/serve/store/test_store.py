"""A store, as people use it."""

import shutil
import threading

import pytest

from goalbound import LRCSSP, Apprentice, Guarded, LossScale, Monitored
from goalbound.errors import (
    ArgumentError,
    CaseExists,
    StoreClosed,
    StoreDamaged,
    StoreError,
    StoreLocked,
)
from goalbound.serve.store import Store, StoreOptions
from goalbound.serve.store.files import DATABASE, Head
from goalbound.serve.store.replay import verify
from tests.support.incidents_at_work import RUNBOOK, greedy
from tests.support.stores import SELDOM, WORLD, Handled, drawing, learners, open_store, without_time
from tests.support.units import in_units

CALM = [1.0, 0.0]


@pytest.mark.parametrize("kind", ["greedy", "drawing", "optimistic"])
def test_with_restarts_everything_is_as_without(tmp_path, kind):
    """Restarts at some places, with a snapshot or without one: the same answers, and the same state to the bit."""
    straight, stopped = Handled(seed=4), Handled(seed=4)
    with open_store(tmp_path / "one") as store:
        straight.go_on(store.create("incidents", learners()[kind]), 50)
        digest = store.digest()["state"]
    for number, steps in enumerate((1, 10, 20, 19)):
        store = open_store(tmp_path / "two")
        learner = store.create("incidents", learners()[kind]) if number == 0 else store.learner("incidents")
        stopped.go_on(learner, steps)
        if number == 1:  # as if it had been killed: another process would find just these files
            shutil.copytree(tmp_path / "two", tmp_path / "copy")
        store.close()
        if number == 1:
            shutil.rmtree(tmp_path / "two")
            (tmp_path / "copy").rename(tmp_path / "two")
    with open_store(tmp_path / "two") as store:
        assert without_time(stopped.answers) == without_time(straight.answers)
        assert store.digest()["state"] == digest
    assert verify(tmp_path / "two").replayed == 51


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda: Guarded(greedy(), RUNBOOK, after_steps=2),
        lambda: Monitored(greedy()),
        lambda: Apprentice(LRCSSP(WORLD.support, 2, loss_floor=0.1), RUNBOOK),
        lambda: in_units(Monitored(Guarded(greedy(), RUNBOOK, after_steps=2)), LossScale("min", cap=1)),
    ],
)
def test_wrapped_learners_go_on_to_the_bit(tmp_path, wrapped):
    handled = Handled(seed=1)
    with open_store(tmp_path / "store") as store:
        handled.go_on(store.create("incidents", wrapped()), 25)
        digest = store.digest()
    with open_store(tmp_path / "store") as store:
        assert store.digest() == digest
        handled.go_on(store.learner("incidents"), 10)
        digest = store.digest()
    assert verify(tmp_path / "store").state == digest["state"]


def test_many_threads_at_once_lose_nothing(tmp_path):
    with open_store(tmp_path / "store") as store:
        learner = store.create("incidents", greedy())

        def work(name):
            for number in range(10):
                learner.begin(CALM, "down", id=f"{name}-{number}")
                learner.observe(f"{name}-{number}", 0.1, "goal", step=1)

        threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        status = store.status()
        assert status["events"] == 1 + 8 * 10 * 2
        assert status["commits"] < status["events"]  # some were written together
        assert learner.status()["steps"] == 80


def test_a_store_is_open_once(tmp_path):
    with open_store(tmp_path / "store"), pytest.raises(StoreLocked, match="has this store open"):
        open_store(tmp_path / "store")
    open_store(tmp_path / "store").close()


def test_what_is_no_store_is_refused(tmp_path):
    with pytest.raises(StoreError, match="there is no store"):
        Store.open(tmp_path / "none", create=False)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("mine")
    with pytest.raises(StoreError, match="not empty and holds no store"):
        Store.open(tmp_path / "full")
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["letter.txt"]


def test_a_back_up_of_an_open_store_is_a_store(tmp_path):
    handled = Handled()
    with open_store(tmp_path / "store") as store:
        handled.go_on(store.create("incidents", greedy()), 10)
        store.snapshot()
        handled.go_on(store.learner("incidents"), 5)
        store.back_up(tmp_path / "copy")
        digest = store.digest()
        with pytest.raises(StoreError, match="give the name of a new folder"):
            store.back_up(tmp_path / "copy")
    with pytest.raises(StoreClosed):
        store.back_up(tmp_path / "later")
    with open_store(tmp_path / "copy") as copy:
        assert copy.digest() == digest
        assert copy.status()["replayed"] == 5


def test_a_write_ahead_log_that_a_process_left_is_in_the_database_once_the_store_is_open(tmp_path):
    with open_store(tmp_path / "store") as store:
        Handled().go_on(store.create("incidents", greedy()), 10)
        shutil.copytree(tmp_path / "store", tmp_path / "left")  # as a crash leaves it
        digest = store.digest()
    assert (tmp_path / "left" / f"{DATABASE}-wal").stat().st_size > 0
    with open_store(tmp_path / "left") as store:
        assert store.status()["wal_bytes"] == 0
        assert store.digest() == digest


def test_a_compacted_store_goes_on_and_knows_the_ids_of_old_cases(tmp_path):
    handled = Handled(seed=2)
    with open_store(tmp_path / "store") as store:
        handled.go_on(store.create("incidents", drawing()), 40)
        digest = store.digest()
        assert store.compact() == 41
        assert store.digest() == digest
        handled.go_on(store.learner("incidents"), 20)
        digest = store.digest()
    with open_store(tmp_path / "store") as store:
        assert store.digest() == digest
        learner = store.learner("incidents")
        with pytest.raises(CaseExists, match=r"in the archive|begun already"):
            learner.begin(CALM, "down", id="case-1")
    found = verify(tmp_path / "store")
    assert (found.base, found.replayed, found.state) == (41, 20, digest["state"])


def test_without_space_but_the_reserve_reading_goes_on(tmp_path):
    with open_store(tmp_path / "store") as store:
        store.create("incidents", greedy()).begin(CALM, "down", id="a")
    options = StoreOptions(reserve_bytes=2**60)
    with Store.open(tmp_path / "store", options=options) as store:
        learner = store.learner("incidents")
        with pytest.raises(StoreError, match="no space left"):
            learner.observe("a", 0.1, "down", step=1)
        assert learner.act("a").step == 0
    with Store.open(tmp_path / "store", options=SELDOM) as store:
        assert store.learner("incidents").observe("a", 0.1, "down", step=1).step == 1


@pytest.mark.parametrize(("after", "limit"), [(2**70, 1), (-1, 1), (0, 2**70), (0, "1")])
def test_events_that_no_log_has_are_wrong_input_and_the_store_goes_on(tmp_path, after, limit):
    with open_store(tmp_path / "store") as store:
        with pytest.raises(ArgumentError):
            store.events(after, limit)
        assert store.events() == []


def test_a_store_that_is_found_damaged_stays_as_it_is(tmp_path):
    """What is left of its write-ahead log may be of use; a checkpoint would remove it."""
    with open_store(tmp_path / "store") as store:
        Handled(seed=4).go_on(store.create("incidents", greedy()), 20)
        shutil.copytree(tmp_path / "store", tmp_path / "copy")  # as if the machine had stopped
        seq, chain = store.read(lambda engine: (engine.seq, engine.chain))
    Head(tmp_path / "copy").note(seq, chain, now=True)
    path = tmp_path / "copy" / f"{DATABASE}-wal"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)
    with pytest.raises(StoreDamaged, match="the end of the log is lost"):
        open_store(tmp_path / "copy")
    assert path.read_bytes() == data
