"""What is not a regular file, no path, or far larger than it looks: refused at once, with a remedy, by every reader."""

import gzip
import lzma
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound import LRCSSP, SSP, FileFormatError, Support
from goalbound.adapters.covariates import CovariateLearner, Hats, load_map, save_map
from goalbound.baselines import TabularLearner
from goalbound.cli import main
from goalbound.errors import InputError
from goalbound.models.files import io as files_io
from goalbound.models.files import load, read_drn, read_npz, read_umb, save
from goalbound.models.files.io import LIMIT, UNPACKED_WEIGHT, atomic_write, read_bytes

MIB = 2**20
READERS: dict[str, Callable[[Any], Any]] = {
    "load": load, "read_npz": read_npz, "read_umb": read_umb, "read_drn": read_drn, "LRCSSP.load": LRCSSP.load,
    "TabularLearner.load": TabularLearner.load, "CovariateLearner.load": CovariateLearner.load, "load_map": load_map,
}  # fmt: skip


def _more_readers() -> None:
    """Those that need an extra."""
    try:
        from goalbound.experiments.record_file import read_record
        from goalbound.experiments.spec import ExperimentSpec
    except ModuleNotFoundError:
        return
    READERS.update({"read_record": read_record, "ExperimentSpec.load": ExperimentSpec.load})


_more_readers()
posix = pytest.mark.skipif(os.name != "posix", reason="pipes, sockets and devices are those of POSIX")


@pytest.fixture
def special(tmp_path):
    """Things with a name that are no regular files."""
    os.mkfifo(tmp_path / "pipe.umb")
    (tmp_path / "folder.npz").mkdir()
    bound = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(tmp_path)  # names of sockets are short
    bound.bind("socket.drn")
    os.chdir(here)
    yield {
        "a pipe": tmp_path / "pipe.umb", "a directory": tmp_path / "folder.npz", "a socket": tmp_path / "socket.drn",
        "a device": Path(os.devnull),
    }  # fmt: skip
    bound.close()


@posix
@pytest.mark.timeout(60)
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_regular_file_is_refused_without_waiting_for_it(special, reader):
    for kind, path in special.items():
        with pytest.raises(InputError, match=f"{path.name}: this is {kind}") as caught:
            READERS[reader](path)
        assert "give" in str(caught.value)


@posix
@pytest.mark.timeout(60)
@pytest.mark.parametrize("command", ["solve", "check", "convert"])
def test_the_command_line_refuses_them_in_one_line(special, capsys, command):
    for kind, path in special.items():
        assert main([command, str(path), *(["out.npz"] if command == "convert" else [])]) == 2
        err = capsys.readouterr().err
        assert f"{path}: this is {kind}" in err
        assert err.count("\n") == 1


@posix
def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    regular = os.stat(__file__)
    with monkeypatch.context() as patch:
        patch.setattr(files_io.os, "stat", lambda _: regular)  # what was there a moment ago
        with pytest.raises(FileFormatError, match="this is a pipe"):
            read_bytes(tmp_path / "pipe", LIMIT)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("path", [1, True, None, 3.5, b"model.npz", ["model.npz"], "mo\0del.npz"])
def test_what_is_no_path_is_refused(reader, path):
    with pytest.raises(InputError, match="is not a path"):
        READERS[reader](path)


@pytest.mark.parametrize("path", [1, None, b"model.npz", "mo\0del.npz"])
def test_nothing_is_written_to_what_is_no_path(path):
    problem = SSP.dense([[0.5]], [[[0.0, 1.0]]])
    for write in (
        lambda: save(problem, path), lambda: problem.save(path), lambda: save_map(Hats([0, 1]), path),
        lambda: LRCSSP(Support.full(1, 1), 1, loss_floor=0.1).save(path),
    ):  # fmt: skip
        with pytest.raises(InputError, match="is not a path"):
            write()


@posix
@pytest.mark.timeout(60)
def test_writing_never_takes_the_place_of_a_device_a_pipe_or_a_folder(special, tmp_path):
    (tmp_path / "link.npz").symlink_to(special["a pipe"])
    for path in (special["a pipe"], special["a directory"], special["a socket"], tmp_path / "link.npz"):
        before = os.stat(path).st_mode
        with pytest.raises(InputError, match=f"{path.name}: this is .*: give the name of a file"):
            LRCSSP(Support.full(1, 1), 1, loss_floor=0.1).save(path)
        assert os.stat(path).st_mode == before
    with pytest.raises(InputError, match="this is a device"), atomic_write(os.devnull):
        pass
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.npz", "link.npz", "pipe.umb", "socket.drn"]


def noise_and_zeros(size: int) -> bytes:
    """Bytes that gzip and xz make some 100 times smaller, so that no rule about the ratio holds them up."""
    noise = np.random.default_rng(0).bytes(size // 128)
    return b"".join(noise[at : at + MIB // 128] + bytes(MIB - MIB // 128) for at in range(0, len(noise), MIB // 128))


@pytest.mark.parametrize(
    ("reader", "pack"),
    [
        (load, lambda data: gzip.compress(data, 1)),
        (read_drn, lambda data: gzip.compress(data, 1)),
        (read_umb, lambda data: lzma.compress(data, preset=0)),
    ],
)
def test_what_unpacks_to_more_than_an_eighth_of_the_limit_is_refused_with_two_remedies(tmp_path, reader, pack):
    path = tmp_path / "large.umb.gz"
    path.write_bytes(pack(noise_and_zeros(80 * MIB)))
    limit = 64 * UNPACKED_WEIGHT * MIB  # so that 64 MiB are allowed, and 80 not
    with pytest.raises(FileFormatError, match=f"unpacks to more than {64 * MIB} bytes") as caught:
        reader(path, limit=limit)
    assert f"unpack it first (gunzip, unxz), or raise it with limit={2 * limit}" in str(caught.value)
    with pytest.raises(FileFormatError, match=r"no UMB file|codec"):  # unpacked, and no model
        reader(path, limit=2 * limit)


@pytest.mark.parametrize("reader", [read_npz, LRCSSP.load, load_map, TabularLearner.load])
def test_an_archive_of_ours_is_not_unpacked_at_all(tmp_path, reader):
    save(SSP.dense([[0.5]], [[[0.0, 1.0]]]), tmp_path / "a.npz")
    (tmp_path / "a.npz.gz").write_bytes(gzip.compress((tmp_path / "a.npz").read_bytes()))
    with pytest.raises(FileFormatError, match=r"this is a compressed file; unpack it first"):
        reader(tmp_path / "a.npz.gz")


def test_memory_that_does_not_suffice_is_an_error_with_a_remedy(tmp_path, monkeypatch):
    save(SSP.dense([[0.5]], [[[0.0, 1.0]]]), tmp_path / "a.umb")

    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("goalbound.models.files.umb.tar_members", full)
    with pytest.raises(FileFormatError, match=r"a\.umb: there is not enough memory .* read it where there is more"):
        load(tmp_path / "a.umb")


def test_an_experiment_of_megabytes_is_refused(tmp_path):
    pytest.importorskip("pydantic")
    from goalbound.experiments.spec import ExperimentSpec

    (tmp_path / "a.toml").write_text("#" * (17 * MIB))
    with pytest.raises(InputError, match=r"a\.toml: .* bytes, and the limit is 16777216; no experiment is as large"):
        ExperimentSpec.load(tmp_path / "a.toml")
