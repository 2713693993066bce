"""One run as plain values, and its id."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from goalbound.errors import InputError
from goalbound.experiments.run_spec import RunSpec
from tests.support.small_runs import spec_of

RUN = spec_of(losses={"law": "bounded", "spread": 0.25})


def test_a_run_survives_json_with_its_labels_and_its_id() -> None:
    again = RunSpec.from_json(json.loads(json.dumps(RUN.as_json())))
    assert again == RUN
    assert again.id == RUN.id
    assert again.group == RUN.group == ("random", "dirichlet", "lr-cssp")


def test_labels_are_no_part_of_the_identity_and_settings_seed_and_code_are() -> None:
    renamed = replace(RUN, learner=replace(RUN.learner, label="another name"))
    assert renamed.id == RUN.id
    assert "another name" not in json.dumps(renamed.as_json(labels=False))
    others = [
        replace(RUN, seed=RUN.seed + 1),
        replace(RUN, episodes=RUN.episodes + 1),
        replace(RUN, losses="bernoulli"),
        replace(RUN, learner=replace(RUN.learner, settings={**RUN.learner.settings, "delta": 0.2})),
        replace(RUN, code={"learner": "0" * 32}),
    ]
    assert len({RUN.id, *(other.id for other in others)}) == 6


@pytest.mark.parametrize("change", [{"learner": None}, {"episodes": "many"}, {"seed": float("inf")}, {"contexts": 3}])
def test_what_is_no_run_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="this is not a run of an experiment"):
        RunSpec.from_json({**RUN.as_json(), **change})
