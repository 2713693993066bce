"""URLs of databases."""

import pytest

from goalbound.errors import ArgumentError
from goalbound.serve.store.database_url import database_of, is_database, scrubbed, shown_url


@pytest.mark.parametrize(
    ("path", "is_one"),
    [("postgresql://db/x", True), ("postgres://u@h/x", True), ("store", False), ("postgresql", False), (b"x", False)],
)
def test_a_url_is_told_from_a_path(path, is_one):
    assert is_database(path) == is_one


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ann:hush@db/x", "postgresql://ann@db/x"),
        ("postgresql://ann:hu%40sh@db1,db2:5433/x", "postgresql://ann@db1,db2:5433/x"),
        ("postgresql://ann:a@hush@db/x", "postgresql://ann@db/x"),
        ("postgresql:///x?host=/run/pg&password=hush&user=ann", "postgresql:///x?host=/run/pg&user=ann"),
        ("postgresql://ann@db/x?sslpassword=hush&schema=cases", "postgresql://ann@db/x?schema=cases"),
        ("postgresql://ann:hu/sh@db/x", "postgresql://..."),
        ("postgresql://ann:hu#sh@db/x", "postgresql://..."),
        ("postgresql://ann:hu?sh@db/x", "postgresql://..."),
        ("postgresql://ann:[hush@db/x", "postgresql://..."),
    ],
)
def test_a_url_is_shown_without_its_password(url, shown):
    assert shown_url(url) == shown
    assert "hu" not in shown


@pytest.mark.parametrize("url", ["postgresql://ann:hu/sh@db/x", "postgresql://ann:[hush@db/x"])
def test_a_url_whose_password_may_be_any_part_of_it_is_refused_without_quoting_it(url):
    with pytest.raises(ArgumentError, match="cannot be read") as caught:
        database_of(url)
    assert "sh@" not in str(caught.value)
    assert scrubbed(f"could not parse {url}", url) == "the URL cannot be read"


def test_passwords_are_taken_out_of_texts_in_every_form():
    url = "postgresql://ann:hu%40sh@db/x?sslpassword=other"
    assert scrubbed("hu%40sh hu@sh other ann", url) == "*** *** *** ann"
    assert scrubbed("nothing", "postgresql://ann@db/x") == "nothing"


def test_the_schema_is_a_plain_name():
    assert database_of("postgresql://db/x").schema == "goalbound"
    assert database_of("postgresql:///x?host=/run/a&schema=b_1").address == "postgresql:///x?host=/run/a"
    for schema in ("A", "a b", 'a";DROP', "", "a" * 64, "1a"):
        with pytest.raises(ArgumentError, match="small letters"):
            database_of(f"postgresql://db/x?schema={schema}")
