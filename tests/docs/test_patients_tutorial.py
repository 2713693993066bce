"""The tutorial about patients is run, smaller than on the page; its first section prints what the page says."""

import numpy as np
import pytest

from tests.support.documents import beside_tutorials

SIZES = {
    "SEEDS, MOST_STEPS = (0, 100, 1_000, 10_000), 6, 2_000": "SEEDS, MOST_STEPS = (0, 3, 6), 1, 3",
    "SCORED = 3_000": "SCORED = 3",
}
EXACT = 4
"""So many blocks, those of the first section, only plan: nothing in them depends on the sizes."""


@pytest.fixture(scope="module")
def maker():
    pytest.importorskip("matplotlib")
    return beside_tutorials("make_patients")


@pytest.fixture(scope="module")
def run(maker, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, list[str]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("patients"))
        return maker.run_page(change=smaller)


def smaller(code: str) -> str:
    for full, small in SIZES.items():
        code = code.replace(full, small)
    return code


def test_the_first_section_prints_what_the_page_says(maker, run: tuple[dict, list[str]]) -> None:
    shown = [found["text"] for found in maker.BLOCK.finditer(maker.PAGE.read_text())]
    assert run[1][:EXACT] == shown[:EXACT]


def test_every_output_of_the_page_was_filled_in(maker) -> None:
    shown = [found["text"] for found in maker.BLOCK.finditer(maker.PAGE.read_text())]
    assert all(text is None or text.strip() for text in shown)


def test_all_learners_were_played_and_no_plan_beats_the_optimum(run: tuple[dict, list[str]]) -> None:
    names, _ = run
    assert set(names["runs"]) == set(names["learners"])
    for histories in names["runs"].values():
        assert all(len(history.loss) == 6 and (history.expected_regret >= -1e-9).all() for history in histories)
    assert (names["losses"] >= np.array(names["optimum"]) - 1e-9).all()


def test_the_patients_of_the_page_went_home(run: tuple[dict, list[str]]) -> None:
    names, _ = run
    assert not names["where"]
    assert all(bed.ended for bed in names["beds"])
    np.testing.assert_array_equal(names["again"].map(0.35), names["score"](0.35))
    assert names["waiting"].state == names["support"].state("sugar high")
