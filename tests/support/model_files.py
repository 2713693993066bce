"""Problems to write to files, files to read, and what Storm makes of them."""

import copy
import io
import json
import tarfile

import numpy as np
import pytest
from hypothesis import strategies as st

from goalbound.models import SSP, LinearCSSP, Support

unit = st.one_of(st.just(0.0), st.floats(1e-290, 1.0))
"""Smaller numbers times a scale are denormal, and lose their last digits."""


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


powers_of_two = st.integers(-20, 20).map(lambda exponent: 2.0**exponent)


DOUBLE = {"type": "double", "size": 64}


BOOL = {"type": "bool", "size": 1}


def least_losses(problem: SSP, sweeps: int = 20_000) -> np.ndarray:
    """[S + 1] plain value iteration from zero, until nothing moves by more than 1e-13."""
    support, values = problem.support, np.zeros(problem.support.states + 1)
    for _ in range(sweeps):
        following = np.add.reduceat(problem.probabilities * values[support.next_state], support.next_start[:-1])
        better = np.append(np.minimum.reduceat(problem.losses + following, support.pair_start[:-1]), 0.0)
        if np.abs(better - values).max() < 1e-13:
            break
        values = better
    return better


def u8(*numbers: int) -> bytes:
    return np.array(numbers, dtype="<u8").tobytes()


def f8(*numbers: float) -> bytes:
    return np.array(numbers, dtype="<f8").tobytes()


def flags(*at: int) -> bytes:
    return sum(1 << one for one in at).to_bytes(8, "little")


def a_model() -> tuple[dict, dict[str, bytes]]:
    """Three states; 1 is the goal, in the middle. State 0: "go" to 1 or 2, "wait" to 0; state 2: "go" to 1.

    Rewards: 1 in state 0, 2 in state 2; "wait" 0.5; the branch 0 -go-> 2 (probability 0.25) 4.
    So "go" in 0 loses 1 + 0.25 * 4 = 2, "wait" 1.5, "go" in 2 loses 2.
    """
    index = {
        "format-version": 1,
        "format-revision": 0,
        "transition-system": {
            "time": "discrete", "#players": 1, "#states": 3, "#initial-states": 1, "#choices": 4, "#branches": 5,
            "#choice-actions": 2, "#branch-actions": 0, "#observations": 0, "branch-probability-type": DOUBLE,
        },
        "annotations": {
            "rewards": {"r": {"alias": "time", "applies-to": ["states", "choices", "branches"], "type": DOUBLE}},
            "aps": {name: {"applies-to": ["states"], "type": BOOL} for name in ("done", "deadlock")},
        },
    }  # fmt: skip
    members = {
        "state-to-choices.bin": u8(0, 2, 3, 4),
        "state-is-initial.bin": flags(0),
        "choice-to-branches.bin": u8(0, 2, 3, 4, 5),
        "branch-to-target.bin": u8(2, 1, 0, 1, 1),
        "branch-to-probability.bin": f8(0.25, 0.75, 1.0, 1.0, 1.0),
        "actions/choices/values.bin": np.array([1, 0, 0, 1], dtype="<u4").tobytes(),
        "actions/choices/string-mapping.bin": u8(0, 4, 6),
        "actions/choices/strings.bin": b"waitgo",
        "annotations/rewards/r/states/values.bin": f8(1.0, 100.0, 2.0),
        "annotations/rewards/r/choices/values.bin": f8(0.0, 0.5, 0.0, 0.0),
        "annotations/rewards/r/branches/values.bin": f8(4.0, 0.0, 0.0, 0.0, 0.0),
        "annotations/aps/done/states/values.bin": flags(1),
        "annotations/aps/deadlock/states/values.bin": flags(),
    }
    return copy.deepcopy(index), members  # tests change it


def archive(index: dict, members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in {"index.json": json.dumps(index).encode(), **members}.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def storm_value(model, formula: str) -> float:
    stormpy = pytest.importorskip("stormpy")
    result = stormpy.model_checking(model, stormpy.parse_properties(formula)[0])
    return result.get_value(model.initial_states[0])


def storm_example(name: str):
    stormpy = pytest.importorskip("stormpy")
    import stormpy.examples.files as files

    options = stormpy.BuilderOptions()
    options.set_build_all_labels()
    options.set_build_all_reward_models()
    options.set_build_choice_labels()
    return stormpy.build_model(stormpy.io.parse_prism_program(getattr(files, name)), options=options)
