import os
import re
import sys
import time

import pytest

from goalbound.errors import InputError
from goalbound.experiments import executors
from goalbound.experiments.job import Finished
from goalbound.experiments.sweep import sweep
from goalbound.extras import install_command
from tests.support.sweep_cases import HERE, EventLog, records_in, small_spec

pytest.importorskip("pydantic")
pytest.importorskip("pyarrow")
pytest.importorskip("joblib")


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_a_run_whose_process_is_killed_is_tried_again_alone_and_one_that_kills_always_has_failed(tmp_path):
    for name in ("once", "always"):
        (tmp_path / name).mkdir()
    once = {"use": f"{HERE}:deadly", "label": "once", "marks": str(tmp_path / "once"), "main": os.getpid()}
    always = {"use": f"{HERE}:deadly", "label": "always", "marks": str(tmp_path / "always"), "main": os.getpid(),
              "deaths": 99, "after": str(tmp_path / "once" / "0")}  # fmt: skip
    spec = small_spec(seeds=1, learners=[once, always, {"use": "clairvoyant"}])
    first, second, third = (run.id for run in spec.runs())
    read = EventLog()

    result = sweep(spec, tmp_path / "out", workers=2, progress=read)

    assert set(result.done) == {first, third}
    assert list(result.failed) == [second]
    assert "its process died twice" in result.failed[second]
    assert {first, second} <= {event.id for event in read.of("retried")} | {event.id for event in read.of("finished")}
    sweep(spec, tmp_path / "fresh", workers=1)  # where it spares the main process
    assert records_in(tmp_path / "out").items() <= records_in(tmp_path / "fresh").items()


def test_a_worker_process_uses_one_thread(tmp_path):
    spec = small_spec(seeds=1, learners=[{"use": f"{HERE}:threads", "path": str(tmp_path / name)} for name in "ab"])

    assert sweep(spec, tmp_path / "out", workers=2).complete

    assert [(tmp_path / name).read_text() for name in "ab"] == ["1 1", "1 1"]


def test_a_worker_with_another_version_is_not_believed(tmp_path, monkeypatch):
    def elsewhere(run, *_, **__):
        return Finished(run.id, b"PAR1", 1.0, 20, 40, 0.0, "0.0.1")

    monkeypatch.setattr(executors, "run_job", elsewhere)
    result = sweep(small_spec(seeds=1), tmp_path, workers=1)

    assert not result.done
    assert all("the worker has goalbound 0.0.1" in error for error in result.failed.values())


def test_a_cluster_without_its_extra_is_an_error_that_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)

    with pytest.raises(InputError, match=re.escape(install_command("cluster"))):
        sweep(small_spec(), tmp_path, on="tcp://127.0.0.1:8786")


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://x"])
def test_a_scheduler_that_does_not_answer_is_an_error_that_names_it(address, tmp_path, monkeypatch):
    pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
    monkeypatch.setattr(executors, "CONNECT_SECONDS", 0.5)
    started = time.monotonic()

    with pytest.raises(InputError, match=f"no Dask scheduler answers at '{address}'"):
        sweep(small_spec(), tmp_path, on=address)

    assert time.monotonic() - started < 10.0
