"""URLs of databases."""

from pathlib import Path

import pytest

from goalbound.errors import ArgumentError
from goalbound.serve.store import Store
from goalbound.serve.store.database_url import database_of, is_database, place_of, scrubbed, shown_url


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("postgresql://db/x", True), ("postgres://u@h/x", True), ("PostgreSQL://db/x", True),
        ("store", False), ("postgresql", False), ("/data/12:30/ann@work", False), ("./ann:x@work", False),
        ("C:\\stores\\ann@work", False), ("epsilon=0.1", False), ("/data/user=ann/store", False), ("run:1", False),
        ("ann@work/store", False), ("my store", False),
    ],
)  # fmt: skip
def test_a_url_is_told_from_a_path(path, is_one):
    assert is_database(path) == is_one


@pytest.mark.parametrize(
    "text",
    [
        "postgresql:ann:hush@db/x", "Postgresql:/ann:hush@db/x", "postgres:ann@db/x?password=hush", "postgresql:hush",
        "postgresql+psycopg://ann:hush@db/x", "jdbc:postgresql:hush", "mysql://ann:hush@db/x", "ann:hush@db/x",
        "postgresql//ann:hu/sh@db/x", "host=db user=ann password=hush", "password = hush", "cases PASSWORD=hush",
        "/here/host=db password=hush", "/here/postgresql:/ann:hush@db/x", "db/x?password=hush", " postgresql://a:hush@b",
        "://ann:hush@db", "sslpassword=hush", "//ann:hush@db/x", "Server=db;Password=hush", "Data Source=db;Pwd=hush",
    ],
)  # fmt: skip
def test_what_looks_like_a_database_and_is_none_that_is_read_is_no_folder(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in (text, Path(text)):
        with pytest.raises(ArgumentError, match="looks like the address of a database") as caught:
            place_of(path)
        assert "hu" not in str(caught.value)
    with pytest.raises(ArgumentError):
        Store.open(text)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ann:hush@db/x", "postgresql://ann@db/x"),
        ("postgresql://ann:hu%40sh@db1,db2:5433/x", "postgresql://ann@db1,db2:5433/x"),
        ("postgresql://ann:a@hush@db/x", "postgresql://..."),
        ("PostgreSQL://ann:hush@db/x", "postgresql://ann@db/x"),
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


@pytest.mark.parametrize(
    "url", ["postgresql://ann:hu/sh@db/x", "postgresql://ann:[hush@db/x", "postgresql://ann:hu@sh@db/x"]
)
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
    assert database_of("PostgreSQL://db/x").address == "postgresql://db/x"
    for schema in ("A", "a b", 'a";DROP', "", "a" * 64, "1a"):
        with pytest.raises(ArgumentError, match="small letters"):
            database_of(f"postgresql://db/x?schema={schema}")
