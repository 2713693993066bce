"""The test of an apprentice: against exact fractions over all corner models, and what it says."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from goalbound import LRCSSP, widths
from goalbound.around.progress import _alike
from goalbound.around.runbook import Apprentice
from goalbound.errors import ArgumentError
from goalbound.models import IntervalSet, LossScale, Step, Support
from tests.reference.exact import Value
from tests.reference.pessimism import arriving_losses, corners, least_worst_losses, policy_extremes
from tests.reference.rows import Row
from tests.support.apprenticeship import BUSY, CALM, RUNBOOK, lr_cssp, taught


@pytest.mark.parametrize("margin", [0.0, 0.25, -0.5])
def test_no_corner_model_exceeds_the_difference_and_the_simple_test_passes_no_more(margin: float) -> None:
    """In exact fractions: where bounds of any policy are sure, the test is passed; where it is passed, the candidate is
    no worse in any model whose rows are corners, drawn at random (200 of them)."""
    rng = np.random.default_rng(1)
    passed, failed = 0, 0
    for steps in (250, 700):
        apprentice = taught(steps, scale=0.5, margin=margin)
        for context in (BUSY, [0.5, 0.5], CALM):
            found, sets = apprentice.progress(context), apprentice.confidence_set(context)
            assert isinstance(sets, IntervalSet)
            pairs = [[sets.support.pair(s, int(a)) for s, a in enumerate(p)] for p in (found.runbook, found.candidate)]
            least, safest = policy_extremes(sets, pairs[0])[0], least_worst_losses(sets)
            passed, failed = passed + int(found.switches.sum()), failed + int((~found.switches).sum())
            for state in np.flatnonzero(~found.switches):
                assert safest[state] >= least[state] + Fraction(margin) - Fraction(1, 10**5)
            for runbook, candidate in drawn_losses(sets, pairs, rng):
                for state in np.flatnonzero(found.switches):
                    assert candidate[state] <= runbook[state] + Fraction(margin)
    assert passed >= 2
    assert failed >= 2


def drawn_losses(sets: IntervalSet, policies: list[list[int]], rng: np.random.Generator) -> Iterator[list[list[Value]]]:
    """What both policies lose in models whose rows are corners; a pair that both play has one row."""
    rows = {}
    for pair in {pair for pairs in policies for pair in pairs}:
        row = sets.support.row(pair)
        ends = [[Fraction(float(x)) for x in numbers[row]] for numbers in (sets.low, sets.high)]
        following = sets.support.next_state[row].tolist()
        losses = Fraction(float(sets.loss_low[pair])), Fraction(float(sets.loss_high[pair]))
        rows[pair] = [
            Row(0, loss, dict(zip(following, corner, strict=True))) for corner in corners(*ends) for loss in losses
        ]
    for _ in range(200):
        model = {pair: choices[rng.integers(len(choices))] for pair, choices in rows.items()}
        model = {p: Row(0, row.loss, {t: q for t, q in row.to.items() if q > 0}) for p, row in model.items()}
        yield [arriving_losses([model[pair] for pair in pairs]) for pairs in policies]


def test_what_is_missing_is_the_difference_less_the_margin() -> None:
    found = taught(300, margin=0.1).progress([0.4, 0.6])
    assert np.isfinite(found.difference).all()
    np.testing.assert_allclose(found.missing, np.maximum(found.difference - 0.1, 0.0))
    assert ((found.missing > 0.0) == ~found.switches).all()
    assert (found.difference <= found.candidate_upper[:-1] - found.runbook_lower[:-1] + 1e-12).all()
    assert (found.runbook_lower <= found.runbook_upper).all()
    assert (found.candidate_lower <= found.candidate_upper).all()


def test_with_no_data_all_is_missing() -> None:
    found = Apprentice(lr_cssp(), RUNBOOK, margin=1e6).progress(BUSY)
    assert np.isinf(found.missing).all()
    assert not found.switches.any()
    assert found.policy.tolist() == found.runbook.tolist()
    assert json.loads(json.dumps(found.as_json(), allow_nan=False))["states"][0]["missing"] is None


def test_less_is_missing_the_longer_the_log() -> None:
    missing = [taught(steps).progress(BUSY).missing[0] for steps in (100, 400, 1500)]
    assert missing == sorted(missing, reverse=True)
    assert missing[0] > missing[-1] == 0.0


def test_text_and_json_say_who_leads_and_why() -> None:
    apprentice = taught(1500, margin=0.125)
    found = apprentice.progress(BUSY)
    text, said = str(found), found.as_json()
    for part in ("down", "learner", "restart", "roll back", f"{found.runbook_lower[0]:.4g}", "Proven", "plus 0.125"):
        assert part in text
    assert said["states"][0]["leads"] == "learner"
    assert said["states"][0]["runbook_loss"] == [found.runbook_lower[0], found.runbook_upper[0]]
    assert (said["proven"], said["delta"]) == (True, 0.1)
    assert said["guarantee"] in text
    assert found.policy.tolist() == [1, 1]


def test_looking_changes_nothing() -> None:
    apprentice = taught(300)
    before = apprentice.statistics.visits.copy()
    assert str(apprentice.progress(BUSY)) == str(apprentice.progress(BUSY))
    assert apprentice.statistics.visits.tolist() == before.tolist()
    assert apprentice.open_episodes == ()


def test_unproven_widths_say_so() -> None:
    found = taught(300, scale=0.5).progress(BUSY)
    assert "Not proven: the widths" in str(found)
    assert not found.proven
    assert found.delta is None


def test_a_negative_margin_asks_for_a_gain() -> None:
    found = taught(1500).progress(BUSY)
    gain = -float(found.difference[0])
    for margin, passes in ((-0.99 * gain, True), (-1.01 * gain, False)):
        assert taught(1500, margin=margin).progress(BUSY).switches[0] == passes
    assert math.isfinite(gain)


LINE = Support.from_names(
    {
        "far": {"walk": ["near"], "ride": ["near"]},
        "near": {"walk": ["near", "goal"], "ride": ["near", "goal"]},
        "apart": {"walk": ["goal"], "ride": ["goal"]},
    }
)


def traveller(margin: float) -> Apprentice:
    """The runbook walks. From far riding is much better, from near and apart walking is: there both are the same."""
    losses = {("far", "walk"): 0.9, ("far", "ride"): 0.1}
    learner = LRCSSP(LINE, 1, loss_floor=0.05, widths=widths.sharp())
    steps = []
    for state in ("far", "near", "apart"):
        for action, usual in (("walk", 0.1), ("ride", 0.9)):
            following = LINE.state("near" if state == "far" else "goal")
            loss = losses.get((state, action), usual)
            steps.append(([1.0], Step(LINE.state(state), LINE.action(action), loss, following)))
    apprentice = Apprentice(learner, ["walk"] * 3, margin=margin)
    apprentice.learn_log(steps * 400)
    return apprentice


@pytest.mark.parametrize("margin", [0.0, 0.05])
def test_where_both_policies_are_the_same_the_difference_is_exactly_zero(margin: float) -> None:
    found = traveller(margin).progress([1.0])
    assert found.candidate.tolist() == [LINE.action(name) for name in ("ride", "walk", "walk")]
    assert found.difference[1:].tolist() == [0.0, 0.0]
    assert found.missing.tolist() == [0.0, 0.0, 0.0]
    assert found.switches.tolist() == [True, False, False]
    assert found.difference[0] == pytest.approx(-0.8, abs=0.3)


def test_a_difference_later_on_is_a_difference_from_here() -> None:
    """Near and apart are left as they are; from far one comes to near, where the policies differ."""
    one, other = (np.array([LINE.action(name) for name in names]) for names in (["walk"] * 3, ["walk", "ride", "walk"]))
    assert _alike(LINE, one, other).tolist() == [False, False, True]
    assert _alike(LINE, one, one).tolist() == [True, True, True]


def test_in_a_unit_all_losses_and_the_margin_are_in_it() -> None:
    scale = LossScale("min", cap=60)
    plain = taught(1500, margin=0.125).progress(BUSY)
    found = plain.in_unit(scale)
    for name in ("runbook_lower", "runbook_upper", "candidate_lower", "candidate_upper", "difference", "margin"):
        np.testing.assert_allclose(getattr(found, name), 60.0 * np.asarray(getattr(plain, name)), rtol=1e-15)
    assert (found.difference >= np.minimum(60.0 * plain.difference, found.margin)).all()
    assert (found.runbook_lower <= 60.0 * plain.runbook_lower).all()
    assert (found.candidate_upper >= 60.0 * plain.candidate_upper).all()
    assert found.switches.tolist() == plain.switches.tolist()
    for part in ("missing (min)", "candidate at most (min)", "plus 7.5 min"):
        assert part in str(found)
    assert (found.as_json()["unit"], plain.as_json()["unit"]) == ("min", None)
    with pytest.raises(ArgumentError, match="are in min already"):
        found.in_unit(scale)


def test_what_is_passed_is_passed_in_every_unit() -> None:
    """A difference that equals the margin, which no unit may round apart."""
    plain = taught(1500).progress(BUSY)
    for cap in (0.1, 7.0, 60.0, 1e3 / 3.0):
        equal = replace(plain, margin=float(plain.difference[0]))
        assert equal.missing[0] == equal.in_unit(LossScale("min", cap=cap)).missing[0] == 0.0


def test_what_a_learner_says_against_its_proof_is_in_the_guarantee() -> None:
    apprentice = taught(300)
    apprentice.inner.add_caveat("urgency was not recorded")
    found = apprentice.progress(BUSY)
    assert not found.proven
    assert found.guarantee.startswith("Not proven: urgency was not recorded, so")
