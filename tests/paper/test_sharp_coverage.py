"""The sharp sets hold the truth, whatever pieces they are made of; a tenth of them does not."""

from __future__ import annotations

import pytest

from guarantees import sharp as part
from guarantees.coverage import covered_runs, lower_limit
from guarantees.settings import Instance, certified, dense
from guarantees.sharp import CONTEXTS, LIKELIHOOD, Size, rules, sharp_sets
from tests.paper.claims import assert_held

SMALL = Size(runs=60, episodes=40, adversarial_episodes=8, dense_episodes=5000, lake_episodes=300, max_ratio=0.8)
"""Shorter runs of the dense problem compare nothing: the paper's learner has not yet begun to tell actions apart."""


@pytest.fixture(scope="module")
def instances() -> list[Instance]:
    return [certified(dense(3, seed=seed), tolerance=0.1) for seed in range(SMALL.runs)]


@pytest.mark.parametrize("name", ["sharp", "without goal", LIKELIHOOD])
def test_the_truth_stays_in_the_intervals(name: str, instances: list[Instance]) -> None:
    # 60 of 60 runs show a coverage of 0.926 with confidence 0.99 (0.01^(1/60)), 59 only 0.894, so all 60 are asked for.
    # One of 12,000 longer runs has failed; at that rate one of the 360 here would with probability 0.03 at most, but
    # the seeds are fixed. At the promised 0.9 the test is *meant* to fail. Without other pieces no interval is shorter
    # (test_sharp_laws), and without the bounds by the variance the part is played below.
    for contexts in CONTEXTS:
        covered, _, steps = covered_runs(instances, contexts, rules()[name], SMALL)
        assert steps > 10 * SMALL.runs
        assert lower_limit(covered, SMALL.runs) >= 0.9, f"{name}, {contexts}: {covered} of {SMALL.runs} runs"


def test_the_part_holds_and_its_check_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    # Three rules of all, for the time it takes: the first, one other, and the one that is narrow.
    some = {name: widths for name, widths in rules().items() if name in ("sharp", "without variance", "0.1 x sharp")}
    monkeypatch.setattr(part, "rules", lambda: some)
    result = sharp_sets(SMALL)
    assert_held(result)
    paper_row, sharp_row, _, narrow = result.rows
    assert (paper_row[0], sharp_row[0], narrow[0]) == ("paper", "sharp", "0.1 x sharp")
    assert sharp_row[2:4] == [60, 60]
    assert narrow[2] == 0  # of 60 runs under random contexts; every one lost the truth
    assert all(ratio < 1.0 for ratio in sharp_row[6::2])
