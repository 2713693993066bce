"""Followers, of stores in folders and in databases."""

import time

import numpy as np
import pytest

from goalbound import LRCSSP, EpsilonGreedy, LossScale, Monitored, Support
from goalbound.errors import (
    CaseFinished,
    CaseNotFound,
    InputError,
    NotLeader,
    StorageFailed,
    StoreClosed,
    StoreDamaged,
    StoreError,
    StoreOverloaded,
)
from goalbound.serve.store import Follower, StoreOptions, follower
from goalbound.serve.store.locations import Location
from goalbound.serve.store.worker import Job
from tests.support.incidents_at_work import greedy
from tests.support.stores import SELDOM, WORLD, Handled, drawing, open_store, until
from tests.support.units import in_units

CALM = [1.0, 0.0]


def caught_up(store, follower):
    """Whether the two have the same state to the bit."""
    return follower.seen()[0] == store.status()["events"] and follower.digest() == store.digest()


def test_a_follower_has_the_state_of_its_leader_to_the_bit_and_says_how_old_it_is(place):
    handled = Handled(seed=3)
    with open_store(place) as store:
        handled.go_on(store.create("incidents", drawing()), 10)
        with Follower.open(place) as following:
            assert caught_up(store, following)  # from the first moment on
            handled.go_on(store.learner("incidents"), 30)
            store.create("other", greedy())
            until(lambda: caught_up(store, following))
            seq, behind = following.seen()
            assert (seq, following.names) == (42, ("incidents", "other"))
            assert 0.0 <= behind < 20.0
            mine, leading = following.learner("incidents"), store.learner("incidents")
            for answer in leading.cases():
                assert mine.act(answer.case) == answer
                assert mine.case(answer.case) == leading.case(answer.case)
                assert mine.explain(answer.case).as_json() == leading.explain(answer.case).as_json()
            assert mine.status() == leading.status()
            assert following.events(40) == store.events(40)
            assert following.status()["connected"] == 1


def test_bounds_of_policies_are_those_of_the_leader(tmp_path):
    with open_store(tmp_path / "store") as store:
        leading = store.create("incidents", LRCSSP(WORLD.support, 2, loss_floor=0.1))
        Handled().go_on(leading, 5)
        with Follower.open(tmp_path / "store") as following:
            mine, other = following.learner("incidents").policy_bounds(CALM), leading.policy_bounds(CALM)
            assert np.array_equal(mine.lower, other.lower)
            assert np.array_equal(mine.upper, other.upper)


SIX = Support.full(2, 6)


def exploring(explore):
    return EpsilonGreedy(SIX, 2, loss_floor=0.1, explore=explore, fade=0.0, rng=np.random.default_rng(3))


@pytest.mark.parametrize(
    ("learner", "draws"),
    [
        (lambda: exploring(0.0), False),
        (lambda: exploring(0.9), True),
        (lambda: in_units(Monitored(exploring(0.9)), LossScale("min", cap=1)), True),
        (lambda: LRCSSP(SIX, 2, loss_floor=0.1), False),
    ],
)
def test_another_proposal_is_the_one_that_the_leader_would_have_made_with_its_draws(tmp_path, learner, draws):
    """Asked of the follower first, and twice, then of the leader, in case after case; nothing is recorded by asking."""
    proposed = set()
    with open_store(tmp_path / "store") as store:
        leading = store.create("incidents", learner())
        for number in range(8):
            leading.begin(CALM, 0, id=f"c{number}")
        with Follower.open(tmp_path / "store") as following:
            mine = following.learner("incidents")
            for number in range(8):
                until(lambda: following.seen()[0] == store.status()["events"])
                made = leading.act(f"c{number}").action
                others = [action for action in range(6) if action != made]
                seen = following.digest()
                asked = [mine.act(f"c{number}", allowed=others) for _ in range(2)]
                assert following.digest() == seen
                found = leading.act(f"c{number}", allowed=others)
                assert asked[0] == asked[1]
                assert asked[0][:5] == found[:5]
                assert not asked[0].repeated
                proposed.add(found.action)
            until(lambda: caught_up(store, following))
    assert (len(proposed) > 2) or not draws


def test_what_would_write_is_refused_and_says_where_the_leader_is(tmp_path):
    with open_store(tmp_path / "store") as store:
        store.create("incidents", greedy()).begin(CALM, "down", id="a")
        with Follower.open(tmp_path / "store", leader="http://leader:8765") as following:
            mine = following.learner("incidents")
            for write in (
                lambda: mine.begin(CALM, "down"),
                lambda: mine.observe("a", 0.1, "down", step=1),
                lambda: mine.override("a", 0, 0.1, "down"),
                lambda: mine.moved_to("a", "down"),
                lambda: mine.abandon("a", "why"),
                mine.acknowledge,
            ):
                with pytest.raises(NotLeader, match="nothing was recorded; the leader is at http://leader") as caught:
                    write()
                assert caught.value.leader == "http://leader:8765"
            assert following.has_space()
        with Follower.open(tmp_path / "store") as following, pytest.raises(NotLeader, match=r"nothing was recorded$"):
            following.learner("incidents").begin(CALM, "down")
        assert store.status()["events"] == 2


def test_wrong_questions_are_answered_as_by_the_leader(tmp_path):
    with open_store(tmp_path / "store") as store:
        learner = store.create("incidents", greedy())
        learner.begin(CALM, "down", id="a")
        learner.begin(CALM, "down", id="b")
        learner.observe("b", 0.1, "goal", step=1)
        with Follower.open(tmp_path / "store") as following:
            mine = following.learner("incidents")
            with pytest.raises(CaseNotFound):
                mine.act("none")
            with pytest.raises(CaseFinished):
                mine.act("b")
            with pytest.raises(InputError):
                mine.act("a", allowed=["no such action"])
            assert mine.act("a").step == 0  # it goes on
        with pytest.raises(StoreClosed):
            mine.act("a")
    with pytest.raises(StoreError, match="there is no store"):
        Follower.open(tmp_path / "none")


def test_challengers_and_promotions_are_followed(tmp_path):
    with open_store(tmp_path / "store") as store, Follower.open(tmp_path / "store") as following:
        handled = Handled(seed=1)
        leading = store.create("incidents", greedy())
        store.create("rival", drawing(), follows="incidents")
        handled.go_on(leading, 20)
        leading.begin(CALM, "down", id="a")
        store.promote("rival")
        handled.go_on(leading, 10)
        until(lambda: caught_up(store, following))
        made = leading.act("a").action
        asked = following.learner("incidents").act("a", allowed=[1 - made])
        assert asked[:5] == leading.act("a", allowed=[1 - made])[:5]


def test_a_leader_that_stops_and_comes_back_is_followed_further(place):
    with open_store(place) as store:
        store.create("incidents", greedy()).begin(CALM, "down", id="a")
    with Follower.open(place) as following:
        for step in range(1, 4):
            with open_store(place) as store:
                store.learner("incidents").override("a", "restart", 0.1, "down", step=step)
                until(lambda store=store: caught_up(store, following))
        assert following.learner("incidents").act("a").step == 3


def test_a_log_that_is_compacted_is_followed_further(place):
    handled = Handled(seed=6)
    with open_store(place) as store, Follower.open(place) as following:
        leading = store.create("incidents", drawing())
        handled.go_on(leading, 20)
        until(lambda: caught_up(store, following))
        following.writer.call(lambda engine: (handled.go_on(leading, 20), store.compact()), writes=False)  # meanwhile
        handled.go_on(leading, 5)
        until(lambda: caught_up(store, following))
        assert following.status()["rebuilt"] == 1


def test_what_a_follower_has_not_seen_yet_is_not_there(place, monkeypatch):
    """A case that has begun has not ended, and no history is ahead of the state, whatever the log has by now."""
    with open_store(place) as store:
        leading = store.create("incidents", greedy())
        leading.begin(CALM, "down", id="a")
        leading.begin(CALM, "down", id="b")
        monkeypatch.setattr(follower, "LOOK_SECONDS", 600.0)  # it stays where it is
        with Follower.open(place) as following:
            mine = following.learner("incidents")
            before = {id: mine.case(id) for id in "ab"}
            told = mine.status()
            store.create("rival", drawing(), follows="incidents")
            for id in "abc":
                leading.begin(CALM, "down", id=id)
                leading.override(id, "restart", 0.1, "down", step=1)
            leading.observe("b", 0.1, "goal", step=2)
            assert following.seen()[0] == 3
            for ask in (mine.act, mine.case, mine.explain):
                with pytest.raises(CaseNotFound):
                    ask("c")
            assert {id: mine.case(id) for id in "ab"} == before
            assert mine.status() == told
            assert [event.seq for event in following.events(1)] == [2, 3]
            following.writer.call(lambda engine: following.advance(), writes=False)
            assert {id: mine.case(id) for id in "abc"} == {id: leading.case(id) for id in "abc"}
            assert mine.status() == leading.status()


def test_a_follower_that_loses_the_database_while_it_replays_says_how_far_it_has_come(tmp_path, monkeypatch):
    with open_store(tmp_path / "store") as store:
        leading = store.create("incidents", greedy())
        leading.begin(CALM, "down", id="a")
        monkeypatch.setattr(follower, "LOOK_SECONDS", 600.0)
        with Follower.open(tmp_path / "store") as following:
            for step in (1, 2):
                leading.override("a", "restart", 0.1, "down", step=step)
            seen = store.digest()
            store.create("other", greedy())

            def gone(number):
                raise StorageFailed("the server is gone")

            monkeypatch.setattr(following._engine.log, "learner_file", gone)
            following.writer.call(lambda engine: following.advance(), writes=False)
            assert not following.status()["connected"]
            assert following.digest() == seen
            assert following.learner("incidents").act("a").step == 2
            following.writer.call(lambda engine: following.advance(), writes=False)  # it is back
            assert caught_up(store, following)


def test_a_folder_for_copies_holds_those_of_snapshots_that_are_listed(database, tmp_path):
    options = StoreOptions(cache=tmp_path / "cache")
    with open_store(database) as store:
        store.create("incidents", greedy()).begin(CALM, "down", id="a")
        for step in range(1, 7):
            store.learner("incidents").override("a", "restart", 0.1, "down", step=step)
            store.snapshot()
            with Follower.open(database, options=options) as following:
                assert caught_up(store, following)
        listed = store.writer.call(lambda engine: {one.file for one in engine.log.snapshots()}, writes=False)
    assert {path.name for path in (tmp_path / "cache" / "snapshots").iterdir()} == listed
    assert len(listed) == 3


def test_many_new_events_are_replayed_some_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(follower, "_MOST_EVENTS", 4)
    with open_store(tmp_path / "store") as store, Follower.open(tmp_path / "store") as following:
        leading = store.create("incidents", greedy())
        following.writer.call(lambda engine: Handled().go_on(leading, 30), writes=False)
        until(lambda: caught_up(store, following))


def test_while_the_database_is_gone_answers_come_from_memory_and_grow_older(tmp_path, monkeypatch):
    monkeypatch.setattr(follower, "_REOPEN_SECONDS", 0.0)
    with open_store(tmp_path / "store") as store:
        leading = store.create("incidents", greedy())
        leading.begin(CALM, "down", id="a")
        with Follower.open(tmp_path / "store") as following:
            mine = following.learner("incidents")
            opened, reachable = Location.open_to_read, False

            def gone(*_, **options):
                raise StorageFailed("the server is gone")

            monkeypatch.setattr(Location, "open_to_read", lambda one: opened(one) if reachable else gone())
            monkeypatch.setattr(following._engine.log, "last", gone)
            until(lambda: not following.status()["connected"])
            leading.override("a", "restart", 0.1, "down", step=1)
            assert mine.act("a").step == 0
            before = following.behind
            time.sleep(0.05)
            assert following.behind >= before + 0.05
            monkeypatch.setattr(following._engine.log, "events_of", gone)
            with pytest.raises(StorageFailed, match="cannot be read at the moment"):
                mine.case("a")
            assert following.writer.alive
            reachable = True
            until(lambda: caught_up(store, following))
            assert following.status()["connected"] == 1


def test_a_server_that_stops_and_starts_again_is_followed_further(postgres, database):
    with open_store(database) as store:
        store.create("incidents", greedy()).begin(CALM, "down", id="a")
    with Follower.open(database) as following:
        postgres.stop()
        until(lambda: not following.status()["connected"])
        assert following.learner("incidents").act("a").step == 0
        postgres.start()
        with open_store(database) as store:
            store.learner("incidents").override("a", "restart", 0.1, "down", step=1)
            until(lambda: caught_up(store, following))


def test_another_history_stops_a_follower(tmp_path, monkeypatch):
    """The log was restored from an older back-up, and has gone on otherwise."""
    failed = []
    with open_store(tmp_path / "store") as store:
        leading = store.create("incidents", greedy())
        leading.begin(CALM, "down", id="a")
        with Follower.open(tmp_path / "store") as following:
            following.writer.on_failure = failed.append
            monkeypatch.setattr(following._engine.log, "last", lambda: (1, bytes(16)))
            until(lambda: not following.writer.alive)
            assert isinstance(failed[0], StoreDamaged)
            with pytest.raises(StoreDamaged, match="event 2 was seen, event 1 is the last one"):
                following.learner("incidents")
        with Follower.open(tmp_path / "store") as following:
            following.writer.call(lambda engine: setattr(engine.restored, "chain", bytes(16)), writes=False)
            leading.begin(CALM, "down", id="b")
            until(lambda: not following.writer.alive)
            assert "Start the follower again" in str(following.writer.failure)


def test_an_error_of_ours_stops_it_and_those_who_wait_are_told(tmp_path, monkeypatch):
    with open_store(tmp_path / "store") as store:
        store.create("incidents", greedy())
        with Follower.open(tmp_path / "store") as following:

            def broken():
                raise ZeroDivisionError("a bug")

            monkeypatch.setattr(following, "advance", broken)
            until(lambda: not following.writer.alive)
            with pytest.raises(StorageFailed, match="ZeroDivisionError"):
                following.digest()


def test_too_many_requests_are_refused(tmp_path):
    with open_store(tmp_path / "store") as store:
        store.create("incidents", greedy())
        options = StoreOptions(most_waiting=1)
        with Follower.open(tmp_path / "store", options=options) as following:

            def crowd(engine):
                for _ in range(3):
                    following.writer.submit(Job([lambda engine: None], lambda jobs: None, writes=False))

            with pytest.raises(StoreOverloaded):
                following.writer.call(crowd, writes=False)
            assert following.status()["refused"] == 1
            assert SELDOM.most_waiting > 1
            until(lambda: following.writer.waiting == 0)  # what was done waits no more


def test_a_job_says_what_had_been_seen_when_it_was_done(tmp_path):
    with open_store(tmp_path / "store") as store:
        store.create("incidents", greedy())
        with Follower.open(tmp_path / "store") as following:
            job = Job([lambda engine: engine.seq], lambda jobs: None, writes=False)
            following.writer.submit(job)
            until(lambda: job.seen is not None)
            assert job.seen[0] == job.results[0] == 1
