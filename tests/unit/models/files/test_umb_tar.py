"""Tar archives: regular files only, and nothing that points anywhere else."""

import tarfile

import pytest

from tests.support.hostile_files import member, refused, tar_with


@pytest.mark.parametrize(
    ("info", "message"),
    [
        (member("../index.json"), "not a valid name"),
        (member("a/../../index.json"), "not a valid name"),
        (member("/etc/passwd"), "not a valid name"),
        (member("a//b"), "not a valid name"),
        (member("a\\b"), "not a valid name"),
        (member("index.json", tarfile.SYMTYPE, "/etc/passwd"), "link or a device"),
        (member("index.json", tarfile.LNKTYPE, "other"), "link or a device"),
        (member("index.json", tarfile.CHRTYPE), "link or a device"),
        (member("index.json", tarfile.FIFOTYPE), "link or a device"),
        (member("index.json", tarfile.GNUTYPE_SPARSE), "link or a device"),
    ],
)
def test_tricks_with_names_and_links_are_refused(traced, tmp_path, info, message):
    refused(tmp_path / "trick.umb", tar_with((info, b"")), message)


def test_a_name_that_stands_twice_is_refused(traced, tmp_path):
    twice = tar_with((member("index.json"), b"{}"), (member("./index.json"), b"{}"))
    refused(tmp_path / "twice.umb", twice, "'index.json' appears twice")


def test_a_sparse_file_in_a_pax_header_is_refused(traced, tmp_path):
    info = member("index.json")
    info.pax_headers = {"GNU.sparse.realsize": str(2**60)}
    refused(tmp_path / "sparse.umb", tar_with((info, b"{}"), format=tarfile.PAX_FORMAT), "uses GNU.sparse")


def test_a_long_header_of_a_tar_is_refused_before_it_is_parsed(tmp_path):
    # Python 3.11.7's tarfile needs time that grows with the square of the digits: 17 s for these.
    digits = b"1" * 100_000
    trick = tar_with((member("index.json", tarfile.XHDTYPE), digits), (member("index.json"), b"{}"))
    refused(tmp_path / "long.umb", trick, "a header of 100000 bytes; names are shorter")


def test_a_tar_does_not_end_at_a_damaged_header(tmp_path):
    raw = bytearray(tar_with((member("index.json"), b"{}"), (member("more.bin"), b"12")))
    raw[1024 + 148] ^= 1  # in the check sum of the second header
    refused(tmp_path / "damaged.umb", bytes(raw), "the header at byte 1024 of the archive is damaged")


def test_a_member_that_claims_more_than_follows_is_refused(traced, tmp_path):
    raw = bytearray(tar_with((member("index.json"), b"{}")))
    for field in (b"77777777777\0", b"\x80" + (2**62).to_bytes(11, "big"), b"\xff" * 12):
        raw[124:136] = field
        raw[148:156] = b"%06o\0 " % (sum(raw[:148]) + 8 * 32 + sum(raw[156:512]))
        refused(tmp_path / "claim.umb", bytes(raw), "claims [0-9]+ bytes, and")
