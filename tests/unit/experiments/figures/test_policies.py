"""Figures of policies by context."""

from __future__ import annotations

import numpy as np

from goalbound.experiments.figures import policies as figure
from goalbound.experiments.figures import write_figures
from goalbound.experiments.report.map_charts import policy_names
from goalbound.experiments.summary import summarize
from tests.support.synthetic import policies, power, record, run_spec


def test_a_learner_that_never_has_a_proper_policy_is_drawn_with_crosses(tmp_path):
    lost = policies(2)
    lost["learned_gap"] = [None] * 41
    lost["differs"] = [None] * 41
    records = [record(run_spec(), power(1.0, 0.5), metadata={"policies": lost})]
    paths = write_figures(summarize(records), records, tmp_path, formats=("svg",))
    assert any(path.name.startswith("policies") for path in paths)


def test_best_policies_have_the_numbers_of_the_report():
    known = policies(3)
    best = figure.Best.of({"policies": known})
    names = policy_names(known["optimal"])
    assert [f"P{number}" for number in best.optimal] == [names[policy] for policy in known["optimal"]]
    assert np.bincount(best.optimal)[1:].tolist() == sorted(np.bincount(known["optimal"]), reverse=True)
