"""Files that are broken, or that mean harm: one clear error, soon, and no memory for what is merely claimed."""

import contextlib
import gzip
import io
import json
import lzma
import os
import struct
import zipfile
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goalbound.errors import FileFormatError, InputError
from goalbound.models import SSP, LinearCSSP
from goalbound.models.files import load, read_drn, read_npz, read_umb, save, write_umb
from tests.support.hostile_files import MIB, member, refused, tar_with
from tests.support.model_files import a_model, archive, f8, flags, u8

READERS = {"npz": read_npz, "umb": read_umb, "drn": read_drn}


def a_problem() -> SSP:
    return SSP.dense(
        [[0.5, 0.25], [1.0, 0.0]],
        [[[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0], [0.125, 0.0, 0.875]]],
        start=[0.5, 0.5],
        action_names=["left", "right"],
    )


@pytest.fixture(scope="module")
def valid(tmp_path_factory) -> dict[str, bytes]:
    """The bytes of a small valid file of each kind."""
    folder = tmp_path_factory.mktemp("valid")
    for suffix in READERS:
        save(a_problem(), folder / f"file.{suffix}")
    write_umb(a_problem(), folder / "file.umb.gz", compress=True)
    LinearCSSP.mix([a_problem(), a_problem()]).save(folder / "file.linear.npz")
    return {path.name.removeprefix("file."): path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("kind", ["npz", "linear.npz", "umb", "umb.gz", "drn"])
@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_a_damaged_file_is_a_problem_or_a_clear_error(valid, tmp_path_factory, kind, data):
    raw = bytearray(valid[kind])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw)))
        how = data.draw(st.sampled_from(["flip", "cut", "insert", "erase", "copy"]))
        if how == "flip" and at < len(raw):
            raw[at] ^= data.draw(st.integers(1, 255))
        elif how == "cut":
            del raw[at:]
        elif how == "insert":
            raw[at:at] = data.draw(st.binary(min_size=1, max_size=9))
        elif how == "erase":
            del raw[at : at + data.draw(st.integers(1, 64))]
        else:
            other = data.draw(st.integers(0, len(raw)))
            raw[at : at + 16] = raw[other : other + 16]
    path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_bytes(raw)
    for reader in (load, READERS[kind.split(".")[0] if kind != "linear.npz" else "npz"]):
        try:
            problem = reader(path)
        except InputError as error:
            message = str(error)
        else:
            assert isinstance(problem, SSP | LinearCSSP)
            assert np.isfinite(problem.probabilities).all()
            continue
        assert str(path) in message


@pytest.mark.parametrize("kind", ["npz", "umb", "drn"])
def test_every_truncation_is_an_error(valid, tmp_path, kind):
    raw = valid[kind]
    # What may be missing: the padding after the end mark of a tar, and of the last number of a text, "1.0\\n", ".0\\n".
    end = {"npz": len(raw), "umb": len(raw.rstrip(b"\0")), "drn": len(raw) - len(".0\n")}[kind]
    for size in range(0, end, 7):
        (tmp_path / "cut").write_bytes(raw[:size])
        with pytest.raises(FileFormatError):
            READERS[kind](tmp_path / "cut")


@settings(max_examples=100, deadline=None)
@given(
    raw=st.binary(max_size=400),
    head=st.sampled_from([b"", b"PK\3\4", b"\x1f\x8b\x08", b"\xfd7zXZ\x00", b"@type: MDP\n"]),
)
def test_noise_is_a_clear_error(tmp_path_factory, raw, head):
    path = tmp_path_factory.getbasetemp() / "noise"
    path.write_bytes(head + raw)
    for reader in (load, *READERS.values()):
        with pytest.raises(InputError, match="noise"):
            reader(path)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_bomb_is_not_unpacked(traced, tmp_path, pack):
    refused(tmp_path / "bomb.umb", pack(bytes(70 * MIB)), "unpacks to more than 67108864 bytes; unpack it first")


def test_the_limit_holds_for_what_is_unpacked_and_for_what_is_not(tmp_path):
    path = tmp_path / "model.umb"
    for pack in (bytes, gzip.compress):
        path.write_bytes(pack(archive(*a_model())))
        read_umb(path, limit=MIB)
        with pytest.raises(FileFormatError, match="limit"):
            load(path, limit=1000)


def test_an_xz_file_that_claims_a_huge_dictionary_is_refused(traced, tmp_path):
    packed = bytearray(lzma.compress(bytes(100), filters=[{"id": lzma.FILTER_LZMA2, "dict_size": MIB}]))
    size = (packed[12] + 1) * 4  # of the block header, with its check sum
    claim = packed.index(b"\x21\x01", 12) + 2
    packed[claim] = 38  # 2 << (38 / 2 + 11) = 2 GiB
    packed[12 + size - 4 : 12 + size] = struct.pack("<I", zlib.crc32(packed[12 : 12 + size - 4]))
    refused(tmp_path / "claim.umb", bytes(packed), "Memory usage limit exceeded")


def with_index(text: bytes) -> bytes:
    return tar_with((member("index.json"), text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[" * 200_000, "nested too deeply|not JSON"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested too deeply"),
        (b"\xff\xfe", "not JSON in UTF-8"),
        (b"[]", "not a JSON object"),
        (b'{"format-version": NaN}', "NaN is not a number"),
        (b'{"format-version": 1, "format-version": 1}', "a key appears twice"),
        (b'{"format-version": ' + b"9" * 10_000 + b"}", "not JSON"),
        (b'{"format-version": 2}', "UMB version 2"),
        (b"{}", "UMB version None"),
        (b'{"format-version": 1}', "'transition-system' in the index is None"),
        (b'{"format-version": 1, "transition-system": []}', "not an object"),
    ],
)
def test_an_index_that_is_none_is_refused(traced, tmp_path, text, message):
    refused(tmp_path / "index.umb", with_index(text), message)


def test_counts_that_no_member_bears_out_cost_nothing(traced, tmp_path):
    index, members = a_model()
    index["transition-system"] |= {"#states": 2**28, "#choices": 2**28, "#branches": 2**28, "#choice-actions": 0}
    refused(tmp_path / "claims.umb", archive(index, {}), "no label can be meant|limit")
    members = {"annotations/aps/done/states/values.bin": bytes(2**25 - 1) + b"\1"}
    refused(tmp_path / "claims.umb", archive(index, members), "limit|missing")


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_an_index_with_any_value_changed_is_a_problem_or_a_clear_error(tmp_path_factory, data):
    index, members = a_model()
    places = list(paths(index))
    *above, last = data.draw(st.sampled_from(places))
    thing = index
    for key in above:
        thing = thing[key]
    scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5)
    thing[last] = data.draw(
        scalars | st.lists(scalars, max_size=2) | st.dictionaries(st.text(max_size=3), scalars, max_size=2)
    )
    path = tmp_path_factory.getbasetemp() / "index.umb"
    path.write_bytes(archive(index, members))
    with contextlib.suppress(FileFormatError):
        read_umb(path)


def paths(thing, above=()):
    """Every place in nested dictionaries."""
    for key, value in thing.items():
        yield (*above, key)
        if isinstance(value, dict):
            yield from paths(value, (*above, key))


def npz_with(valid: bytes, changes: dict[str, bytes | None], *, compression: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(valid)) as old, zipfile.ZipFile(out, "w", compression) as new:
        members = {name: old.read(name) for name in old.namelist()} | changes
        for name, data in members.items():
            if data is not None:
                new.writestr(name, data)
    return out.getvalue()


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, array)
    return out.getvalue()


def claimed(shape: str, descr: str = "<f8", order: str = "False") -> bytes:
    header = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + bytes(32)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"losses.npy": npy(np.array([1.0, None]))}, r"losses.npy holds '.O'"),
        ({"losses.npy": npy(np.zeros(4, np.float32))}, "losses.npy holds '<f4'.* needs '<f8'"),
        ({"losses.npy": npy(np.zeros((2, 2)))}, r"losses has shape \(2, 2\)"),
        ({"losses.npy": npy(np.full(4, np.nan))}, "loss nan is not in"),
        ({"losses.npy": claimed("(1000000000000,)")}, "claims shape"),
        ({"losses.npy": claimed("(-4,)")}, "not an array of npy"),
        ({"losses.npy": claimed("(4,)", order="True")}, "fortran_order True"),
        ({"losses.npy": claimed("(4, 1, 1)")}, r"losses has shape \(4, 1, 1\)"),
        ({"losses.npy": claimed("(4, 1, 1, 1)")}, "at most three dimensions"),
        ({"losses.npy": claimed("(" + "[" * 5000)}, "not an array of npy"),
        ({"losses.npy": claimed("__import__('os').abort()")}, "not an array of npy"),
        ({"losses.npy": b"not an array"}, "not an array of npy"),
        ({"losses.npy": None}, "losses.npy is missing"),
        ({"header.json": None}, "header.json is missing"),
        ({"header.json": b"[" * 100_000}, "header.json is"),
        ({"pair_start.npy": npy(np.array([0, 2, -4]))}, "pair_start"),
        ({"next_state.npy": npy(np.full(7, 2**31 - 1, np.int32))}, "next states are 0 to 2"),
        ({"start.npy": None, "../evil.npy": b""}, "'../evil.npy' is not part"),
    ],
)
def test_a_wrong_member_of_an_npz_is_named(traced, valid, tmp_path, changes, message):
    refused(tmp_path / "wrong.npz", npz_with(valid["npz"], changes), message)


def test_a_compressed_npz_is_refused_before_it_is_unpacked(traced, valid, tmp_path):
    bomb = npz_with(valid["npz"], {"losses.npy": bytes(200 * MIB)}, compression=zipfile.ZIP_DEFLATED)
    refused(tmp_path / "bomb.npz", bomb, "is compressed or encrypted")


def test_an_npz_with_many_members_is_refused_before_they_are_listed(traced, tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive_of_many:
        for number in range(2000):
            archive_of_many.writestr(str(number), b"")
    refused(tmp_path / "many.npz", out.getvalue(), "the file has 2000 members")


def test_an_npz_of_someone_else_is_distinguished_from_ours(tmp_path):
    np.savez(tmp_path / "other.npz", weights=np.zeros(3))
    with pytest.raises(FileFormatError, match=r"'weights.npy' is not part of a goalbound problem"):
        load(tmp_path / "other.npz")


def test_pickled_objects_are_never_loaded(traced, valid, tmp_path):
    class Trap:
        def __reduce__(self):
            return os.abort, ()

    trap = io.BytesIO()
    np.lib.format.write_array(trap, np.array([Trap()], dtype=object), allow_pickle=True)
    refused(tmp_path / "trap.npz", npz_with(valid["npz"], {"start.npy": trap.getvalue()}), r"start.npy holds '.O'")


DRN_HEAD = "@type: MDP\n@parameters\n\n@reward_models\nloss\n@nr_states\n{}\n@model\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DRN_HEAD.format(10**14) + "state 0 [1] goal init\n\taction a [0]\n\t\t0 : 1\n", "and 1 states follow"),
        (DRN_HEAD.format(1) + 'state 0 [1] "' + "a" * MIB + "\n", "quotation mark"),
        (DRN_HEAD.format(1) + 'state 0 [1] ' + 'a"b ' * (MIB // 16) + "\n", "state|label|action|initial|goal"),
        (DRN_HEAD.format(1) + "state 0 [1" + "," * MIB + "] goal\n", "is not a number"),
        (DRN_HEAD.format(1) + "state 0 [" + "1" * MIB + "x] goal\n", "is not a number"),
        (DRN_HEAD.format(1) + "state 0 [" + "1" * MIB + "/3] goal\n", "is not a number"),
        (DRN_HEAD.format(1) + "state 0 [1] goal\n" + "9" * MIB + " : 1\n", "line 10"),
        ("// goalbound " + "[" * MIB + "\n", "comment of goalbound"),
        ('// goalbound {"loss_scale": 0}\n', "loss_scale in the comment"),
        ('// goalbound {"actions": [1]}\n', "no list of names"),
        ("@" * MIB, "not a section"),
        ("@type: MDP\n" * 2, "appears twice"),
        ("@reward_models", "ends within the header"),
    ],
)  # fmt: skip
def test_a_hostile_text_is_refused(traced, tmp_path, text, message):
    refused(tmp_path / "hostile.drn", text.encode(), message)


def test_a_file_noted_as_ours_with_a_wrong_scale_is_refused(traced, tmp_path):
    index, members = a_model()
    for scale, message in ((1e-3, r"is not in \[0, 1\]"), ("1", "loss_scale in the index"), (-1.0, "positive")):
        index["file-data"] = {"tool": "goalbound", "parameters": {"loss_scale": scale}}
        refused(tmp_path / "scale.umb", archive(index, members), message)


def test_the_examples_above_are_valid_before_they_are_spoiled(valid, tmp_path):
    for name, raw in valid.items():
        (tmp_path / "good").write_bytes(raw)
        assert load(tmp_path / "good") == (
            LinearCSSP.mix([a_problem(), a_problem()]) if name == "linear.npz" else a_problem()
        )
    assert json.dumps(a_model()[0])
    assert (len(u8(1)), len(f8(1.0)), len(flags(1))) == (8, 8, 8)
