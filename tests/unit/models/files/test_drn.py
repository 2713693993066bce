"""DRN: what is written, what is read, and what Storm says about it."""

import dataclasses
import gzip

import numpy as np
import pytest
from hypothesis import given, settings

from goalbound.errors import FileFormatError
from goalbound.models import SSP
from goalbound.models.files import load, read_drn, write_drn
from tests.support.model_files import least_losses, powers_of_two, ssps, storm_example, storm_value

MODEL = """// Exported by storm
// Original model type: MDP
@type: MDP
@value_type: double
@parameters

@placeholders
$0 : 1/4
@reward_models
time fuel
@nr_states
3
@nr_choices
4
@model
state 0 [1, 0] init
//[x=0	& y=1]
	action go [0, 2]
		1 : 3/4
		2 : $0
	action wait [0.5, 0]
		0 : 1
state 1 [100, 0] done "all done"
	action go [0, 0]
		1 : 1
state 2 [2, 0] half
	action go [0, 3]
		0 : 5e-1
		1 : 0.5
"""


def read(tmp_path, text, **options) -> SSP:
    path = tmp_path / "model.drn"
    path.write_text(text, encoding="utf-8")
    return read_drn(path, **options)


def test_a_model_becomes_the_problem_it_means(tmp_path):
    problem = read(tmp_path, MODEL, loss="time", goal="all done")
    support = problem.support
    assert (support.states, support.pairs, support.action_names) == (2, 3, ("go", "wait"))
    assert (problem.losses * problem.loss_scale).tolist() == [1.0, 1.5, 2.0]  # state plus action reward
    assert problem.loss_scale == 2.0  # the power of two that no loss exceeds
    assert [support.next_state[support.row(pair)].tolist() for pair in range(3)] == [[1, 2], [0], [0, 2]]
    assert problem.probabilities.tolist() == [0.25, 0.75, 1.0, 0.5, 0.5]
    assert problem.start == 0
    assert read(tmp_path, MODEL, loss="fuel", goal="done").losses.tolist() == [0.5, 0.0, 0.75]


def test_windows_line_ends_and_gzip_read_the_same(tmp_path):
    path = tmp_path / "model.drn.gz"
    path.write_bytes(gzip.compress(MODEL.replace("\n", "\r\n").encode()))
    assert load(path, loss="time", goal="done") == read(tmp_path, MODEL, loss="time", goal="done")


@settings(max_examples=80, deadline=None)
@given(ssps(scales=powers_of_two, uniform=True))
def test_reading_gives_back_what_was_written_but_for_state_names(tmp_path_factory, problem):
    path = tmp_path_factory.getbasetemp() / "any.drn"
    write_drn(problem, path)
    nameless = dataclasses.replace(problem, support=dataclasses.replace(problem.support, state_names=None))
    assert load(path) == nameless


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("@type: MDP", "@type: CTMC", "line 3: the type is 'CTMC'"),
        ("@type: MDP\n", "", "@type must stand before @model"),
        ("@type: MDP", "@type: DTMC", "DTMC, but state 0 has several actions"),
        ("@value_type: double", "@value_type: double-interval", "values are 'double-interval'"),
        ("@parameters\n", "@parameters\np q", "line 6: the model has the parameters 'p q'"),
        ("@nr_states\n3", "@nr_states\n4", "@nr_states says 4, and 3 states follow"),
        ("@nr_states", "@nr_stats", "'@nr_stats' is not a section"),
        ("@nr_choices\n4", "@nr_choices\n5", "@nr_choices says 5, and 4 actions follow"),
        ("@model\n", "@type: MDP\n", "@type appears twice"),
        ("2 : $0", "3 : $0", "line 20: '3 : \\$0' does not lead to one of the 3 states"),
        ("2 : $0", "2 : $1", "line 20: '\\$1' is not a number"),
        ("2 : $0", "2 : nan", "'nan' is not a number"),
        ("2 : $0", "2 : 1e999", "branch 1 of the file has the probability inf"),
        ("2 : $0", "2 : 0.2", "probabilities sum to 0.95, not 1"),
        ("[0.5, 0]", "[-2, 0]", "state 0 of the file, choice 1: reward -2.0; .* not negative"),
        ("[0.5, 0]", "[0.5, 0", "line 21: a bracket is left open"),
        ("state 2", "state 3", "state '3' stands where state 2 of 3 is expected"),
        (" init", "", "no state that is not a goal is initial"),
        ("state 0 [1, 0] init\n", "", "an action stands before the first state"),
    ],
)
def test_what_is_not_read_is_named_with_its_line(tmp_path, old, new, message):
    assert old in MODEL
    with pytest.raises(FileFormatError, match=message) as caught:
        read(tmp_path, MODEL.replace(old, new, 1), loss="time", goal="done")
    assert "model.drn" in str(caught.value)


def test_names_that_are_missing_or_ambiguous_are_listed(tmp_path):
    with pytest.raises(FileFormatError, match=r'which label is meant.* "done", "all done", "half"; name it with goal='):
        read(tmp_path, MODEL, loss="time")
    with pytest.raises(FileFormatError, match=r'which reward model is meant.* "time", "fuel"; name it with loss='):
        read(tmp_path, MODEL, goal="done")
    with pytest.raises(FileFormatError, match='no label is called "init"'):
        read(tmp_path, MODEL, loss="time", goal="init")


def test_numbered_actions_are_numbers_and_unlabelled_ones_are_counted(tmp_path):
    numbered = MODEL.replace("action go", "action 3").replace("action wait", "action 1")
    assert read(tmp_path, numbered, loss="time", goal="done").support.pair_action.tolist() == [1, 3, 3]
    unnamed = MODEL.replace("action go", "action __NOLABEL__").replace("action wait", "action __NOLABEL__")
    problem = read(tmp_path, unnamed, loss="time", goal="done")
    assert (problem.support.pair_action.tolist(), problem.support.action_names) == ([0, 1, 0], None)


def test_consensus_written_by_storm_has_the_published_value(tmp_path):
    stormpy = pytest.importorskip("stormpy")
    stormpy.io.export_to_drn(storm_example("prism_mdp_coin_2_2"), tmp_path / "coin.drn")
    problem = load(tmp_path / "coin.drn", goal="finished")
    # steps_min of consensus.2 with K = 2 in the Quantitative Verification Benchmark Set
    assert least_losses(problem)[problem.start] * problem.loss_scale == pytest.approx(48.0, abs=1e-9)


def test_the_die_written_by_storm_takes_eleven_thirds_flips(tmp_path):
    stormpy = pytest.importorskip("stormpy")
    stormpy.io.export_to_drn(storm_example("prism_dtmc_die"), tmp_path / "die.drn")
    problem = load(tmp_path / "die.drn", goal="done")
    assert least_losses(problem)[problem.start] == pytest.approx(11 / 3, abs=1e-9)  # Knuth and Yao


def test_storm_rounds_to_ten_digits_and_is_exact_when_asked(tmp_path):
    stormpy = pytest.importorskip("stormpy")
    model, options = storm_example("prism_mdp_maze"), stormpy.io.DirectEncodingExporterOptions()
    options.output_precision = 17
    stormpy.io.export_to_drn(model, tmp_path / "short.drn")
    stormpy.io.export_to_drn(model, tmp_path / "long.drn", options=options)
    short, long = load(tmp_path / "short.drn", goal="goal"), load(tmp_path / "long.drn", goal="goal")
    assert long.probabilities[:13].tolist() == [1 / 13] * 13
    assert short.probabilities[:13] == pytest.approx([1 / 13] * 13, abs=1e-15)  # each row divided by its sum


def test_storm_reads_what_is_written_and_finds_the_same_value(tmp_path):
    stormpy = pytest.importorskip("stormpy")
    rng = np.random.default_rng(1)
    dense = SSP.dense(rng.random((6, 3)), rng.dirichlet(np.ones(7), (6, 3)), start=2, action_names=["a b", "[c]", ""])
    problem = SSP(dense.support, dense.losses, dense.probabilities, 2, 10.0)
    write_drn(problem, tmp_path / "ours.drn")
    model = stormpy.build_model_from_drn(tmp_path / "ours.drn")
    value = storm_value(model, 'R{"loss"}min=? [F "goal"]')
    assert value == pytest.approx(10.0 * least_losses(problem)[2], rel=1e-5)  # Storm stops at 1e-6
