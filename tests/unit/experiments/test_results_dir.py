"""The results directory: its lock, its files, and what is left after failures."""

import errno
import os
from contextlib import contextmanager
from pathlib import Path

import pytest

from goalbound.errors import InputError
from goalbound.experiments import results_dir as results_dir_module
from goalbound.experiments.results_dir import ResultsDir
from goalbound.experiments.spec import ExperimentSpec
from goalbound.experiments.sweep import sweep
from tests.support.sweep_cases import EventLog, records_in, small_spec


def test_the_spec_is_written_as_it_was_used(undisturbed):
    assert ExperimentSpec.load(undisturbed / "spec.toml").runs() == small_spec().runs()


def test_a_damaged_record_is_moved_aside_and_done_again(undisturbed, tmp_path):
    sweep(small_spec(), tmp_path, workers=1)
    whole = records_in(undisturbed)
    cut, foreign, empty, fine = whole
    records = tmp_path / "records"
    (records / f"{cut}.parquet").write_bytes(whole[cut][: len(whole[cut]) // 2])
    (records / f"{foreign}.parquet").write_bytes(whole[fine])
    (records / f"{empty}.parquet").write_bytes(b"")
    events = EventLog()

    result = sweep(small_spec(), tmp_path, workers=1, progress=events)

    assert set(result.damaged) == set(result.done) == {cut, foreign, empty}
    assert result.reused == (fine,)
    assert f"record of the run {fine}" in result.damaged[foreign]
    assert {event.id for event in events.of("damaged")} == {cut, foreign, empty}
    assert records_in(tmp_path) == whole
    assert (tmp_path / "damaged" / f"{cut}.parquet").read_bytes() == whole[cut][: len(whole[cut]) // 2]


def test_a_second_sweep_of_the_same_folder_is_refused_and_names_the_first(tmp_path):
    with (
        ResultsDir(tmp_path).locked(),
        pytest.raises(InputError, match=f"process {os.getpid()} on .*use another folder"),
    ):
        sweep(small_spec(), tmp_path, workers=1)

    assert sweep(small_spec(seeds=1), tmp_path, workers=1).complete


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_a_disk_that_refuses_is_one_error_and_nothing_is_half_written(number, undisturbed, tmp_path, monkeypatch):
    whole = results_dir_module.atomic_write
    written = []

    @contextmanager
    def refuses_the_third_record(path):
        with whole(path) as file:
            if Path(path).suffix == ".parquet":
                written.append(path)
                if len(written) == 3:
                    file.write(b"PAR1")
                    raise OSError(number, os.strerror(number), "draft")
            yield file

    events = EventLog()
    with monkeypatch.context() as patch:
        patch.setattr(results_dir_module, "atomic_write", refuses_the_third_record)
        with pytest.raises(OSError, match=f"{os.strerror(number)}; 2 of 4 runs are done and kept") as caught:
            sweep(small_spec(), tmp_path, workers=1, progress=events)

    assert caught.value.errno == number
    assert caught.value.filename == str(written[-1])
    assert events.kinds()[-1] == "done"
    assert len(list((tmp_path / "records").iterdir())) == 2
    assert records_in(tmp_path).items() <= records_in(undisturbed).items()

    assert len(sweep(small_spec(), tmp_path, workers=1).done) == 2
    assert records_in(tmp_path) == records_in(undisturbed)
