"""What stores that write and followers have in common."""

import pytest

from goalbound.errors import LearnerNotFound, StoreClosed, StoreDamaged
from goalbound.serve.store import Follower, Store, open_store
from tests.support.incidents_at_work import greedy
from tests.support.stores import Handled


@pytest.fixture
def handled(place):
    with Store.open(place) as store:
        store.create("other", greedy())
        Handled(seed=2).go_on(store.create("incidents", greedy()), 20)
    return place


@pytest.mark.parametrize("kind", [Store, Follower])
def test_it_says_what_is_in_the_log(handled, kind):
    with kind.open(handled) as opened:
        assert opened.names == ("other", "incidents")
        assert "incidents" in opened
        assert "none" not in opened
        assert [event.seq for event in opened.events(3, 4)] == [4, 5, 6, 7]
        assert opened.digest()["seq"] == 22
        status = opened.status()
        assert (status["events"], status["learners"], status["alive"]) == (22, 2, True)
        assert status["open_cases"] == len(opened.learner("incidents").cases()) > 0
        with pytest.raises(LearnerNotFound):
            opened.learner("none")
        assert opened.has_space()
        assert opened.folder.is_dir()


@pytest.mark.parametrize("kind", [Store, Follower])
def test_once_it_is_closed_nothing_is_answered(handled, kind):
    opened = kind.open(handled)
    opened.close()
    opened.close()
    with pytest.raises(StoreClosed):
        opened.digest()
    assert opened.status()["alive"] is False
    with kind.open(handled) as again:  # everything that it held was released
        assert again.digest()["seq"] == 22


@pytest.mark.parametrize("kind", [Store, Follower])
def test_if_the_log_cannot_be_replayed_everything_is_released(handled, kind, monkeypatch):
    def damaged(*arguments, **options):
        raise StoreDamaged("a page")

    with monkeypatch.context() as patched:
        patched.setattr(open_store, "Engine", damaged)
        with pytest.raises(StoreDamaged, match="a page"):
            kind.open(handled)
    with kind.open(handled) as opened:
        assert opened.digest()["seq"] == 22
