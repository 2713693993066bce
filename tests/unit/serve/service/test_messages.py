"""What programs send."""

import msgspec
import pytest

from goalbound.serve.service.messages import Batch, Begin, Problem, StepReport


def test_numbers_and_names_are_both_places():
    found = msgspec.json.decode(b'{"step": 1, "loss": 1, "next_state": "goal", "action": 2}', type=StepReport)
    assert (found.loss, found.next_state, found.action, found.allowed) == (1.0, "goal", 2, None)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (StepReport, b'{"step": 1.5, "next_state": 0}'),
        (StepReport, b'{"step": "1", "next_state": 0}'),
        (StepReport, b'{"step": 1, "next_state": true}'),
        (StepReport, b'{"step": 1, "next_state": -1}'),
        (Begin, b'{"context": [], "state": 0, "id": "a b"}'),
        (Batch, b'{"steps": []}'),
    ],
)
def test_what_is_of_another_type_is_refused(kind, text):
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=kind)


def test_a_problem_leaves_out_what_it_does_not_know():
    assert "expected_step" not in msgspec.to_builtins(Problem("t", "Conflict", 409))
