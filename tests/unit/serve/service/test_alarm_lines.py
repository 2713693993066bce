"""Alarms among the messages of a service."""

import logging
import warnings

import pytest

from goalbound import Guarded, LossScale, Monitored
from goalbound.errors import ChangeWarning
from goalbound.serve.service import server
from goalbound.serve.service.alarm_lines import alarm_lines, silent_alarms
from tests.support.incidents_at_work import BEFORE, RUNBOOK, changed, greedy, people
from tests.support.stores import open_store
from tests.support.units import in_units

CALM = [1.0, 0.0]


def quiet():
    learner = Monitored(Guarded(greedy(), RUNBOOK, after_steps=1000), run_length=1000)
    learner.learn_log(people(BEFORE, 200))
    return in_units(learner, LossScale("min", cap=1))


def broken_restarts(learner, count):
    """Restarts that do not help, in a case that people handle."""
    learner.begin(CALM, "down", id="secret-17")
    for step in range(1, count + 1):
        learner.override("secret-17", "restart", 0.1, "down", step=step)


def test_a_change_is_one_line_with_the_name_of_the_learner(tmp_path, caplog, capsys):
    with open_store(tmp_path / "store") as store:
        learner = store.create("recovery", quiet())
        store.create("other", greedy())
        with caplog.at_level(logging.WARNING), warnings.catch_warnings(record=True) as others, alarm_lines(store):
            broken_restarts(learner, 40)
            warnings.warn("another", UserWarning, stacklevel=1)
        assert [str(one.message) for one in others] == ["another"]
        [first, *more] = [one.getMessage() for one in caplog.records if one.name == "goalbound.serve.service"]
        assert first.startswith('recovery: state 0 ("down"), action 0 ("restart"): ')
        assert "relearned()" in first
        assert "\n" not in first
        assert "secret" not in caplog.text + capsys.readouterr().err
        assert len({first, *more}) == 1 + len(more)  # each once
        alarms = store.status()["alarms"]
        assert alarms == {"recovery": 1 + len(more), "other": 0}
        learner.acknowledge()
        assert store.status()["alarms"]["recovery"] == 0


def test_alarms_of_the_past_are_said_at_the_start_and_a_replay_says_none(tmp_path, caplog):
    with open_store(tmp_path / "store") as store, silent_alarms():
        store.create("recovery", changed())
        broken_restarts(store.create("later", quiet()), 40)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ChangeWarning)
        with silent_alarms():
            store = open_store(tmp_path / "store")
    with store, caplog.at_level(logging.WARNING), alarm_lines(store):
        said = [one.getMessage().split(": ")[0] for one in caplog.records]
        assert set(said) == {"recovery", "later"}
        assert len(said) == sum(store.status()["alarms"].values())


@pytest.mark.parametrize("note", [None, "SQLite 3.40.0 has the WAL-reset bug"])
def test_a_note_about_sqlite_is_no_warning(tmp_path, caplog, monkeypatch, note):
    monkeypatch.setattr(server, "sqlite_note", lambda: note)
    with open_store(tmp_path / "store") as store, caplog.at_level(logging.INFO):
        store.create("recovery", greedy())
        server._say_what_was_found(store)
    assert "0 events, 0 open cases; 0 events replayed" in caplog.text
    assert [one.levelname for one in caplog.records] == ["INFO"] * (1 + (note is not None))
