"""What changed between two folders, of records made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from goalbound.experiments.changes import IDENTICAL, NO_SHARED_SEED, Change, Changes, compare
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


def test_only_seeds_of_both_folders_count():
    group = only(compare(results({"A": 1.0}, seeds=3), results({"A": 2.0}, seeds=8)))
    assert group.seeds == (0, 1, 2)
    assert group.verdict == "not told apart"
    assert group.change.low is None
    one = only(compare(results({"A": 1.0}, seeds=1), results({"A": 2.0})))
    assert one.verdict == "one seed"
    before, after = results({"A": 1.0}, seeds=1), results({"A": 1.0}, seeds=2)
    none = only(compare(before, Results(after.spec, after.folder, after.runs[1:], after.records[1:])))
    assert (none.verdict, none.seeds, none.change) == (NO_SHARED_SEED, (), None)


def test_keys_of_the_spec_that_differ_are_named():
    learners = [{"use": "lr-cssp", "scale": 0.1}, {"use": "random", "label": "any"}]
    changes = compare(results({}), results({}, spec={"seeds": 4, "learners": learners}))
    assert changes.spec == (
        Change("seeds", 8, 4),
        Change("learners[lr-cssp].scale", None, 0.1),
        Change("learners[any].use", None, "random"),
        Change("learners[any].label", None, "any"),
    )


def test_all_learners_are_corrected_jointly():
    names = {"A": 1.0, "B": 1.0, "C": 1.0}
    changes = compare(results(names), results(dict.fromkeys(names, 1.001)))
    assert {group.compared.pairs for group in changes.groups} == {3}
