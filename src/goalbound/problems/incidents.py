"""Incidents of a service: what to do next depends on the hour and on the traffic; with a runbook and logs of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ArgumentError
from goalbound.models import LinearCSSP
from goalbound.models.amounts import with_cap
from goalbound.models.builder import Builder
from goalbound.models.support import GOAL
from goalbound.models.validation import as_numeric_array, check_generator, check_int_array, check_type
from goalbound.problems.checks import check_entries, check_float, check_int

Floats = NDArray[np.float64]

CAP = 60.0
"""Minutes that are a loss of 1."""
FIRST_HOUR = 3.0
"""Where the knots of the hour begin: when most experts are asleep."""
TRAFFIC = (0.0, 0.5, 1.0)
"""The knots of the traffic, as a share of its peak."""
LARGEST_HOUR = 1e9
"""Beyond it hours are too coarse to have a place on the day."""
RECOVERED = "recovered"
"""What logs call the goal."""
RUNBOOK = {
    "detected": "investigate", "bad release": "roll back", "overloaded": "fail over", "failed node": "fail over",
    "degraded": "restart", "down": "page expert",
}  # fmt: skip
"""What people do in each state, whatever the hour and the traffic."""
BETWEEN_CASES = 90.0
"""Minutes from one incident of a log to the next, on average."""
MAX_STEPS = 100_000


def incident_recovery(hours: int = 4) -> LinearCSSP:
    """An incident is detected, perhaps understood, made better or worse, and at last recovered (the goal).

    The covariates are the hour of the day and the traffic, as a share of its peak. Both act non-linearly: experts are
    asleep around 3 (paging one takes 12 minutes by day and 45 at night), and from about 0.6 of the peak on, services
    that are restarted or failed over do not come up again under the load. Losses are minutes, 60 of which are a loss
    of 1. The curves are those of :func:`incident_curves`.

    The components are pairs of knots, ``hours`` around the day, the first at 3, times three of the traffic (0, 0.5,
    1); at them the curves are exact, between them straight. In this description the problem is linear. The map to
    its contexts is :func:`incident_contexts` or, for learners that are shown covariates,
    ``Tensor([Periodic.even(24, count=hours, start=3), Hats([0, 0.5, 1])], ["hour", "traffic"])``.

    Proper for every context: in every state a page leads to the goal with probability at least 0.45 under every
    mixture. Always to page takes at most 45 + 0.55 * 45 / 0.8 = 75.9 minutes, from the detection, so no optimal loss is
    above 1.27; every step has a loss of at least 5 / 60. Give learners these two numbers: to certify bounds over twelve
    components takes minutes.

    >>> problem = incident_recovery()
    >>> problem, problem.component_names[1]
    (LinearCSSP(12 components, 6 states, 20 pairs, 53 next states), 'hour: at 3, traffic: at 0.5')
    >>> pair = problem.support.pair("down", "page expert")
    >>> 60 * problem.losses[pair, [0, 6]]  # at 3 and at 15
    array([45., 12.])
    """
    hours = check_int(hours, "hours", least=2, most=1024)
    check_entries(53 * hours * len(TRAFFIC), "hours")
    at = [(hour, share) for hour in _hour_knots(hours).tolist() for share in TRAFFIC]
    night, crowd = incident_curves(*np.array(at).T)
    plan = Builder([f"hour: at {hour:.10g}, traffic: at {share:g}" for hour, share in at])
    minutes = _minutes(night)
    for state, actions in _transitions(night, crowd).items():
        for action, chances in actions.items():
            rest = 1.0 - sum(chance for chance in chances.values() if chance is not None)
            to = {name: rest if chance is None else chance for name, chance in chances.items()}
            plan.add(
                state, action, loss=(minutes[action] / CAP).tolist(),
                to={name: np.broadcast_to(chance, night.shape).tolist() for name, chance in to.items()},
            )  # fmt: skip
    return with_cap(plan.linear_cssp(start="detected"), CAP)


def incident_curves(hour: ArrayLike, traffic: ArrayLike) -> tuple[Floats, Floats]:
    """How much it is night at an hour, and how crowded the service is at a share of its peak traffic; both in [0, 1].

    Night is ((1 + cos(2 pi (hour - 3) / 24)) / 2)^2, crowd is 1 / (1 + exp(-(traffic - 0.6) / 0.1)).

    >>> night, crowd = incident_curves([3, 9, 15], [0, 0.6, 1])
    >>> night.round(2), crowd.round(2)
    (array([1.  , 0.25, 0.  ]), array([0.  , 0.5 , 0.98]))
    """
    when, share = _covariates(hour, traffic)
    night = ((1.0 + np.cos(2.0 * np.pi * (when - FIRST_HOUR) / 24.0)) / 2.0) ** 2
    crowd = 1.0 / (1.0 + np.exp(-(share - 0.6) / 0.1))
    return night, crowd


def _minutes(night: Floats) -> dict[str, Floats]:
    """The mean minutes of each action."""
    even = np.ones_like(night)
    return {
        "wait": 10.0 * even, "restart": 5.0 * even, "investigate": 6.0 + 6.0 * night, "roll back": 8.0 * even,
        "fail over": 6.0 * even, "page expert": 12.0 + 33.0 * night,
    }  # fmt: skip


def _transitions(night: Floats, crowd: Floats) -> dict[str, dict[str, dict[str, Any]]]:
    """The chances of next states of every pair; None has what the others leave."""
    found = 0.85 - 0.15 * night
    overload = 0.15 + 0.55 * crowd
    release = (1.0 - overload) * (0.7 - 0.45 * night)
    return {
        "detected": {
            "restart": {GOAL: 0.15 - 0.1 * crowd, "down": 0.1 + 0.4 * crowd, "degraded": None},
            "investigate": {
                "bad release": found * release, "overloaded": found * overload,
                "failed node": found * (1.0 - overload - release), "detected": None,
            },
            "page expert": {GOAL: 0.45, "degraded": None},
        },
        "bad release": {
            "restart": {GOAL: 0.1, "degraded": 0.2, "bad release": None},
            "roll back": {GOAL: 0.85 - 0.15 * crowd, "degraded": None},
            "page expert": {GOAL: 0.9, "bad release": None},
        },
        "overloaded": {
            "wait": {GOAL: 0.03 + 0.6 * (1.0 - crowd), "down": 0.25 * crowd, "overloaded": None},
            "restart": {GOAL: 0.65 * (1.0 - crowd), "down": 0.05 + 0.5 * crowd, "overloaded": None},
            "fail over": {GOAL: 0.75 - 0.5 * crowd, "down": 0.05 + 0.35 * crowd, "overloaded": None},
            "page expert": {GOAL: 0.8, "overloaded": None},
        },
        "failed node": {
            "restart": {GOAL: 0.2, "failed node": None},
            "fail over": {GOAL: 0.85 - 0.55 * crowd, "down": 0.35 * crowd, "degraded": None},
            "page expert": {GOAL: 0.85, "failed node": None},
        },
        "degraded": {
            "wait": {GOAL: 0.15 * (1.0 - crowd), "down": 0.02 + 0.1 * crowd, "degraded": None},
            "restart": {GOAL: 0.3 - 0.25 * crowd, "down": 0.05 + 0.25 * crowd, "degraded": None},
            "fail over": {GOAL: 0.35 - 0.3 * crowd, "down": 0.05 + 0.35 * crowd, "degraded": None},
            "page expert": {GOAL: 0.8, "degraded": None},
        },
        "down": {
            "restart": {"degraded": 0.5 - 0.3 * crowd, "down": None},
            "fail over": {GOAL: 0.1, "degraded": 0.6 - 0.35 * crowd, "down": None},
            "page expert": {GOAL: 0.7, "degraded": 0.2, "down": None},
        },
    }  # fmt: skip


def _hour_knots(hours: int) -> Floats:
    return FIRST_HOUR + 24.0 * np.arange(hours) / hours


def incident_contexts(problem: LinearCSSP, hour: ArrayLike, traffic: ArrayLike) -> Floats:
    """[..., d] the contexts of hours (any number; 24 is 0 again) and traffic in [0, 1].

    >>> incident_contexts(incident_recovery(2), 3, 0.25)  # knots at 3 and 15, times 0, 0.5 and 1
    array([0.5, 0.5, 0. , 0. , 0. , 0. ])
    """
    hours = _hours_of(problem)
    when, share = _covariates(hour, traffic)
    return np.asarray(
        (_hour_weights(when, hours)[..., :, None] * _traffic_weights(share)[..., None, :]).reshape(
            *when.shape, problem.context_size
        )
    )


def _covariates(hour: ArrayLike, traffic: ArrayLike) -> tuple[Floats, Floats]:
    """Both as arrays of one shape, checked."""
    when, share = _numbers(hour, "hour"), _numbers(traffic, "traffic")
    if not (np.abs(when) <= LARGEST_HOUR).all():
        raise ArgumentError(f"an hour is not from -{LARGEST_HOUR:g} to {LARGEST_HOUR:g}; hours are finite numbers")
    if not ((share >= 0.0) & (share <= 1.0)).all():
        raise ArgumentError("a traffic is not in [0, 1]; it is a share of its peak")
    try:
        when, share = np.broadcast_arrays(when, share)
    except ValueError:
        raise ArgumentError(
            f"hour has shape {when.shape} and traffic {share.shape}; give one traffic per hour"
        ) from None
    return when, share


def _numbers(values: ArrayLike, name: str) -> Floats:
    try:
        return as_numeric_array(values, name, "numbers").astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f"{name} is not an array of numbers ({error!s:.200}); it needs numbers") from None


def _hour_weights(hour: Floats, hours: int) -> Floats:
    place = ((hour - FIRST_HOUR) / 24.0 * hours) % hours
    below = np.floor(place).astype(np.int64) % hours
    part = place - np.floor(place)
    return np.asarray(
        np.eye(hours)[below] * (1.0 - part)[..., None] + np.eye(hours)[(below + 1) % hours] * part[..., None]
    )


def _traffic_weights(traffic: Floats) -> Floats:
    return np.stack([np.interp(traffic, TRAFFIC, row) for row in np.eye(len(TRAFFIC))], axis=-1)


def runbook(problem: LinearCSSP) -> NDArray[np.int32]:
    """[S] what people do in each state: investigate, then roll back or fail over, restart what is degraded, and page
    an expert when all is down.

    >>> problem = incident_recovery()
    >>> [problem.support.action_names[action] for action in runbook(problem)][:2]
    ['investigate', 'roll back']
    """
    _hours_of(problem)
    support = problem.support
    return np.array([support.action(RUNBOOK[name]) for name in support.state_names or ()], dtype=np.int32)


def incident_log(
    problem: LinearCSSP,
    cases: int,
    rng: np.random.Generator,
    *,
    deviation: float = 0.3,
    policy: ArrayLike | None = None,
    spread: float = 0.5,
) -> dict[str, list[Any]]:
    """A log of incidents, as columns; one row for each step, in the order of time.

    Args:
        problem: of :func:`incident_recovery`.
        cases: how many; they come at any time, and several may be open at once.
        rng: where all that is random comes from.
        deviation: how often people do anything else: any action of the state, all equally likely.
        policy: [S] the action of each state where they do not; :func:`runbook` if left out.
        spread: minutes are uniform on mean +- spread * min(mean, 60 - mean); 0: always the mean.

    Returns the columns case, time (minutes since the log began), hour (of the detection, for all steps of a case),
    traffic, state, action, minutes, next_state ("recovered" is the goal) and probability (of this action).

    >>> log = incident_log(incident_recovery(), 2, np.random.default_rng(0))
    >>> log["case"][:3], log["state"][0], log["action"][0], log["next_state"][-1]
    (['case 0', 'case 0', 'case 1'], 'detected', 'investigate', 'recovered')
    """
    cases = check_int(cases, "cases", least=1)
    rng = check_generator(rng)
    deviation = check_float(deviation, "deviation", least=0.0, most=1.0)
    spread = check_float(spread, "spread", least=0.0, most=1.0)
    usual = runbook(problem) if policy is None else _checked_policy(problem, policy)
    begins = np.cumsum(rng.exponential(BETWEEN_CASES, cases))
    hour = begins / 60.0 % 24.0
    traffic = np.clip(0.5 - 0.35 * np.cos(2.0 * np.pi * (hour - 4.0) / 24.0) + rng.normal(0.0, 0.12, cases), 0.0, 1.0)
    hour, traffic = hour.round(2), traffic.round(3)  # as people would write them down
    steps = _play(problem, incident_contexts(problem, hour, traffic), usual, rng, deviation, spread)
    time = begins[steps["case"]] + steps["elapsed"]
    order = np.lexsort((steps["number"], steps["case"], time))
    case = steps["case"][order]
    states = np.array([*(problem.support.state_names or ()), RECOVERED], dtype=object)
    actions = np.array(problem.support.action_names, dtype=object)
    return {
        "case": [f"case {number}" for number in case.tolist()],
        "time": time[order].round(3).tolist(),
        "hour": hour[case].tolist(),
        "traffic": traffic[case].tolist(),
        "state": states[steps["state"][order]].tolist(),
        "action": actions[steps["action"][order]].tolist(),
        "minutes": (CAP * steps["loss"][order]).round(3).tolist(),
        "next_state": states[steps["next_state"][order]].tolist(),
        "probability": steps["probability"][order].tolist(),
    }


def _play(
    problem: LinearCSSP, contexts: Floats, usual: NDArray[np.int32], rng: np.random.Generator, deviation: float,
    spread: float,
) -> dict[str, NDArray[Any]]:  # fmt: skip
    """The steps of all cases, played side by side until the last is at the goal; columns by name."""
    support = problem.support
    dense = np.zeros((support.pairs, support.states + 1, problem.context_size))
    dense[np.repeat(np.arange(support.pairs), np.diff(support.next_start)), support.next_state] = problem.probabilities
    choices = np.diff(support.pair_start)
    usual_pair = np.array([support.pair(state, int(action)) for state, action in enumerate(usual)])
    case = np.arange(len(contexts))
    state = np.full(len(contexts), problem.start)
    elapsed = np.zeros(len(contexts))
    parts: list[dict[str, NDArray[Any]]] = []
    while len(case):
        if len(parts) >= MAX_STEPS:
            raise ArgumentError("a case does not reach the goal; give a policy that does, or a deviation above 0")
        deviates, any_choice, chance, noise = rng.random((4, len(case)))
        any_pair = support.pair_start[state] + (any_choice * choices[state]).astype(np.int64)
        pair = np.where(deviates < deviation, any_pair, usual_pair[state])
        rows = np.einsum("ksd,kd->ks", dense[pair], contexts[case])
        following = np.minimum((chance[:, None] >= rows.cumsum(axis=1)).sum(axis=1), support.states)
        mean = np.einsum("kd,kd->k", problem.losses[pair], contexts[case])
        loss = mean + spread * np.minimum(mean, 1.0 - mean) * (2.0 * noise - 1.0)
        probability = deviation / choices[state] + (1.0 - deviation) * (pair == usual_pair[state])
        parts.append({
            "case": case, "number": np.full(len(case), len(parts)), "elapsed": elapsed[case].copy(), "state": state,
            "action": support.pair_action[pair], "loss": loss, "next_state": following, "probability": probability,
        })  # fmt: skip
        elapsed[case] += CAP * loss
        going = following < support.states
        case, state = case[going], following[going]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _checked_policy(problem: LinearCSSP, policy: ArrayLike) -> NDArray[np.int32]:
    _hours_of(problem)
    actions = check_int_array(policy, "policy", np.int32)
    if len(actions) != problem.support.states:
        raise ArgumentError(f"policy has {len(actions)} actions; it needs one for each of {problem.support.states}")
    return actions


def _hours_of(problem: LinearCSSP) -> int:
    """The number of knots around the day; an error for problems of other families."""
    check_type(problem, LinearCSSP, "problem", "give incident_recovery()")
    hours, odd = divmod(problem.context_size, len(TRAFFIC))
    if odd or hours < 2 or problem.support.state_names != tuple(RUNBOOK):
        raise ArgumentError("this is no problem of incidents; give incident_recovery()")
    return hours
