"""The page as text; what it does in a browser is in tests/browser."""

import json
import re

import numpy as np
import pytest

from goalbound.errors import ArgumentError
from goalbound.experiments.explorer import LearnerCourse, explorer_page, page
from goalbound.experiments.explorer.learner_views import LearnerView
from goalbound.models import LinearCSSP
from goalbound.problems import treatment_ladder

HOSTILE = '</script><img src=x onerror="alert(1)">'


def embedded(text):
    found = re.search(r'<script type="application/json" id="page-data">(.*?)</script>', text, re.DOTALL)
    return json.loads(found[1])["explorer"]


def course(times=(0, 5)):
    nothing = [None, None]
    views = [LearnerView(time, [[0, 0], [1, 0]], nothing, nothing, nothing, nothing) for time in times]
    return LearnerCourse(HOSTILE, "a test", np.array([[1.0, 0.0], [0.0, 1.0]]), views)


def test_the_page_has_the_problem_and_no_more_scripts_than_its_policy_allows():
    text = explorer_page(treatment_ladder(2, markers=1), title="ladder", seconds=1.0)
    found = embedded(text)
    assert found["exact"]
    assert found["model"]["states"] == ["severity 1", "severity 2"]
    assert found["bounds"]["proper"]
    assert text.count("<script>") == text.count("sha256-") == 1 + len(page.SCRIPTS)  # charts.js, without Plotly
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")


def test_names_are_data_and_never_markup():
    problem = treatment_ladder(2, markers=1)
    named = LinearCSSP(problem.support, problem.losses, problem.probabilities, 0, (HOSTILE, "b"))
    text = explorer_page(named, title=HOSTILE, courses=[course()], seconds=1.0)
    assert "<img" not in text
    assert embedded(text)["model"]["components"][0] == HOSTILE
    assert embedded(text)["courses"][0]["label"] == HOSTILE


def test_problems_that_are_too_large_for_a_page_are_refused(monkeypatch):
    monkeypatch.setattr(page, "MOST_PAGE_STATES", 1)
    with pytest.raises(ArgumentError, match="2 states; a page shows at most 1"):
        explorer_page(treatment_ladder(2, markers=1), title="a")
