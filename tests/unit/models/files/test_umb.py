"""UMB: what is written, what is read, and what Storm says about it."""

import dataclasses
import gzip
import lzma
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goalbound.errors import FileFormatError, InputError
from goalbound.models import SSP
from goalbound.models.files import load, read_umb, write_umb
from tests.support.model_files import (
    a_model,
    archive,
    f8,
    flags,
    least_losses,
    powers_of_two,
    ssps,
    storm_example,
    storm_value,
    u8,
)

printable = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=5).filter(
    lambda name: name != "goal"
)


def read(tmp_path, index, members, **options) -> SSP:
    path = tmp_path / "model.umb"
    path.write_bytes(archive(index, members))
    return read_umb(path, **options)


def test_a_model_becomes_the_problem_it_means(tmp_path):
    problem = read(tmp_path, *a_model())
    support = problem.support
    assert (support.states, support.pairs, support.action_names) == (2, 3, ("wait", "go"))
    assert problem.loss_scale == 2.0
    assert (problem.losses * 2.0).tolist() == [1.5, 2.0, 2.0]  # wait and go in the first state, go in the second
    assert support.pair_action.tolist() == [0, 1, 1]
    assert [support.next_state[support.row(pair)].tolist() for pair in range(3)] == [[0], [1, 2], [2]]
    assert problem.probabilities.tolist() == [1.0, 0.25, 0.75, 1.0]
    assert problem.start == 0


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
def test_plain_gzip_and_xz_are_distinguished_by_their_bytes(tmp_path, pack):
    path = tmp_path / "model"
    path.write_bytes(pack(archive(*a_model())))
    assert load(path) == read(tmp_path, *a_model())


@settings(max_examples=60, deadline=None)
@given(ssps(names=printable, scales=powers_of_two, uniform=True), st.booleans())
def test_reading_gives_back_what_was_written_but_for_state_names(tmp_path_factory, problem, compress):
    path = tmp_path_factory.getbasetemp() / "any.umb"
    write_umb(problem, path, compress=compress)
    nameless = dataclasses.replace(problem, support=dataclasses.replace(problem.support, state_names=None))
    assert load(path) == nameless


def test_several_initial_states_are_equally_likely(tmp_path):
    index, members = a_model()
    members["state-is-initial.bin"] = flags(0, 1, 2)  # state 1 is a goal: nothing is decided there
    assert read(tmp_path, index, members).start.tolist() == [0.5, 0.5]


def test_choices_of_one_action_become_actions_of_their_own(tmp_path):
    index, members = a_model()
    members["actions/choices/values.bin"] = bytes(16)  # all "wait"
    problem = read(tmp_path, index, members)
    assert problem.support.action_names == ("wait", "go", "wait#2")
    assert problem.support.pair_action.tolist() == [0, 2, 0]
    assert (problem.losses * 2.0).tolist() == [2.0, 1.5, 2.0]


def test_choices_without_actions_are_numbered_within_their_state(tmp_path):
    index, members = a_model()
    index["transition-system"]["#choice-actions"] = 0
    problem = read(tmp_path, index, {name: data for name, data in members.items() if "actions" not in name})
    assert problem.support.action_names is None
    assert problem.support.pair_action.tolist() == [0, 1, 0]


def test_repeated_branches_are_summed(tmp_path):
    index, members = a_model()
    members["branch-to-target.bin"] = u8(1, 1, 0, 1, 1)
    problem = read(tmp_path, index, members)
    assert problem.support.next_state.tolist() == [0, 2, 2]
    assert problem.probabilities.tolist() == [1.0, 1.0, 1.0]


def rational(value: Fraction, size: int) -> bytes:
    return value.numerator.to_bytes(size // 16, "little", signed=True) + value.denominator.to_bytes(
        size // 16, "little"
    )


@pytest.mark.parametrize("size", [128, 256])
def test_rationals_are_rounded_once(tmp_path, size):
    index, members = a_model()
    third = Fraction(1, 3)
    tiny = Fraction(2**62 + 1, 3 * 2**62)  # needs more than 53 bits above and below
    index["transition-system"]["branch-probability-type"] = {"type": "rational", "size": size}
    for value in (third, tiny):
        rows = [value, 1 - value, Fraction(1), Fraction(1), Fraction(1)]
        if size == 128 and value == tiny:
            rows[1] = Fraction(2, 3)
        members["branch-to-probability.bin"] = b"".join(rational(one, size) for one in rows)
        problem = read(tmp_path, index, members)
        assert problem.probabilities[1] == float(value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time": "stochastic", "#players": 0}, "this is a CTMC"),
        ({"time": "urgent-stochastic"}, "this is a Markov automaton"),
        ({"#players": 2}, "a game of 2 players"),
        ({"#observations": 3}, "a POMDP"),
        ({"#players": 0}, "DTMC .* several choices"),
        ({"branch-probability-type": {"type": "double-interval", "size": 128}}, "encoded as 'double-interval'"),
        ({"branch-probability-type": {"type": "rational", "size": 100}}, "rationals of 100 bits"),
        ({"#states": 2**62}, "claims 4611686018427387904 states.*limit="),
        ({"#states": 4}, "state-to-choices.bin has 32 bytes; 5 entries of 8 take 40"),
        ({"#states": -1}, "#states in the index is -1"),
        ({"#states": True}, "#states in the index is True"),
        ({"#branches": 6}, "branch-to-probability.bin has 40 bytes; 6 entries of 8 take 48"),
        ({"#choice-actions": 10**9}, "1000000000 actions for 4 choices"),
    ],
)
def test_what_is_not_read_is_named(tmp_path, change, message):
    index, members = a_model()
    index["transition-system"] |= change
    with pytest.raises(FileFormatError, match=message) as caught:
        read(tmp_path, index, members)
    assert "model.umb" in str(caught.value)


@pytest.mark.parametrize(
    ("member", "data", "message"),
    [
        ("state-to-choices.bin", u8(0, 3, 2, 4), "does not rise from 0 to 4"),
        ("state-to-choices.bin", u8(0, 2, 3, 2**63), "does not rise"),
        ("branch-to-target.bin", u8(2, 3, 0, 1, 1), "leads to state 3; there are 3 states"),
        ("branch-to-probability.bin", f8(0.25, math.nan, 1, 1, 1), "branch 1 of the file has the probability nan"),
        ("branch-to-probability.bin", f8(0.25, 0.7, 1, 1, 1), "probabilities sum to 0.95, not 1"),
        ("branch-to-probability.bin", None, "branch-to-probability.bin is missing"),
        ("actions/choices/values.bin", np.array([1, 0, 0, 9], "<u4").tobytes(), "action 9; there are 2"),
        ("actions/choices/strings.bin", b"wait\xff\xff", "utf-8"),
        ("actions/choices/string-mapping.bin", u8(0, 0, 6), None),
        ("annotations/aps/done/states/values.bin", flags(1, 5), "bits set beyond the 3"),
        ("annotations/aps/done/states/values.bin", None, "no label can be meant"),
        ("annotations/aps/done/states/values.bin", b"\2", "has 1 bytes; 3 bits take 8"),
        ("annotations/rewards/r/states/values.bin", f8(-1, 0, 0), "state 0 of the file, choice 0: reward -1.0"),
        ("annotations/rewards/r/choices/values.bin", f8(0, -0.5, 0, 0), "choice 1: reward -0.5; .* not negative"),
        ("annotations/rewards/r/branches/values.bin", f8(-4, 40, 0, 0, 0), "choice 0: reward -1.0; .* not negative"),
        ("annotations/rewards/r/choices/values.bin", f8(0, math.inf, 0, 0), "reward inf"),
        ("state-is-initial.bin", None, "no state that is not a goal is initial"),
        ("state-is-initial.bin", flags(1), "no state that is not a goal is initial"),
    ],
)
def test_a_wrong_member_is_named(tmp_path, member, data, message):
    index, members = a_model()
    members[member] = data
    members = {name: one for name, one in members.items() if one is not None}
    if message is None:  # odd, but a model
        read(tmp_path, index, members)
        return
    with pytest.raises(FileFormatError, match=message):
        read(tmp_path, index, members)


def test_names_that_are_missing_or_ambiguous_are_listed(tmp_path):
    index, members = a_model()
    assert read(tmp_path, index, members, loss="time", goal="done") == read(tmp_path, index, members, loss="r")
    with pytest.raises(FileFormatError, match='no label is called "home"; there are "done", "deadlock"'):
        read(tmp_path, index, members, goal="home")
    with pytest.raises(FileFormatError, match='no reward model is called "money"; there is "time"'):
        read(tmp_path, index, members, loss="money")
    index["annotations"]["rewards"]["other"] = index["annotations"]["rewards"]["r"] | {"alias": "fuel"}
    with pytest.raises(FileFormatError, match=r'which reward model is meant.* "time", "fuel"; name it with loss='):
        read(tmp_path, index, members)
    with pytest.raises(FileFormatError, match="there is none"):
        read(tmp_path, index | {"annotations": {"aps": index["annotations"]["aps"]}}, members)


def test_a_start_that_umb_cannot_say_is_refused(tmp_path):
    problem = SSP.dense([[0.5], [0.5]], [[[0, 0, 1.0]], [[0, 0, 1.0]]], start=[0.25, 0.75])
    with pytest.raises(InputError, match=r"not uniform.*npz.*dataclasses.replace\(problem, start=0\)"):
        write_umb(problem, tmp_path / "start.umb")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("compression", ["GZIP", "XZ", "NO_COMPRESSION"])
def test_consensus_written_by_storm_has_the_published_value(tmp_path, compression):
    stormpy = pytest.importorskip("stormpy")
    options = stormpy.io.UmbExportOptions()
    options.compression = getattr(stormpy.io.CompressionMode, compression)
    stormpy.io.export_to_umb(storm_example("prism_mdp_coin_2_2"), tmp_path / "coin.umb", options=options)
    problem = load(tmp_path / "coin.umb", goal="finished")
    # steps_min of consensus.2 with K = 2 in the Quantitative Verification Benchmark Set
    assert least_losses(problem)[problem.start] * problem.loss_scale == pytest.approx(48.0, abs=1e-9)


def test_storm_reads_what_is_written_and_finds_the_same_value(tmp_path):
    stormpy = pytest.importorskip("stormpy")
    rng = np.random.default_rng(1)
    dense = SSP.dense(rng.random((6, 3)), rng.dirichlet(np.ones(7), (6, 3)), start=2, action_names=["a b", "c", "d"])
    problem = SSP(dense.support, dense.losses, dense.probabilities, 2, 10.0)
    for compress in (False, True):
        write_umb(problem, tmp_path / "ours.umb", compress=compress)
        model = stormpy.build_model_from_umb(tmp_path / "ours.umb")
        value = storm_value(model, 'R{"loss"}min=? [F "goal"]')
        assert value == pytest.approx(10.0 * least_losses(problem)[2], rel=1e-5)  # Storm stops at 1e-6
