"""What changed between two folders, of records made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from goalbound.experiments.changes import IDENTICAL, Changes, compare
from goalbound.experiments.results import Results
from goalbound.experiments.spec import ExperimentSpec
from tests.support import synthetic

SPEC = {"name": "x", "episodes": 100, "seeds": 8, "problems": [{"use": "random"}], "learners": [{"use": "lr-cssp"}]}


def results(
    factors: dict[str, float], *, seeds: int = 8, episodes: int = 100, folder: str = "a", **changes: Any
) -> Results:
    """Learners whose regret is (1 + seed / 100) factor K^0.5."""
    records = [
        synthetic.record(
            synthetic.run_spec(name, seed=seed, episodes=episodes), synthetic.power((1 + seed / 100) * factor, 0.5),
            metadata=changes.get("metadata"),
        )
        for name, factor in factors.items()
        for seed in range(seeds)
    ]  # fmt: skip
    spec = ExperimentSpec.of({**SPEC, **changes.get("spec", {})})
    return Results(spec, Path(folder), [record.spec for record in records], records)


def only(changes: Changes) -> Any:
    (group,) = changes.groups
    return group


def test_the_same_results_are_the_same_to_the_bit():
    changes = compare(results({"A": 1.0}), results({"A": 1.0}, folder="b"))
    assert changes.nothing
    assert only(changes).verdict == IDENTICAL
    assert changes.folders == ("a", "b")


@pytest.mark.parametrize(("after", "verdict"), [(2.0, "more"), (0.5, "less")])
def test_a_change_on_all_seeds_has_its_sign_and_its_interval(after, verdict):
    group = only(compare(results({"A": 1.0}), results({"A": after})))
    gaps = [10.0 * (after - 1.0) * (1 + seed / 100) for seed in range(8)]  # 100^0.5 = 10
    assert group.verdict == verdict
    assert group.change.values == pytest.approx(gaps)
    assert group.change.mean == pytest.approx(sum(gaps) / 8)
    assert group.after - group.before == pytest.approx(group.change.mean)
    assert group.change.low <= group.change.mean <= group.change.high
    assert (group.change.low > 0.0) == (after > 1.0)


def test_all_learners_are_corrected_jointly():
    names = {"A": 1.0, "B": 1.0, "C": 1.0}
    changes = compare(results(names), results(dict.fromkeys(names, 1.001)))
    assert {group.compared.pairs for group in changes.groups} == {3}
