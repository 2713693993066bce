"""From the arrays that a learner plans with to a plan that people read."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from goalbound.kernels.learned import LOSS_BOUND, Rules, View
from goalbound.kernels.optimism import RESIDUAL, Plausible
from goalbound.learners.plan import Plan
from goalbound.models import Support
from goalbound.models.validation import sealed
from goalbound.planning.extended_value_iteration import hopeful_rows, value_bounds


def shown_plan(support: Support, rules: Rules, view: View, known: Callable[[Rules, View, int], bool]) -> Plan:
    """The plan that a view holds, in the order of the support; ``known`` is the test of a pair."""
    plausible = view.plausible if rules.box.on else _in_order(support, view.plausible)
    lower, upper = value_bounds(view.outlook.values, float(view.outlook.meter[RESIDUAL]), rules.loss_floor)
    return Plan(
        support,
        sealed(view.context.copy()),
        sealed(support.pair_action[view.outlook.policy].astype(np.int64)),
        lower,
        upper,
        sealed(view.plausible.losses.copy()),
        hopeful_rows(support, plausible, view.outlook),
        sealed(np.array([bool(known(rules, view, pair)) for pair in range(support.pairs)])),
        float(view.gauge[LOSS_BOUND]),
    )


def _in_order(support: Support, plausible: Plausible) -> Plausible:
    """From slots to the order of the support; 0 where a next state has no slot."""
    width = support.states + 1
    pair = np.repeat(np.arange(support.pairs), np.diff(support.next_start))
    slot = np.arange(support.triples) - support.next_start[pair]
    taken = slot < plausible.used[pair]
    centres = np.zeros(support.triples)
    keys = pair * width + support.next_state
    centres[np.searchsorted(keys, pair[taken] * width + plausible.state[taken])] = plausible.centre[taken]
    return plausible._replace(
        used=np.diff(support.next_start) - (support.next_state[support.next_start[1:] - 1] == support.states),
        state=np.array(support.next_state),
        centre=centres,
    )
