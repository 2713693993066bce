"""What the README and the pages of docs say is run."""

import re
import subprocess
import sys

import numpy as np
import pytest

from goalbound import SSP, LinearCSSP, evaluate
from goalbound.planning import hitting_times
from tests.support.documents import ROOT, block, blocks


def test_the_learner_of_the_start_page_heals_everyone_and_knows_what_to_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names: dict = {}
    exec(block("docs/start/learner_loop.md", "LRCSSP"), names)
    learner = names["learner"]
    assert learner.open_episodes == ()
    assert names["episode"].ended
    healed = learner.statistics.next_sums[learner.support.next_state == learner.support.states]
    assert healed.sum() == pytest.approx(2000.0)  # contexts sum to 1, and each of the patients came to the goal once
    assert np.mean(names["losses"][-200:]) < 0.75 * np.mean(names["losses"][:200])  # something was learned
    page = (ROOT / "docs" / "start" / "learner_loop.md").read_text()
    assert capsys.readouterr().out in page  # and what is printed stands there
    problem, bounds = names["environment"].problem, learner.policy_bounds([0.7, 0.2, 0.1])
    truth = evaluate(problem.at([0.7, 0.2, 0.1]), bounds.policy).values
    assert (bounds.lower <= truth).all()  # seed 0 is one of the nine in ten
    assert (truth <= bounds.upper).all()


def test_the_planner_of_the_start_page_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict = {}
    exec(block("docs/start/planner.md", "Builder"), names)
    printed = capsys.readouterr().out.splitlines()
    # 90% young, 10% old: drug A heals with 0.54, so 0.2 / 0.54; drug B with 0.52, so 0.4 / 0.52.
    np.testing.assert_allclose(names["best"].values, [0.2 / 0.54, 0.0], rtol=1e-9)
    assert names["best"].policy.tolist() == [0]
    assert {"True", "False"} <= set(printed)
    assert any('"drug A"' in line for line in printed)
    assert printed[0].startswith("converged")


def test_the_gymnasium_lines_of_the_start_page_make_a_lake() -> None:
    pytest.importorskip("gymnasium")
    names: dict = {}
    exec(block("docs/start/planner.md", "gymnasium"), names)
    assert names["lake"].context_size == 2


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """The blocks of docs/how_to/learner.md, run in order in an empty folder: their names, and what each printed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("learner"))
        names: dict = {"printed": []}
        patch.setitem(names, "print", lambda *things: names["printed"].append(" ".join(map(str, things))))
        for code in blocks("docs/how_to/learner.md"):
            exec(code, names)
    return names


def test_the_page_about_the_learner_runs_from_top_to_bottom(read: dict) -> None:
    assert not read["where"]  # both episodes came to the goal
    assert read["young"].ended
    assert read["old"].ended
    assert read["waiting_again"].ended
    assert not read["waiting"].ended  # the one that was not loaded still waits


def test_what_the_page_about_the_learner_says_is_printed(read: dict) -> None:
    assert read["free"].added_loss == pytest.approx(0.04)  # 2 * (8 / 10^6)^(1/3)
    assert "sharp True" in read["printed"]
    assert "0.5 x sharp False" in read["printed"]
    refused = "saved.npz is not as this learner read or wrote it last: another process may have saved it since"
    assert any(line.startswith(refused) for line in read["printed"])
    assert "True" in read["printed"]  # the environment of the page is plausible
    assert isinstance(read["optimistic"], SSP)
    assert isinstance(read["model"], LinearCSSP)
    plan = read["plan"]
    assert np.isfinite(hitting_times(plan.model(), plan.policy)).all()  # the plan reaches the goal in its own model


def test_the_learner_that_sees_loses_less_than_the_blind_one(read: dict) -> None:
    looking, blind = (float(line.split()[0]) for line in read["printed"][-2:])
    assert looking < blind


def test_importing_goalbound_loads_neither_numpy_nor_numba() -> None:
    code = "import sys, goalbound; print(sorted({'numpy', 'numba', 'scipy'} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_every_link_of_the_documents_leads_somewhere() -> None:
    for document in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "CHANGELOG.md",
        ROOT / "SECURITY.md",
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("benchmarks/*.md"),
    ]:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text()):
            assert target.startswith("http") or (document.parent / target).exists(), f"{document.name}: {target}"


def test_public_names_are_all_there() -> None:
    import goalbound

    for name in goalbound.__all__:
        assert getattr(goalbound, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = goalbound.nothing
