"""Logs in which nothing changes raise no alarm, however small their losses are beside the cap."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.around.monitor import ChangeDetector
from guarantees.quiet_logs import CAPS, QUIET, under_cap

STEPS = 2000


@pytest.mark.parametrize("kind", QUIET)
def test_quiet_logs_raise_no_alarm_at_any_cap(kind: str) -> None:
    # 8,000 steps of each kind, fixed by their seed; a run length of 10,000 would allow for an alarm in half of them or
    # so, and python -m guarantees --only j counts them in 20 times as many.
    problem, steps = QUIET[kind](STEPS, 11)
    for cap in CAPS:
        detector = ChangeDetector(problem.support, problem.context_size)
        raised = detector.enter(under_cap(steps, cap), np.arange(len(steps.pairs)) // 3)
        assert raised == 0, f"cap {cap:g}: {[str(alarm) for alarm in detector.alarms]}"


def test_what_is_forecast_of_a_loss_lies_among_the_losses_that_were_seen() -> None:
    problem, steps = QUIET["incidents, d = 36"](STEPS, 12)
    steps = under_cap(steps, 10.0)
    detector = ChangeDetector(problem.support, problem.context_size)
    detector.enter(steps, np.zeros(len(steps.pairs), dtype=np.int64))
    count, expected, observed = (detector._sums.evidence[..., column].sum() for column in (4, 5, 6))
    of_losses = detector._sums.evidence[detector._sums.part_start[: problem.support.pairs]]
    count, expected = of_losses[..., 4].sum(), of_losses[..., 5].sum()
    assert observed > 0.0
    assert expected / count < steps.losses.max()
