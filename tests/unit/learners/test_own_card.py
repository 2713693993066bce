"""Reasons why nothing is proven: where they come from, where they go, and who says them."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound import LRCSSP, Discretized, GreedyRidge, LossScale, Step, Support, TabularLearner, load_learner, widths
from goalbound.adapters.covariates import CovariateLearner, Hats
from goalbound.around.contexts import ContextBlind
from goalbound.around.runbook import Apprentice
from goalbound.baselines import Method
from goalbound.errors import ArgumentError, FileFormatError, InputError
from goalbound.learners.card import LearnerCard, learner_card
from goalbound.learners.own_card import MOST, checked_caveats, united_caveats
from goalbound.logs import LogColumns, evaluate_policy, read_log
from goalbound.models.files.array_file import peek_header
from tests.support.units import in_units

SCALE = LossScale("EUR", cap=50)
SEATS = Hats([0, 20])
INFERRED = "the support was inferred from the log (what it does not hold counts as impossible)"
SELECTED = "1 row of the log skipped because of the loss or the next state (the others are selected by their outcome)"
GIVEN = Support.from_pairs(
    [{0: [1, 2], 1: [1, 2]}, {0: [1, 2]}], state_names=["new", "waiting"], action_names=["answer", "ask"]
)


def tickets(*, spoilt: bool = False) -> dict[str, list[Any]]:
    """Two tickets of three steps; ``spoilt``: the loss of a further one cannot be read."""
    return {
        "case": [1, 1, 2, 3], "time": [0, 1, 2, 3], "state": ["new", "waiting", "new", "new"],
        "action": ["ask", "answer", "answer", "answer"], "loss": [5, 20, 10, "much" if spoilt else 12],
        "next_state": ["waiting", "goal", "goal", "goal"], "seats": [10, 10, 5, 3],
    }  # fmt: skip


def log_of(*, inferred: bool = True, spoilt: bool = False) -> Any:
    return read_log(
        tickets(spoilt=spoilt), columns=LogColumns(covariates=["seats"]), covariate_map=SEATS, loss_scale=SCALE,
        support=None if inferred else GIVEN, errors="skip",
    )  # fmt: skip


def learned(kind: Any = LRCSSP, **how: Any) -> Any:
    log = log_of(**how)
    learner = kind(log.support, 2, loss_floor=0.05)
    learner.learn_log(log)
    return learner


def test_a_learner_of_an_inferred_support_or_of_selected_rows_proves_nothing_and_says_why() -> None:
    for how, reasons in (
        ({"inferred": True}, (INFERRED,)),
        ({"inferred": False, "spoilt": True}, (SELECTED,)),
        ({"inferred": True, "spoilt": True}, (INFERRED, SELECTED)),
    ):
        learner = learned(**how)
        assert learner.caveats == reasons
        for bounds in (learner.policy_bounds([0.5, 0.5]), learner.robust_plan([0.5, 0.5])):
            assert bounds.proven is False
            assert bounds.guarantee.startswith(f"Not proven: {'; '.join(reasons)}, so the true value may lie outside")
            assert str(bounds).endswith(bounds.guarantee)
        assert learner.explain([0.5, 0.5], "new").guarantee.startswith(f"Not proven: {reasons[0]}")
        card = learner_card(learner)
        assert (card.guarantee, card.theorem, card.caveats) == ("unproven", "", reasons)
        assert f"not proven: {'; '.join(reasons)}" in str(card)
        assert card.label_suffix == " (not proven)"


def test_a_learner_of_a_whole_log_on_a_given_support_is_proven() -> None:
    learner = learned(inferred=False)
    assert learner.caveats == ()
    assert learner.policy_bounds([0.5, 0.5]).proven
    assert learner_card(learner).guarantee == "proven"


def test_a_log_of_no_step_that_is_learned_says_nothing() -> None:
    log = log_of()
    learner = LRCSSP(log.support, 3, loss_floor=0.05)  # contexts of another size
    with pytest.raises(InputError, match="step 0 of the log"):
        learner.learn_log(log)
    assert learner.caveats == ()


def test_what_a_log_says_of_itself_passes_all_that_is_around_a_learner() -> None:
    log = log_of(spoilt=True)
    inside = LRCSSP(log.support, 2, loss_floor=0.05)
    in_units(inside, SCALE).learn_log(log)
    blind = ContextBlind(LRCSSP(log.support, 1, loss_floor=0.05))
    blind.learn_log(log)
    covered = CovariateLearner(SEATS, in_units(LRCSSP(log.support, 2, loss_floor=0.05), SCALE))
    covered.learn_log(log)
    apprentice = Apprentice(LRCSSP(log.support, 2, loss_floor=0.05), {"new": "answer", "waiting": "answer"})
    apprentice.learn_log(log)
    for one in (inside, blind.inner, covered, apprentice.inner):
        assert one.caveats == (INFERRED, SELECTED)
    for one in (blind, covered, apprentice):
        assert (one.card.guarantee, one.card.caveats) == ("unproven", (INFERRED, SELECTED))
    assert "Not proven: the support was inferred" in str(covered.policy_bounds(10))
    assert not apprentice.progress([0.5, 0.5]).proven


def test_a_learner_without_contexts_keeps_them_too() -> None:
    log = read_log({name: values for name, values in tickets().items() if name != "seats"}, loss_scale=SCALE)
    learner = TabularLearner(log.support, Method("eb-ssp"), loss_floor=0.05)
    assert learner_card(learner).guarantee == "proven"
    learner.learn_log(log)
    assert (learner_card(learner).guarantee, learner_card(learner).caveats) == ("unproven", (INFERRED,))


def test_files_copies_and_pickles_keep_them(tmp_path: Path) -> None:
    learner = learned(spoilt=True)
    path = tmp_path / "learner.npz"
    CovariateLearner(SEATS, in_units(learner, SCALE)).save(path)
    again = load_learner(path)
    assert again.caveats == (INFERRED, SELECTED)
    assert again.policy_bounds(10).proven is False
    for twin in (copy.copy(learner), copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))):
        assert twin.caveats == (INFERRED, SELECTED)
    learner.save(tmp_path / "inside.npz")
    assert peek_header(tmp_path / "inside.npz")["caveats"] == [INFERRED, SELECTED]
    assert LRCSSP.load(tmp_path / "inside.npz").caveats == (INFERRED, SELECTED)


def test_whoever_takes_over_the_data_takes_over_the_reasons() -> None:
    learner = learned()
    fresh = LRCSSP(learner.support, 2, loss_floor=0.05)
    fresh.add_caveat("a reason of its own")
    fresh.merge(learner)
    assert fresh.caveats == ("a reason of its own", INFERRED)
    assert learner.caveats == (INFERRED,)
    assert learner.with_settings(widths=widths.sharp(), delta=0.01).caveats == (INFERRED,)
    larger = Support.from_pairs(
        [{0: [1, 2], 1: [0, 1, 2]}, {0: [1, 2]}], state_names=["new", "waiting"], action_names=["answer", "ask"]
    )
    assert learner.extended(larger).caveats == (INFERRED,)
    taken = LRCSSP(learner.support, 2, loss_floor=0.05)
    taken.merge(learned(GreedyRidge))
    assert taken.caveats == (INFERRED,)
    assert not taken.policy_bounds([0.5, 0.5]).proven


def test_steps_that_are_learned_later_do_not_make_it_proven() -> None:
    learner = learned()
    for _ in range(50):
        learner.learn([0.5, 0.5], Step("new", "answer", 0.2, "goal"))
    assert not learner.policy_bounds([0.5, 0.5]).proven


def test_a_policy_is_not_evaluated_by_proven_bounds_of_such_a_learner() -> None:
    learner, log = learned(inferred=False, spoilt=True), log_of(inferred=False)  # the same log, repaired meanwhile
    found = evaluate_policy(log, {"new": "answer", "waiting": "answer"}, learner=learner, replicates=0)
    assert found.bounds.missing == f"nothing of what this learner has learned is proven: {SELECTED}"
    fine = evaluate_policy(log, {"new": "answer", "waiting": "answer"}, learner=learned(inferred=False), replicates=0)
    assert fine.bounds.proven


def test_all_reasons_are_said_together() -> None:
    learner = LRCSSP(GIVEN, 2, loss_floor=0.05, widths=widths.scaled(widths.sharp(), by=0.5))
    learner.add_caveat("the worst cases were left out")
    assert learner.policy_bounds([0.5, 0.5]).guarantee == (
        "Not proven: the widths of these sets are not; the worst cases were left out, so the true value may lie "
        "outside the bounds."
    )


@pytest.mark.parametrize("reason", ["", "  ", None, 3, ["a"], "x" * 1001])
def test_a_reason_is_a_text(reason: Any) -> None:
    learner = LRCSSP(GIVEN, 2, loss_floor=0.05)
    with pytest.raises(ArgumentError, match=r"reason holds .*a text of 1 to 1000 characters"):
        learner.add_caveat(reason)
    assert learner.caveats == ()


def test_what_another_log_says_of_itself_is_checked_before_anything_is_learned() -> None:
    class Wrong(list[Any]):
        validity_breaks = "the support was inferred"

    learner = LRCSSP(GIVEN, 2, loss_floor=0.05)
    with pytest.raises(ArgumentError, match=r"validity_breaks of the log is .*; it is a list of texts"):
        learner.learn_log(Wrong([([0.5, 0.5], Step(0, 0, 0.5, 2))]))
    assert not learner.statistics.visits.any()


def test_reasons_of_a_file_are_checked(tmp_path: Path) -> None:
    from goalbound.models.files.array_file import write_array_file
    from tests.support.checkpoints import parts

    learned().save(tmp_path / "learner.npz")
    header, arrays = parts((tmp_path / "learner.npz").read_bytes())
    for wrong in ("text", [3], [""], None, {}):
        path = tmp_path / "wrong.npz"
        path.unlink(missing_ok=True)
        write_array_file(path, header | {"caveats": wrong}, arrays)
        with pytest.raises(FileFormatError, match="caveats"):
            LRCSSP.load(path)


def test_reasons_are_kept_once_and_in_bounds() -> None:
    assert united_caveats(["a", "b"], [], ("b", "c")) == ("a", "b", "c")
    with pytest.raises(ArgumentError, match=f"at most {MOST}"):
        checked_caveats([str(number) for number in range(MOST + 1)], "caveats")


def test_a_card_is_not_proven_and_doubted_at_once() -> None:
    with pytest.raises(ArgumentError, match="says proven, and why it is not"):
        LearnerCard(sees="contexts", guarantee="proven", caveats=("a reason",))
    card = LearnerCard(sees="contexts", guarantee="unproven", caveats=("a reason",))
    assert LearnerCard.from_json(card.as_json()) == card
    assert card.as_json()["caveats"] == ["a reason"]
    assert "caveats" not in LearnerCard(sees="contexts", guarantee="unproven").as_json()
    with pytest.raises(ArgumentError, match="caveats of the learner's card"):
        LearnerCard.from_json(card.as_json() | {"caveats": "a reason"})
    np.testing.assert_equal(LearnerCard.from_json(LearnerCard().as_json()), LearnerCard())


def test_reasons_of_both_are_those_of_a_merged_greedy_learner_and_of_whoever_takes_its_data() -> None:
    one, two = (GreedyRidge(GIVEN, 1, loss_floor=0.1) for _ in range(2))
    one.add_caveat("one")
    two.add_caveat("two")
    one.merge(two)
    assert one.caveats == ("one", "two")
    proving = LRCSSP(GIVEN, 1, loss_floor=0.1)
    proving.merge(one)
    assert proving.caveats == ("one", "two")
    assert not proving.policy_bounds([1.0], [0, 0]).proven


class Doubtful(list[Any]):
    validity_breaks = ("rows were lost",)


def test_cells_that_learn_from_a_log_keep_its_reasons() -> None:
    discretized = Discretized(lambda rng: LRCSSP(GIVEN, 1, loss_floor=0.1), 2, parts=2)
    discretized.learn_log(Doubtful([([0.9, 0.1], Step(0, 0, 0.5, 1))]))
    discretized.learn([0.1, 0.9], Step(0, 0, 0.5, 1))
    assert sorted(cell.caveats for cell in discretized.cells.values()) == [(), ("rows were lost",)]


def test_a_log_that_was_read_with_other_states_is_refused() -> None:
    columns = LogColumns(covariates=["seats"])
    log = read_log(tickets(), columns=columns, loss_scale=SCALE, covariate_map=SEATS, support=GIVEN)
    turned = Support.from_pairs(
        [{0: [0, 2]}, {0: [0, 2], 1: [0, 2]}], state_names=["waiting", "new"], action_names=["answer", "ask"]
    )
    for learner in (LRCSSP(turned, 2, loss_floor=0.1), in_units(LRCSSP(turned, 2, loss_floor=0.1), SCALE)):
        with pytest.raises(ArgumentError, match=r"other names of states .* support=learner.support"):
            learner.learn_log(log)
        assert learner.statistics.visits.sum() == 0
