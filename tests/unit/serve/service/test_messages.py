"""What programs send."""

import msgspec

from goalbound.serve.service.messages import Problem, StepReport


def test_numbers_and_names_are_both_places():
    found = msgspec.json.decode(b'{"step": 1, "loss": 1, "next_state": "goal", "action": 2}', type=StepReport)
    assert (found.loss, found.next_state, found.action, found.allowed) == (1.0, "goal", 2, None)


def test_a_problem_leaves_out_what_it_does_not_know():
    assert "expected_step" not in msgspec.to_builtins(Problem("t", "Conflict", 409))
