"""``goalbound problems``, ``goalbound convert``, and how arguments select a problem."""

import numpy as np
import pytest

from goalbound.models import SSP
from goalbound.models.files import load, save
from goalbound.problems import CATALOG
from tests.support.commands import strict


@pytest.mark.parametrize(
    ("words", "context"),
    [
        ("west wind", [0.0, 1.0, 0.0]),
        ("middle", [1 / 3, 1 / 3, 1 / 3]),
        ("1/3,1/3,1/3", [1 / 3, 1 / 3, 1 / 3]),
        ("0.5, 0.3 ,2e-1", [0.5, 0.3, 0.2]),
    ],
)
def test_a_context_is_a_name_or_weights_or_the_middle(run, words, context):
    _, out, _ = run("solve", "demo", "--json", "--context", words)
    assert strict(out)["contexts"][0]["context"] == context


def test_the_catalog_is_listed_with_its_settings(run):
    code, out, _ = run("problems")
    assert code == 0
    for entry in CATALOG.values():
        assert f"{entry.name} " in out
        assert entry.summary in out
    assert "rows=4 columns=6" in out
    listed = strict(run("problems", "--json")[1])
    simulated = {one["name"]: one["settings"] for one in listed if one["environment"] == "simulated"}
    catalog = {entry.name: dict(entry.defaults) for entry in CATALOG.values()}
    assert simulated == catalog


def test_a_problem_is_converted_and_reads_back(run, tmp_path, drn):
    assert run("convert", drn, str(tmp_path / "a.umb"), "--loss", "time")[0] == 0
    assert load(tmp_path / "a.umb") == load(drn, loss="time")
    assert run("convert", "demo", str(tmp_path / "demo.npz"))[0] == 0
    assert load(tmp_path / "demo.npz") == CATALOG["demo"].make()
    code, out, _ = run("convert", "demo", str(tmp_path / "calm.drn"), "--context", "calm")
    assert code == 0
    assert "names of the states were left out" in out
    assert np.array_equal(load(tmp_path / "calm.drn").losses, CATALOG["demo"].make().component(0).losses)


@pytest.mark.parametrize("command", ["solve", "check", "convert"])
def test_a_file_above_the_limit_is_read_with_the_option_that_the_error_names(run, tmp_path, command):
    path = tmp_path / "a.npz"
    save(SSP.dense([[0.5]], [[[0, 1.0]]]), path)
    words = [command, str(path), *([str(tmp_path / "b.npz")] if command == "convert" else [])]
    code, _, err = run(*words, "--limit", "1K")
    assert code == 2
    size = path.stat().st_size
    assert f"{size} bytes, and the limit is 1024; raise it with --limit {size}" in err
    assert run(*words, "--limit", str(size))[0] == 0
    assert run(*words, "--limit", "5k")[0] == 0
    code, _, err = run(*words, "--limit", "much")
    assert (code, "'much' is not a number of bytes" in err) == (2, True)
