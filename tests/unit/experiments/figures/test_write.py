"""Figures: which there are, that they are the same each time, and that they say what must be said."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

from goalbound.errors import InputError
from goalbound.experiments.figures import style, ternary, write_figures
from goalbound.experiments.figures.curves import regret_figure, spread_labels
from goalbound.experiments.learners import catalogued_card
from goalbound.experiments.summary import summarize
from tests.support.synthetic import diagnosis, policies, power, record, run_spec

PROVEN = {"widths": "paper", "scale": 1.0, "delta": 0.1}
SCALED = {"widths": "paper", "scale": 0.1, "delta": 0.05}


def experiment(context_size, *, seeds=2, **changes):
    """A watched learner with scaled widths, and one that knows all."""
    known = policies(context_size) if context_size in (2, 3) else None
    card = catalogued_card("lr-cssp", SCALED).as_json()
    metadata = {"settings": SCALED, "card": card, "diagnosis": diagnosis(), "policies": known}
    runs = [
        record(
            run_spec("LR", seed=seed, **changes), power(3.0 + seed, 0.5), context_size=context_size, metadata=metadata
        )
        for seed in range(seeds)
    ]
    oracle = {"settings": {}, "card": catalogued_card("clairvoyant").as_json()}
    return [*runs, record(run_spec("clairvoyant"), power(0.0, 1.0), context_size=context_size, metadata=oracle)]


def figure_of(records):
    with style.figure_style():
        groups = summarize(records).groups
        return regret_figure(groups, style.styles([group.learner for group in groups]))


def texts(figure):
    return [text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))]


@pytest.mark.parametrize(
    ("context_size", "kinds"),
    [
        (1, ["regret", "terms", "known"]),
        (2, ["regret", "terms", "known", "simplex", "policies"]),
        (3, ["regret", "terms", "known", "simplex", "policies"]),
        (4, ["regret", "terms", "known", "simplex-lr"]),
    ],
)
def test_each_context_size_has_its_figures(tmp_path, context_size, kinds):
    records = experiment(context_size)
    paths = write_figures(summarize(records), records, tmp_path / "figures", formats=("svg",))
    assert [path.name for path in paths] == [f"{kind}-p-c.svg" for kind in kinds]
    assert all(path.read_bytes().startswith(b"<?xml") for path in paths)


def test_the_same_records_give_the_same_bytes(tmp_path):
    records = experiment(3, seeds=1)
    once, again = (write_figures(summarize(records), records, tmp_path / name) for name in ("one", "two"))
    assert {path.suffix for path in once} == {".pdf", ".svg"}
    for one, two in zip(once, again, strict=True):
        assert one.read_bytes() == two.read_bytes(), one.name
    assert not any(b"CreationDate" in path.read_bytes() or b"<dc:date>" in path.read_bytes() for path in once)


def test_the_constants_of_every_learner_stand_under_the_figure():
    said = " ".join(figure_of(experiment(2)).get_supxlabel().split())
    assert "LR: widths: 0.1 x paper, not proven; delta 0.05." in said
    assert "clairvoyant: no constants." in said
    assert "Mean over 2 seeds; some learners have fewer." in said
    assert "95% bootstrap" in said


def test_lines_are_distinguished_without_colour_and_named_where_they_end():
    styles = style.styles([f"learner {place}" for place in range(7)])
    assert len({(look.marker, str(look.dash)) for look in styles.values()}) == 7
    figure = figure_of(experiment(2))
    for axes, names in zip(figure.axes, (["LR", "clairvoyant"], ["LR"]), strict=True):
        assert [text.get_text() for text in axes.texts if text.get_text()[0] != "$"] == sorted(
            names, reverse=len(names) > 1
        )


def test_the_guides_are_powers_that_end_where_the_first_learner_does():
    powers = figure_of(experiment(2)).axes[1]
    slopes = []
    for line in powers.lines:
        x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
        if len(x) == 50:
            slopes.append(np.log(y[-1] / y[0]) / np.log(x[-1] / x[0]))
            assert y[-1] == pytest.approx(3.5 * np.sqrt(100))  # the mean of 3 and 4 times the root of 100 episodes
    assert slopes == pytest.approx([0.5, 2.0 / 3.0])


def test_a_label_with_a_dollar_is_no_formula_and_one_with_slashes_no_path(tmp_path):
    records = experiment(2, label="5$ or 6$ ../up")
    figure = figure_of(records)
    figure.draw_without_rendering()
    assert r"5\$ or 6\$ ../up" in texts(figure)
    named = experiment(4, label="../../up")
    paths = write_figures(summarize(named), named, tmp_path, formats=("svg",))
    assert {path.parent for path in paths} == {tmp_path}


def test_labels_that_make_the_same_file_name_do_not_overwrite_each_other(tmp_path):
    records = [
        record(run_spec(problem=label, episodes=episodes), power(1.0, 0.5), context_size=1)
        for label, episodes in (("a b", 10), ("a-b", 20))
    ]
    paths = write_figures(summarize(records), records, tmp_path, formats=("svg",))
    assert len(set(paths)) == len(paths) == 4
    assert paths[2].name == "regret-a-b-c-2.svg"


def test_records_of_another_summary_are_refused(tmp_path):
    with pytest.raises(InputError, match="of which there is no record"):
        write_figures(summarize(experiment(1)), experiment(1, label="other"), tmp_path)


def test_labels_at_line_ends_do_not_overlap():
    heights = [0.1, 0.2, 0.1, 0.1]
    places = spread_labels([0.3, 0.31, 0.32, 0.9], heights)
    for low, high, one, two in zip(places, places[1:], heights, heights[1:], strict=False):
        assert high - low >= (one + two) / 2.0 - 1e-12
    assert places[3] == pytest.approx(0.9)


def area(corners):
    x, y = ternary.to_plane(corners).T
    return 0.5 * abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))


def test_cells_and_lattice_cells_cover_the_triangle_exactly_once():
    whole = np.sqrt(3.0) / 4.0
    cells = [area(ternary.cell(row, column, 12)) for row in range(12) for column in range(12 - row)]
    assert sum(cells) == pytest.approx(whole)
    lattice = [(i / 10, j / 10, (10 - i - j) / 10) for i in range(11) for j in range(11 - i)]
    assert sum(area(ternary.lattice_cell(point, 0.1)) for point in lattice) == pytest.approx(whole)
    assert area(ternary.lattice_cell((0.3, 0.3, 0.4), 0.1)) == pytest.approx(whole / 50)  # two of 100 small triangles


def test_contexts_on_the_edge_are_counted_in_a_cell_of_the_triangle():
    table = np.zeros((12, 12))
    table[6, 6] = 5.0  # (1/2, 1/2, 0): 6 + 6 = 12 is outside of the cells of the triangle
    moved = ternary.fold_edges(table)
    assert moved.sum() == 5.0
    assert all(row + column < 12 for row, column in zip(*np.nonzero(moved), strict=True))


def test_a_learner_that_never_has_a_proper_policy_is_drawn_with_crosses(tmp_path):
    lost = policies(2)
    lost["learned_gap"] = [None] * 41
    lost["differs"] = [None] * 41
    records = [record(run_spec(), power(1.0, 0.5), metadata={"policies": lost})]
    paths = write_figures(summarize(records), records, tmp_path, formats=("svg",))
    assert any(path.name.startswith("policies") for path in paths)


def test_the_users_settings_of_matplotlib_neither_matter_nor_change():
    import matplotlib

    with matplotlib.rc_context({"font.size": 30.0, "svg.hashsalt": "mine"}):
        with style.figure_style():
            assert matplotlib.rcParams["font.size"] == 8.0
        assert matplotlib.rcParams["font.size"] == 30.0


def test_matplotlib_is_not_imported_before_something_is_drawn():
    code = (
        "import sys, goalbound.experiments.figures, goalbound.experiments.summary; print('matplotlib' in sys.modules)"
    )
    assert re.match("False", subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)
