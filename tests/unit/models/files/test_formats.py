"""Problems in files of any format: written by the suffix, read by the bytes."""

import gzip

import pytest

from goalbound.errors import FileFormatError, InputError
from goalbound.models import SSP, LinearCSSP
from goalbound.models.files import load, save


def small() -> SSP:
    return SSP.dense([[0.5, 0.2]], [[[0.0, 1.0], [0.5, 0.5]]], action_names=["drug A", "drug B"])


def test_a_missing_file_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.npz")


def test_save_goes_by_the_suffix_and_lists_the_known_ones(tmp_path):
    with pytest.raises(InputError, match=r"unknown suffix '.csv'; known are .npz .*, .umb .* and .drn"):
        save(small(), tmp_path / "drug.csv")
    contextual = LinearCSSP.mix([small(), small()])
    for suffix in (".umb", ".drn"):
        with pytest.raises(InputError, match=r"hold no contexts; save as \.npz"):
            save(contextual, tmp_path / f"drug{suffix}")


def test_load_goes_by_the_bytes_and_not_by_the_suffix(tmp_path):
    for suffix in ("npz", "umb", "drn"):
        save(small(), tmp_path / f"drug.{suffix}")
        (tmp_path / f"drug.{suffix}").rename(tmp_path / "model")
        assert load(tmp_path / "model").losses.tolist() == [0.5, 0.2]
    (tmp_path / "model").write_bytes(b"states,actions\n")
    with pytest.raises(FileFormatError, match=r"known are \.npz"):
        load(tmp_path / "model")


def test_the_source_of_a_model_is_refused_with_what_to_do(tmp_path):
    for suffix in ("prism", "nm", "jani"):
        (tmp_path / f"model.{suffix}").write_bytes(b"mdp\n")
        with pytest.raises(FileFormatError, match=r"let PRISM or Storm build the model and export it as \.umb"):
            load(tmp_path / f"model.{suffix}")


def test_loss_and_goal_are_refused_for_a_file_that_holds_one_problem(tmp_path):
    small().save(tmp_path / "drug.npz")
    with pytest.raises(InputError, match="loss= and goal= are for UMB and DRN"):
        load(tmp_path / "drug.npz", goal="goal")


def test_of_compressed_files_the_suffix_says_whether_they_hold_text(tmp_path):
    save(small(), tmp_path / "drug.drn")
    packed = gzip.compress((tmp_path / "drug.drn").read_bytes())
    (tmp_path / "packed.drn.gz").write_bytes(packed)
    assert load(tmp_path / "packed.drn.gz") == load(tmp_path / "drug.drn")
    (tmp_path / "packed").write_bytes(packed)  # a gzip of unknown content is taken for UMB, and is none
    with pytest.raises(FileFormatError, match="packed"):
        load(tmp_path / "packed")


def test_a_suffix_decides_only_where_the_bytes_say_nothing(tmp_path):
    path = tmp_path / "empty.drn"
    path.write_bytes(b"")
    with pytest.raises(FileFormatError) as caught:
        load(path)
    assert "known are" not in str(caught.value)  # the reader of DRN files complains
