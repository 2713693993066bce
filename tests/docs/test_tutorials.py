"""The tutorials run from top to bottom on what the package ships, and what their text says is so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound.jit.compile import compiled_ahead
from tests.support.documents import ROOT
from tests.support.notebooks import cells, run_cells

FOLDER = ROOT / "docs" / "tutorials"
NOTEBOOKS = sorted(path.stem for path in FOLDER.glob("*.md") if cells(path))
Run = Callable[[str], tuple[dict[str, Any], str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A notebook, run in a folder of its own: the names that it defines, and all that it prints."""
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.syspath_prepend(str(tmp_path))

    def play(name: str) -> tuple[dict[str, Any], str]:
        with compiled_ahead():
            names, printed = run_cells(cells(FOLDER / f"{name}.md"))
        pyplot = pytest.importorskip("matplotlib.pyplot")
        pyplot.close("all")
        return names, "\n".join(printed)

    return play


def test_every_notebook_has_a_header_and_a_test() -> None:
    here = Path(__file__).read_text(encoding="utf-8")
    assert len(NOTEBOOKS) >= 5
    for name in NOTEBOOKS:
        text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
        assert text.startswith("---\njupytext:\n"), name
        assert f'run("{name}")' in here, name
        assert max(len(line) for line in text.splitlines()) <= 120, name


def test_a_problem_is_stated_checked_solved_and_learned(run: Run) -> None:
    names, printed = run("state_a_problem")
    assert names["change"] == pytest.approx(0.795)
    np.testing.assert_allclose(
        names["bounds"].loss_bound.upper, 0.6 + 0.2 * (0.2 / 0.3), rtol=1e-6
    )  # tape, then repair
    assert names["bounds"].loss_floor == 0.1
    for words in (
        'did you mean "partial"?', "sum to 0.9, not 1", "loss 30.0 is not in [0, 1]", "from 79.5% large on",
        "no proper policy at context (1 large)", "50% old: 0.400, by local copy", "100% old: 0.600, by tape",
    ):  # fmt: skip
        assert words in printed
    assert not names["found"].proper
    assert names["same"] == names["problem"]
    assert names["late"] < 0.25 * names["early"]


def test_a_learner_of_ones_own_keeps_the_contract_and_beats_the_blind_one(run: Run) -> None:
    pytest.importorskip("pandas")
    names, printed = run("write_a_learner")
    assert names["raw"].rows.min() < 0.0 <= names["estimate"].rows.min()
    assert (names["plan"].values <= names["solve"](names["problem"].at(names["someone"])).values + 1e-9).all()
    assert "called again before observe, it gave another action" in printed
    assert names["learner"].plans < 0.3 * names["history"].steps.sum()
    verdicts = {(one.better, one.worse): one.verdict for one in names["results"].summarised.differences}
    assert verdicts == {
        ("lazy", "blind"): "ahead", ("0.1 x LR-CSSP", "blind"): "ahead", ("0.1 x LR-CSSP", "lazy"): "not told apart",
    }  # fmt: skip


def test_records_become_frames_comparisons_and_figures(run: Run) -> None:
    pytest.importorskip("pandas")
    names, printed = run("records_to_figures")
    assert len(names["results"].records) == 18
    assert len(names["episodes"]) == 18 * 300
    assert (names["gap"] > 0).all()
    verdicts = {(one.better, one.worse): one.verdict for one in names["results"].summarised.differences}
    assert verdicts == {
        ("LR-CSSP", "blind"): "ahead", ("posterior sampling", "blind"): "ahead",
        ("posterior sampling", "LR-CSSP"): "not told apart",
    }  # fmt: skip
    order = names["last"]["LR-CSSP"] < names["last"]["posterior sampling"]
    assert 0 < order.sum() < 6  # their order changes from seed to seed
    right = names["policies"].groupby("learner", observed=True)["right"].mean()
    assert right["LR-CSSP"] > right["blind"]
    assert len(names["paths"]) == 5
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in names["paths"])
    assert printed.count("equal\n") == 3  # the first episodes are the same to the bit


def test_a_city_is_learned_and_the_map_as_a_guess_saves_more_than_half(run: Run) -> None:
    names, printed = run("roads")
    with_map, nothing = (
        {learner: history.expected_regret * names["city"].loss_scale for learner, history in names[name].items()}
        for name in ("with_map", "nothing")
    )
    assert with_map["local optimism"].sum() < 0.5 * nothing["local optimism"].sum()
    assert with_map["posterior sampling"].sum() < 0.5 * nothing["posterior sampling"].sum()
    # Local optimism is ahead, with the map and without one (180 to 299, 572 to 887 minutes over ten seeds).
    assert with_map["local optimism"].sum() < 0.9 * with_map["posterior sampling"].sum()
    assert nothing["local optimism"].sum() < 0.9 * nothing["posterior sampling"].sum()
    by_map = (names["map_only"] - names["best"]).mean()
    last = {
        (learner, known): minutes[-100:].mean()
        for known, runs in (("map", with_map), ("nothing", nothing))
        for learner, minutes in runs.items()
    }
    worse_than_the_map = {one for one, minutes in last.items() if minutes > by_map}
    assert worse_than_the_map == set()
    assert "0% rush hour: to node 3, 10.0 minutes" in printed
    assert "100% rush hour: to node 2" in printed


def test_a_table_becomes_a_guarded_monitored_service_in_sixty_lines(run: Run) -> None:
    pytest.importorskip("uvicorn")
    pytest.importorskip("httpx")
    pytest.importorskip("pyarrow")
    lines = [
        line for cell in cells(FOLDER / "incidents.md") if "incident_log" not in cell for line in cell.splitlines()
    ]
    assert len([line for line in lines if line.strip()]) <= 60
    names, printed = run("incidents")
    assert "In degraded: " in printed
    by_plan, by_runbook, at_best = np.mean(names["figures"], axis=0)
    assert at_best < by_plan < by_runbook
    held_out = next(one.plan for one in names["compared"].maps if one.name == names["compared"].choice)
    assert by_plan == pytest.approx(held_out.value, abs=2 * held_out.margin)
    assert by_runbook == pytest.approx(names["found"].value, abs=names["found"].high - names["found"].low)
    assert names["checked"].replayed == names["checked"].events > 200
    assert not names["thread"].is_alive()
