"""Arrays and a header in one file: exact, the same bytes each time, and no way in for anything else."""

import base64
import io
import json
import struct
import zipfile
import zlib

import numpy as np
import pytest

from goalbound.errors import FileFormatError, InputError
from goalbound.models import SSP, Support
from goalbound.models.files import load
from goalbound.models.files.array_file import (
    check_keys,
    check_present,
    peek_header,
    read_array_file,
    write_array_file,
)
from goalbound.models.files.npz import SUPPORT_ARRAYS, support_arrays, support_from
from goalbound.models.files.saved_files import SavedFiles

HEADER = {"format": "goalbound", "version": 1, "kind": "Thing", "note": [1, None, "é"]}
TYPES = {"gram": "<f8", "visits": "<i8", "pairs": "<i4", "known": "|b1", "bytes": "|u1"}

FIRST_RELEASE = """
eNoL8GZmEWGAAEWGFV6B71cDWSDMDcQZqYkpqUV6WcX5edVKaflFuYklSlYKSun5iTlJ+aV5KUo6CkplqUXFmfl5QHFDIC87EygKVBIcHACSzMkv
Lo4vTk7MSQXJ6xkAhYpLEotApkDZJanxeYm5qcVAkWil4szkbKVYoERicgnQTCSZlKLSdAVHkJFglhNYVXJ+bkF+XmpeCVxhXmlOTm0A0E+6cD/N
zS1x/w8FfAwiDAWJmUXxYEfo5RVUMjIIMEyAqoXRk/1CfQMiGRnKGKrVU1KLk4vUrRTUbTIt1HUU1IGBUFKUmBefXwQMGKC4W2JOcSpQvDgjsSAV
yNcw0tHUUahVoABwQZ3BwASlUf1THbb1M8w//DD/QMIL5qEOqOIO/B4yoaeHGDE8kumwQw05YvJSK0pQI2YGVO0MakSMMfUihhFKM2ONIFl+9jfY
/FWSCvNXD1RtDzXihwr+YkTyF6pfvPOSg2B+4QL6BZSfU4tJyzhpdM44D+xnzQSBk/aofhG7+oML5hdBUMYpyk9KTMrMySzJRHiJuCSXRuck98Ee
5jUYHeDNyCTCjLvkhoEl4LhFKsdBGnWZUYvHCdA45EPReAVIohaW6HpBRVEHtJzhR9ELshatYELXDMr+M6AhjWpxLrDgQy0M0PWCslgPNAOh6nVl
ZkDLcOh6QUka5mEuFL2CLAxICRxdHyj5wNwriKLvLlAfRmIK8GZlA0mzA+FCYGjsYAXxAO0Ios0=
"""
"""The file of ``small()`` as version 0.1.0 wrote it, deflated, in base64."""


def small() -> SSP:
    return SSP.dense([[0.5, 0.2]], [[[0.0, 1.0], [0.5, 0.5]]], state_names=["sick"], action_names=["drug A", "drug B"])


def things() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "gram": rng.random((2, 3, 3)),
        "visits": np.array([[1, -(2**62)]]),
        "pairs": np.array([], dtype=np.int32),
        "known": np.array([True, False, True]),
        "bytes": np.array(255, dtype=np.uint8),
    }


def read(path, **options):
    return read_array_file(path, **({"kind": "Thing", "versions": (1,), "arrays": TYPES} | options))


def with_member(path, name, data):
    """The file with one member more, or another in its place."""
    with zipfile.ZipFile(path) as archive:
        members = {one: archive.read(one) for one in archive.namelist()} | {name: data}
    with zipfile.ZipFile(path, "w") as archive:
        for one, content in members.items():
            archive.writestr(one, content)


def npy(array) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, array)
    return out.getvalue()


@pytest.fixture
def path(tmp_path):
    write_array_file(tmp_path / "thing.npz", HEADER, things())
    return tmp_path / "thing.npz"


def test_a_problem_has_the_bytes_of_the_first_release(tmp_path):
    old = zlib.decompress(base64.b64decode(FIRST_RELEASE))
    small().save(tmp_path / "new.npz")
    assert (tmp_path / "new.npz").read_bytes() == old
    (tmp_path / "old.npz").write_bytes(old)
    assert load(tmp_path / "old.npz") == small()


def test_arrays_of_every_type_and_shape_come_back_to_the_bit(path):
    header, arrays = read(path)
    assert header == HEADER
    assert list(arrays) == list(TYPES)
    for name, array in things().items():
        assert (arrays[name].dtype, arrays[name].shape) == (array.dtype, array.shape)
        assert arrays[name].tobytes() == array.tobytes()
        assert not arrays[name].flags.writeable


def test_the_same_content_gives_the_same_bytes_however_it_lies_in_memory(path, tmp_path):
    awkward = {name: np.asfortranarray(array) if array.ndim else array for name, array in things().items()}
    awkward["visits"] = awkward["visits"].astype(">i8")
    write_array_file(tmp_path / "again.npz", HEADER, awkward)
    assert (tmp_path / "again.npz").read_bytes() == path.read_bytes()


def test_numbered_arrays_are_allowed_by_a_pattern_of_the_whole_name(tmp_path):
    path = tmp_path / "episodes.npz"
    values = {f"episode_{number}.values": np.full(2, float(number)) for number in range(300)}
    write_array_file(path, HEADER, values)
    patterns = {r"episode_[0-9]+\.values": "<f8"}
    _, arrays = read(path, arrays=patterns)
    assert list(arrays) == list(values)
    assert arrays["episode_299.values"].tolist() == [299.0, 299.0]
    for stray in ("episode_3.valuesX.npy", "episode_x.values.npy", "my episode_3.values.npy", "episode_3.values"):
        write_array_file(path, HEADER, {"episode_0.values": np.zeros(1)})
        with_member(path, stray, npy(np.zeros(1)))
        with pytest.raises(FileFormatError, match=r"is not part of a goalbound file"):
            read(path, arrays=patterns)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "LRCSSP"}, "the kind is 'Thing', and 'LRCSSP' is needed"),
        ({"kind": ("SSP", "LinearCSSP")}, "the kind is 'Thing', and 'SSP' or 'LinearCSSP' is needed"),
        ({"versions": (2, 3)}, "version 1; this goalbound reads version 2 or 3"),
        ({"arrays": TYPES | {"known": "|u1"}}, r"known.npy holds '\|b1', .*; it needs '\|u1'"),
        ({"arrays": {}, "what": "checkpoint"}, "6 members; a checkpoint has at most 1"),
        ({"arrays": {"x.*": "<f8"}}, "'gram.npy' is not part of a goalbound file"),
        ({"limit": 100}, "the limit is 100"),
    ],
)  # fmt: skip
def test_what_was_not_asked_for_is_named(path, options, message):
    with pytest.raises(FileFormatError, match=message) as caught:
        read(path, **options)
    assert str(caught.value).count(str(path)) == 1


def test_sizes_are_checked_before_anything_is_made(path):
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000, 100000, 100000), }\n"
    with_member(path, "gram.npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header)
    with pytest.raises(FileFormatError, match=r"claims shape \(100000, 100000, 100000\), and 0 bytes follow"):
        read(path)


def test_members_that_share_their_bytes_are_refused_before_they_are_read(tmp_path):
    # Ten entries of the directory are made to point at one member of a million bytes.
    path = tmp_path / "overlap.npz"
    data = npy(np.zeros(10**6, dtype=np.uint8))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(HEADER))
        archive.writestr("part_0.npy", data)
        shared = archive.infolist()[-1]
        for number in range(1, 10):
            entry = zipfile.ZipInfo(f"part_{number}.npy")
            entry.header_offset, entry.CRC = shared.header_offset, shared.CRC
            entry.file_size = entry.compress_size = len(data)
            archive.filelist.append(entry)
            archive.NameToInfo[entry.filename] = entry
    with pytest.raises(FileFormatError, match=r"part_1.npy claims 1000128 bytes in a file of .*, where others stand"):
        read(path, arrays={"part_[0-9]": "|u1"})


def test_damage_inside_an_array_is_noticed(path):
    raw = bytearray(path.read_bytes())
    at = raw.find(things()["gram"].tobytes())
    raw[at + 5] ^= 1
    path.write_bytes(raw)
    with pytest.raises(FileFormatError, match=r"damaged npz file .*CRC"):
        read(path)


@pytest.mark.parametrize(
    ("header", "arrays", "message"),
    [
        ({"kind": "Thing"}, {}, 'the header of an array file needs "format": "goalbound"'),
        (HEADER | {"version": "1"}, {}, 'a whole "version"'),
        (HEADER, {"../evil": np.zeros(1)}, "no array can be called '../evil'"),
        (HEADER, {"gram": np.zeros(1, dtype=np.float32)}, "gram holds float32; only float64, int64"),
        (HEADER, {"gram": np.array([None])}, "gram holds object"),
        (HEADER, {str(number): np.zeros(1) for number in range(2**16)}, "join some of them"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(tmp_path, header, arrays, message):
    with pytest.raises(InputError, match=message):
        write_array_file(tmp_path / "wrong.npz", header, arrays)
    assert not list(tmp_path.iterdir())


def test_missing_keys_and_arrays_are_named():
    check_keys(HEADER, ["note"])
    with pytest.raises(FileFormatError, match=r"the header has .*'note'.*; it needs .*'other'"):
        check_keys(HEADER, ["other"])
    check_present(things(), ["gram"])
    with pytest.raises(FileFormatError, match=r"losses.npy is missing"):
        check_present(things(), ["gram", "losses"])


def test_a_support_comes_back_from_any_archive(tmp_path):
    support = Support.from_pairs([{0: [0, 1]}, {0: [2], 3: [0, 2]}], state_names=["a", "b"])
    header = HEADER | {"state_names": support.state_names, "action_names": support.action_names}
    write_array_file(tmp_path / "support.npz", header, support_arrays(support) | {"gram": np.zeros(1)})
    header, arrays = read(tmp_path / "support.npz", arrays=TYPES | SUPPORT_ARRAYS)
    assert support_from(header, arrays) == support
    with pytest.raises(FileFormatError, match=r"next_state.npy is missing"):
        support_from(header, {name: arrays[name] for name in SUPPORT_ARRAYS if name != "next_state"})
    with pytest.raises(FileFormatError, match="the header has no action_names"):
        support_from({"state_names": None}, arrays)
    with pytest.raises(FileFormatError, match="state_names is neither a list nor null"):
        support_from(header | {"state_names": {"a": 1, "b": 2}}, arrays)


SPARSE = {"gram": np.zeros((1000, 30)), "visits": np.random.default_rng(0).integers(0, 2**62, 30_000)}


def test_what_is_unpacked_counts_towards_the_limit_eightfold_and_the_limit_that_is_named_suffices(tmp_path):
    path = tmp_path / "deflated.npz"
    write_array_file(path, HEADER, {"gram": SPARSE["gram"]}, deflate=("gram",))
    size = path.stat().st_size
    assert size < 240_000 / 16
    with pytest.raises(
        FileFormatError, match=r"more in memory, which count 8-fold.* raise it with limit=[0-9]+$"
    ) as no:
        read(path, deflated=True, limit=1_000_000)
    assert "gram" in read(path, deflated=True, limit=int(str(no.value).split("limit=")[1]))[1]


def test_a_deflated_array_is_unpacked_no_further_than_it_claims(tmp_path):
    import tracemalloc

    path, megabytes = tmp_path / "bomb.npz", 200 * 2**20
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        new.writestr("header.json", json.dumps(HEADER), zipfile.ZIP_STORED)
        new.writestr("gram.npy", npy(np.zeros((1, 1, 1))) + bytes(megabytes))
    whole = len(npy(np.zeros((1, 1, 1))))
    raw = path.read_bytes().replace((whole + megabytes).to_bytes(4, "little"), whole.to_bytes(4, "little"))
    path.write_bytes(raw)
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError, match="CRC"):
            read(path, deflated=True)
        assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    finally:
        tracemalloc.stop()


def test_the_id_of_a_file_follows_from_its_content_and_is_not_part_of_what_is_read(tmp_path):
    ids = []
    for number, arrays in enumerate((things(), things(), things() | {"bytes": np.array(254, dtype=np.uint8)})):
        path = tmp_path / str(number)
        write_array_file(path, HEADER, arrays, files=SavedFiles())
        ids.append(peek_header(path)["id"])
        assert read(path)[0] == HEADER
    assert ids[0] == ids[1] != ids[2]
