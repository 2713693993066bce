"""goalbound's own files: exact, deterministic, atomic."""

import json
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goalbound.errors import FileFormatError, InputError
from goalbound.models import SSP, LinearCSSP, Support
from goalbound.models.files import load, read_npz, save, write_npz

unit = st.floats(0.0, 1.0)
names_text = st.text(st.characters(exclude_categories=()), min_size=1, max_size=6).filter(lambda name: name != "goal")


@st.composite
def supports(draw, *, names=names_text):
    """Small supports with gaps in actions and next states, and names or none."""
    states, actions = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    some_actions = st.sets(st.integers(0, actions - 1), min_size=1)
    some_states = st.sets(st.integers(0, states), min_size=1)
    pairs = [{action: draw(some_states) for action in draw(some_actions)} for _ in range(states)]
    used = max(max(of_state) for of_state in pairs) + 1
    return Support.from_pairs(
        pairs,
        state_names=draw(st.none() | st.lists(names, min_size=states, max_size=states, unique=True)),
        action_names=draw(st.none() | st.lists(names, min_size=used, max_size=used + 1, unique=True)),
    )


def drawn_rows(draw, support):
    """[M] probabilities, some of them zero."""
    weights = np.array(draw(st.lists(st.integers(0, 9), min_size=support.triples, max_size=support.triples)), float)
    weights[support.next_start[:-1]] += 1.0
    return weights / np.repeat(np.add.reduceat(weights, support.next_start[:-1]), np.diff(support.next_start))


def law(draw, size):
    weights = np.array(draw(st.lists(st.integers(0, 9), min_size=size, max_size=size)), float) + 1.0
    return weights / weights.sum()


@st.composite
def ssps(draw, *, names=names_text, scales=None, uniform=False):
    """Small problems of all shapes; ``uniform`` starts are one state or equally likely states."""
    support = draw(supports(names=names))
    start = draw(st.integers(0, support.states - 1))
    if draw(st.booleans()):
        size = support.states
        start = np.full(size, 1.0 / size) if uniform and size > 1 else start if uniform else law(draw, size)
    return SSP(
        support,
        np.array(draw(st.lists(unit, min_size=support.pairs, max_size=support.pairs))),
        drawn_rows(draw, support),
        start,
        draw(st.floats(1e-6, 1e6) if scales is None else scales),
    )


@st.composite
def linear_cssps(draw):
    support, size = draw(supports()), draw(st.integers(1, 3))
    start = draw(st.integers(0, support.states - 1))
    shape = draw(st.integers(0, 2))
    if shape:
        start = law(draw, support.states) if shape == 1 else np.column_stack([law(draw, support.states)] * size)
    return LinearCSSP(
        support,
        np.array(draw(st.lists(unit, min_size=support.pairs * size, max_size=support.pairs * size))).reshape(-1, size),
        np.column_stack([drawn_rows(draw, support) for _ in range(size)]),
        start,
        tuple(f"component {k}" for k in range(size)) if draw(st.booleans()) else None,
        draw(st.floats(1e-6, 1e6)),
    )


@settings(max_examples=60, deadline=None)
@given(st.one_of(ssps(), linear_cssps()))
def test_reading_gives_back_what_was_written_to_the_bit(tmp_path_factory, problem):
    path = tmp_path_factory.getbasetemp() / "any.npz"
    problem.save(path)
    again = load(path)
    assert type(again) is type(problem)
    assert again == problem
    assert again.losses.tobytes() == problem.losses.tobytes()
    assert again.probabilities.tobytes() == problem.probabilities.tobytes()


def test_a_mixture_of_many_components_keeps_its_bits(tmp_path):
    rng = np.random.default_rng(0)
    parts = [SSP.dense(rng.random((3, 2)), rng.dirichlet(np.ones(4), (3, 2))) for _ in range(40)]
    mixed = LinearCSSP.mix(parts).at(rng.dirichlet(np.ones(40)))
    mixed.save(tmp_path / "mixed.npz")
    assert load(tmp_path / "mixed.npz") == mixed


def small() -> SSP:
    return SSP.dense([[0.5, 0.2]], [[[0.0, 1.0], [0.5, 0.5]]], state_names=["sick"], action_names=["drug A", "drug B"])


def test_the_same_problem_gives_the_same_bytes(tmp_path):
    write_npz(small(), tmp_path / "one.npz")
    write_npz(small(), tmp_path / "two.npz")
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_numpy_itself_opens_the_file(tmp_path):
    small().save(tmp_path / "drug.npz")
    with np.load(tmp_path / "drug.npz", allow_pickle=False) as arrays:
        assert arrays["losses"].tolist() == [0.5, 0.2]
        assert json.loads(arrays["header.json"])["state_names"] == ["sick"]


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "drug.npz"
    small().save(path)
    before = path.read_bytes()

    def broken(*_args, **_options):
        raise OSError("disk full")

    monkeypatch.setattr(np.lib.format, "write_array", broken)
    with pytest.raises(OSError, match="disk full"):
        small().save(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["drug.npz"]


def test_a_contextual_problem_is_not_read_where_a_plain_one_stands(tmp_path):
    small().save(tmp_path / "drug.npz")
    with pytest.raises(InputError, match="without context"):
        LinearCSSP.load(tmp_path / "drug.npz")


def test_a_missing_file_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.npz")


def test_save_goes_by_the_suffix_and_lists_the_known_ones(tmp_path):
    with pytest.raises(InputError, match=r"unknown suffix '.csv'; known are .npz .*, .umb .* and .drn"):
        save(small(), tmp_path / "drug.csv")
    contextual = LinearCSSP.mix([small(), small()])
    for suffix in (".umb", ".drn"):
        with pytest.raises(InputError, match=r"hold no contexts; save as \.npz"):
            save(contextual, tmp_path / f"drug{suffix}")


def test_load_goes_by_the_bytes_and_not_by_the_suffix(tmp_path):
    for suffix in ("npz", "umb", "drn"):
        save(small(), tmp_path / f"drug.{suffix}")
        (tmp_path / f"drug.{suffix}").rename(tmp_path / "model")
        assert load(tmp_path / "model").losses.tolist() == [0.5, 0.2]
    (tmp_path / "model").write_bytes(b"states,actions\n")
    with pytest.raises(FileFormatError, match=r"known are \.npz"):
        load(tmp_path / "model")


def test_loss_and_goal_are_refused_for_a_file_that_holds_one_problem(tmp_path):
    small().save(tmp_path / "drug.npz")
    with pytest.raises(InputError, match="loss= and goal= are for UMB and DRN"):
        load(tmp_path / "drug.npz", goal="goal")


def rewritten(path, change):
    """The file with each member passed through ``change(name, data)``; None drops it."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            if (new := change(name, data)) is not None:
                archive.writestr(name, new)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "version 2; this goalbound reads version 1"),
        ({"format": "other"}, "format is 'other'"),
        ({"kind": "POMDP"}, "kind is 'POMDP'"),
        ({"loss_scale": "1"}, "loss_scale is '1'"),
        ({"loss_scale": 0.0}, "loss_scale 0.0 is not a positive number"),
        ({"start": 1}, "start is the goal"),
        ({"start": True}, "start is True"),
        ({"start": None}, "either a state in the header or a distribution"),
        ({"state_names": ["a", "b"]}, "state_names has 2 names for 1"),
        ({"state_names": [1]}, "sequence of strings"),
        ({"component_names": ["a"]}, "without context has component_names"),
        ({"extra": 1}, "the header has"),
    ],
)
def test_a_wrong_header_is_named(tmp_path, change, message):
    path = tmp_path / "drug.npz"
    small().save(path)

    def changed(name, data):
        return json.dumps(json.loads(data) | change) if name == "header.json" else data

    with pytest.raises(FileFormatError, match=message) as caught:
        read_npz(rewritten(path, changed))
    assert str(path) in str(caught.value)
