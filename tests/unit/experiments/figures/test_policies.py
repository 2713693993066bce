"""Figures of policies by context."""

from __future__ import annotations

from goalbound.experiments.figures import write_figures
from goalbound.experiments.summary import summarize
from tests.support.synthetic import policies, power, record, run_spec


def test_a_learner_that_never_has_a_proper_policy_is_drawn_with_crosses(tmp_path):
    lost = policies(2)
    lost["learned_gap"] = [None] * 41
    lost["differs"] = [None] * 41
    records = [record(run_spec(), power(1.0, 0.5), metadata={"policies": lost})]
    paths = write_figures(summarize(records), records, tmp_path, formats=("svg",))
    assert any(path.name.startswith("policies") for path in paths)
