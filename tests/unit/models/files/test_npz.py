"""goalbound's own files: exact, deterministic, atomic."""

import json
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goalbound.errors import FileFormatError, InputError
from goalbound.models import SSP, LinearCSSP, Support
from goalbound.models.files import load, read_npz
from tests.support.model_files import linear_cssps, ssps


@settings(max_examples=60, deadline=None)
@given(st.one_of(ssps(), linear_cssps()))
def test_reading_gives_back_what_was_written_to_the_bit(tmp_path_factory, problem):
    path = tmp_path_factory.getbasetemp() / "any.npz"
    problem.save(path)
    again = load(path)
    assert type(again) is type(problem)
    assert again == problem
    assert again.losses.tobytes() == problem.losses.tobytes()
    assert again.probabilities.tobytes() == problem.probabilities.tobytes()


def test_the_name_of_the_goal_is_kept_and_files_without_one_have_none(tmp_path):
    support = Support.from_names({"down": {"restart": ["done"]}}, goal="done")
    SSP(support, [0.5], [1.0]).save(tmp_path / "named.npz")
    assert load(tmp_path / "named.npz").support.goal_name == "done"
    small().save(tmp_path / "small.npz")
    with zipfile.ZipFile(tmp_path / "small.npz") as file:
        assert b"goal_name" not in b"".join(file.read(name) for name in file.namelist())
    assert load(tmp_path / "small.npz").support.goal_name == "goal"


def small() -> SSP:
    return SSP.dense([[0.5, 0.2]], [[[0.0, 1.0], [0.5, 0.5]]], state_names=["sick"], action_names=["drug A", "drug B"])


def test_numpy_itself_opens_the_file(tmp_path):
    small().save(tmp_path / "drug.npz")
    with np.load(tmp_path / "drug.npz", allow_pickle=False) as arrays:
        assert arrays["losses"].tolist() == [0.5, 0.2]
        assert json.loads(arrays["header.json"])["state_names"] == ["sick"]


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "drug.npz"
    small().save(path)
    before = path.read_bytes()

    def broken(*_args, **_options):
        raise OSError("disk full")

    monkeypatch.setattr(np.lib.format, "write_array", broken)
    with pytest.raises(OSError, match="disk full"):
        small().save(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["drug.npz"]


def test_a_contextual_problem_is_not_read_where_a_plain_one_stands(tmp_path):
    small().save(tmp_path / "drug.npz")
    with pytest.raises(InputError, match="without context"):
        LinearCSSP.load(tmp_path / "drug.npz")


def rewritten(path, change):
    """The file with each member passed through ``change(name, data)``; None drops it."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            if (new := change(name, data)) is not None:
                archive.writestr(name, new)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "version 2; this goalbound reads version 1"),
        ({"format": "other"}, "format is 'other'"),
        ({"kind": "POMDP"}, "kind is 'POMDP'"),
        ({"loss_scale": "1"}, "loss_scale is '1'"),
        ({"loss_scale": 0.0}, "loss_scale 0.0 is not a positive number"),
        ({"start": 1}, "start is the goal"),
        ({"start": True}, "start is True"),
        ({"start": None}, "either a state in the header or a distribution"),
        ({"state_names": ["a", "b"]}, "state_names has 2 names for 1"),
        ({"state_names": [1]}, "sequence of strings"),
        ({"component_names": ["a"]}, "without context has component_names"),
        ({"extra": 1}, "the header has"),
    ],
)
def test_a_wrong_header_is_named(tmp_path, change, message):
    path = tmp_path / "drug.npz"
    small().save(path)

    def changed(name, data):
        return json.dumps(json.loads(data) | change) if name == "header.json" else data

    with pytest.raises(FileFormatError, match=message) as caught:
        read_npz(rewritten(path, changed))
    assert str(path) in str(caught.value)
