"""Objects in notebooks: HTML in which nothing is markup, data frames with names, and plots into given axes."""

from functools import cache
from html.parser import HTMLParser

import matplotlib as mpl
import pyarrow
import pytest

from goalbound import LRCSSP, SSP, GreedyRidge, LinearCSSP, OneHot, context_bounds, play, solve

mpl.use("Agg")
from matplotlib import pyplot

HOSTILE = "<img src=x onerror=alert(1)> & $x$\n"
STATES, ACTIONS = [f"sick {HOSTILE}", "better"], ["wait", f"drug {HOSTILE}"]
COMPONENTS = ["young", f"old {HOSTILE}"]


@cache
def objects():
    parts = [
        SSP.dense(
            [[0.2, 0.5], [0.1, 0.4]],
            [[[1.0 - rate, rate, 0.0], [0.0, 0.5, 0.5]], [[0.0, 1.0 - rate, rate], [0.0, 0.0, 1.0]]],
            state_names=STATES, action_names=ACTIONS,
        )
        for rate in (0.2, 0.8)
    ]  # fmt: skip
    problem = LinearCSSP.mix(parts, component_names=COMPONENTS)
    three = LinearCSSP.mix([*parts, parts[0]])
    learner = LRCSSP(problem.support, 2, loss_floor=0.1, loss_bound=5.0)
    history = play(problem, learner, OneHot(2), episodes=12)
    greedy = GreedyRidge(problem.support, 2, loss_floor=0.1)
    return {
        "LinearCSSP": problem, "Solution": solve(problem.at([0.5, 0.5])), "History": history,
        "Plan": learner.plan([0.5, 0.5]), "PolicyBounds": learner.policy_bounds([0.5, 0.5]),
        "Explanation": learner.explain([0.5, 0.5], 0), "without sets": greedy.explain([0.5, 0.5], 0),
        "ContextBounds": context_bounds(problem), "three components": context_bounds(three, tolerance=0.1),
    }  # fmt: skip


EVERY = pytest.mark.parametrize(
    "name",
    ["LinearCSSP", "Solution", "History", "Plan", "PolicyBounds", "Explanation", "without sets", "ContextBounds",
     "three components"],
)  # fmt: skip


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text = set(), ""

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert all(name == "style" for name, _ in attrs)

    def handle_data(self, data):
        self.text += data


@EVERY
def test_html_has_tables_and_paragraphs_and_no_name_is_markup(name):
    page = Tags()
    page.feed(objects()[name]._repr_html_())
    assert page.tags == {"table", "tr", "th", "td", "p"}
    if name not in ("History", "three components"):
        assert "<img src=x onerror=alert(1)> & $x$" in page.text


@EVERY
def test_frames_of_pandas_and_of_arrow_are_the_same(name):
    shown = objects()[name]
    frame, table = shown.frame(), shown.frame(arrow=True)
    assert isinstance(table, pyarrow.Table)
    assert frame.columns.tolist() == table.column_names
    assert len(frame) == table.num_rows > 0
    for column in frame.columns:
        for mine, theirs in zip(frame[column].tolist(), table.column(column).to_pylist(), strict=True):
            assert mine == theirs or (theirs is None and (mine is None or mine != mine))


@EVERY
def test_a_plot_is_drawn_into_given_axes_or_new_ones_and_names_are_literal(name):
    shown = objects()[name]
    mine = pyplot.subplots()[1]
    assert shown.plot(mine) is mine
    new = shown.plot()
    assert new is not mine
    new.figure.canvas.draw()  # a name that is no formula would raise here
    words = [label.get_text() for label in (*new.get_xticklabels(), *new.get_yticklabels(), new.xaxis.label)]
    assert not any("\n" in word.strip("\n") for word in words)
    pyplot.close("all")


def test_a_problem_has_a_row_for_each_component_pair_and_next_state():
    problem = objects()["LinearCSSP"]
    frame = problem.frame()
    assert len(frame) == problem.context_size * problem.support.triples
    sums = frame.groupby(["component", "state", "action"])["probability"].sum()
    assert sums.to_numpy() == pytest.approx(1.0)
    young = frame[(frame["component"] == "young") & (frame["state"] == "better") & (frame["action"] == "wait")]
    assert young[["next_state", "probability", "loss"]].to_numpy().tolist() == [
        ["better", 0.8, 0.1],
        ["goal", 0.2, 0.1],
    ]
