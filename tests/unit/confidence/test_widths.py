"""The radii by the formulas of the paper, worked out here."""

from __future__ import annotations

from math import e, log, sqrt

import numpy as np
import pytest

from goalbound import LRCSSP, LearnerOptions
from goalbound.confidence import Statistics, Widths, confidence_set, likelihood, paper, printed, scaled, sharp
from goalbound.errors import InputError
from goalbound.models import Step, Support

RAGGED = Support.from_pairs([{0: [1, 3], 2: [0, 1, 2, 3]}, {1: [3]}, {0: [2, 0]}])
"""Four pairs whose rows hold 1, 3, 0 and 2 next states other than the goal: M' = 6."""

DELTA = 0.1


def rho(size: int, count: int, visits: int, ridge: float) -> float:
    """sqrt(d log(8 count (1 + tau / lambda) / delta)) + sqrt(lambda)"""
    return sqrt(size * log(8 * count * (1 + visits / ridge) / DELTA)) + sqrt(ridge)


def test_the_constants_of_a_ragged_support() -> None:
    radii = paper().radii(RAGGED, delta=DELTA)
    np.testing.assert_allclose(radii.next_factor, [1.0, sqrt(3.0), 0.0, sqrt(2.0)])
    np.testing.assert_array_equal(radii.known_factor, [1.0, 3.0, 1.0, 2.0])  # at least 1: the loss is uncertain too
    assert radii.next_log == pytest.approx(log(8 * 6 / DELTA))
    assert radii.loss_log == pytest.approx(log(8 * 4 / DELTA))
    assert radii.loss_factor == 1.0


def test_printed_widths_have_one_rho_for_the_whole_matrix() -> None:
    radii = printed().radii(RAGGED, delta=DELTA)
    np.testing.assert_array_equal(radii.next_factor, [1.0, 1.0, 0.0, 1.0])
    np.testing.assert_array_equal(radii.known_factor, [1.0, 3.0, 1.0, 2.0])


def test_full_supports_have_the_constants_of_the_paper() -> None:
    # S = 3 states, A = 2 actions: |S| = 3 next states other than the goal for each pair, |S|^2 |A| = 18, |S| |A| = 6.
    radii = paper().radii(Support.full(3, 2), delta=DELTA)
    np.testing.assert_allclose(radii.next_factor, np.full(6, sqrt(3.0)))
    np.testing.assert_array_equal(radii.known_factor, np.full(6, 3.0))
    assert radii.next_log == pytest.approx(log(8 * 18 / DELTA))
    assert radii.loss_log == pytest.approx(log(8 * 6 / DELTA))


def test_a_problem_whose_pairs_all_lead_straight_to_the_goal() -> None:
    radii = paper().radii(Support.from_pairs([{0: [1], 1: [1]}]), delta=DELTA)
    np.testing.assert_array_equal(radii.next_factor, [0.0, 0.0])
    np.testing.assert_array_equal(radii.known_factor, [1.0, 1.0])
    assert radii.next_log == radii.loss_log == pytest.approx(log(8 * 2 / DELTA))  # at least N rows: beta covers losses


def test_a_scale_multiplies_all_three_and_nothing_else() -> None:
    whole, part = paper().radii(RAGGED, delta=DELTA), scaled(paper(), by=0.25).radii(RAGGED, delta=DELTA)
    np.testing.assert_allclose(part.next_factor, 0.25 * whole.next_factor)
    np.testing.assert_allclose(part.known_factor, 0.25 * whole.known_factor)
    assert (part.loss_factor, part.loss_log, part.next_log) == (0.25, whole.loss_log, whole.next_log)


@pytest.mark.parametrize("ridge", [1.0, 0.25])
@pytest.mark.parametrize("widths", [paper(), printed(), scaled(printed(), by=0.5)], ids=str)
def test_the_radii_of_a_set_are_those_of_the_formulas(widths: Widths, ridge: float) -> None:
    statistics = Statistics(RAGGED, 2, regularization=ridge)
    steps = [Step(0, 0, 0.5, 1), Step(0, 2, 0.0, 3), Step(0, 2, 1.0, 0), Step(2, 0, 0.25, 0)]
    for step in steps:
        statistics.record([1.0, 0.0], step)
    context = np.array([0.5, 0.5])
    plausible = confidence_set(statistics, context, widths=widths, delta=DELTA)
    rows, visits = [1, 3, 0, 2], [1, 2, 0, 1]
    for pair in range(4):
        # V = diag(lambda + tau, lambda)
        norm = sqrt(0.25 / (ridge + visits[pair]) + 0.25 / ridge)
        factor = sqrt(rows[pair]) if widths.joint else float(rows[pair] > 0)
        wanted = widths.scale * factor * rho(2, 6, visits[pair], ridge) * norm
        assert plausible.radii[pair] == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("by", [0.0, -1.0, float("nan"), float("inf")])
def test_a_scale_is_a_positive_number(by: float) -> None:
    with pytest.raises(InputError, match="a scale is a positive number"):
        scaled(paper(), by=by)


def test_names_say_what_was_done_to_the_paper() -> None:
    assert str(paper()) == "paper"
    assert str(scaled(scaled(printed(), by=0.5), by=0.5)) == "0.25 x printed"


def test_only_the_papers_radii_or_larger_ones_are_proven() -> None:
    assert paper().proven
    assert scaled(paper(), by=1.5).proven
    assert not scaled(paper(), by=0.99).proven
    assert not printed().proven


ONE = Support.from_pairs([{0: [0, 1]}])
"""One pair, one row: both logarithms are log(8 / delta)."""


def test_the_regularization_may_be_as_large_as_the_proof_allows_and_no_larger() -> None:
    # sqrt(lambda) (sqrt(d) - 1) <= sqrt(d log(8 / delta)) / 2; with d = 4 and delta = 8 / e^4: sqrt(lambda) <= 2.
    delta = 8.0 / e**4
    paper().check(ONE, 4, delta=delta, regularization=4.0 - 1e-9)
    with pytest.raises(InputError, match=r"regularization 4.001 is too large .* d = 4, .*; use at most 4 "):
        paper().check(ONE, 4, delta=delta, regularization=4.001)
    paper().check(ONE, 1, delta=delta, regularization=1e6)  # a truth of norm at most 1 asks for nothing
    scaled(paper(), by=0.5).check(ONE, 4, delta=delta, regularization=1e6)  # nothing is promised anyway
    printed().check(ONE, 4, delta=delta, regularization=1e6)


@pytest.mark.parametrize("size", [1, 2, 5, 50, 5000])
def test_at_the_papers_regularization_the_proof_holds_for_all_sizes(size: int) -> None:
    # log(8 / delta) > 4 for delta < 8 e^-4 = 0.1465: sqrt(4 d) / 2 = sqrt(d) > sqrt(d) - 1
    paper().check(ONE, size, delta=0.146, regularization=1.0)


def test_the_inequality_of_the_check_is_what_the_theorem_needs() -> None:
    # Theorem confidenceEllipsoid with noise 1/2 and norm sqrt(d): sqrt(d log x) / 2 + sqrt(d lambda), x = 8 / delta
    # (1 + tau / lambda). It is at most rho wherever the check passes, for no visits and for many.
    rng = np.random.default_rng(5)
    passed = 0
    for _ in range(500):
        size, ridge, delta = int(rng.integers(1, 40)), float(10.0 ** rng.uniform(-3, 3)), float(rng.uniform(0.001, 0.9))
        try:
            paper().check(ONE, size, delta=delta, regularization=ridge)
        except InputError:
            x = 8.0 / delta
            assert sqrt(size * log(x)) / 2 + sqrt(size * ridge) > sqrt(size * log(x)) + sqrt(ridge)
            continue
        passed += 1
        for visits in (0, 1, 10**6):
            x = 8.0 / delta * (1.0 + visits / ridge)
            needed = sqrt(size * log(x)) / 2 + sqrt(size * ridge)
            assert needed <= (sqrt(size * log(x)) + sqrt(ridge)) * (1.0 + 1e-12)
    assert 100 < passed < 500


def test_errors_name_every_rule_that_would_do() -> None:
    every, wrong = ("likelihood()", "sharp()", "paper()", "printed()"), "sharp"

    def named(error: pytest.ExceptionInfo[InputError]) -> tuple[str, ...]:
        return tuple(rule for rule in every if rule in str(error.value))

    with pytest.raises(InputError, match="widths is 'sharp'; give likelihood") as caught:
        LRCSSP(ONE, 1, loss_floor=0.1, widths=wrong)
    assert named(caught) == every
    with pytest.raises(InputError, match="widths") as caught:
        scaled(wrong, by=0.5)
    assert named(caught) == every[1:]
    with pytest.raises(InputError, match="widths") as caught:
        confidence_set(Statistics(ONE, 1), [1.0], widths=wrong)
    assert named(caught) == every[2:]
    with pytest.raises(InputError, match="check_linearity") as caught:
        LRCSSP(ONE, 1, loss_floor=0.1, widths=paper(), options=LearnerOptions(check_linearity=True))
    assert named(caught) == every[:2]
    for rule in (likelihood(), sharp()):
        LRCSSP(ONE, 1, loss_floor=0.1, widths=rule, options=LearnerOptions(check_linearity=True))
