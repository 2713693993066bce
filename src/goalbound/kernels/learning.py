"""The moves of LR-CSSP (Algorithm 1) and of its kin: look at a context, plan, learn from a step.

Learners by ridge regression differ in how a pair looks to them (their *attitude*) and in when they plan anew; all else
is written once.

The learner that people drive step by step and the loop that plays whole runs call these same functions. "Line n" is
line n of Algorithm 1 as printed, every ``end`` counted: 22 is the regression, 23 the projection, 25 the new plan.
"""

from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.kernels.gram import Memory, quadratic, record, ridge
from goalbound.kernels.jit import inlined, lean
from goalbound.kernels.optimism import (
    FALL,
    RESIDUAL,
    Outlook,
    Plausible,
    improve_state,
    largest_value,
    settle,
    settle_by_policies,
    shortfall,
)
from goalbound.kernels.projection import project
from goalbound.kernels.world import any_pair

HOPE, PLAIN, SAMPLE, RMAX = 0, 1, 2, 3
"""Attitudes. HOPE: the most hopeful model of the confidence sets (LR-CSSP). PLAIN: the estimate as it is. SAMPLE: a
draw from the Gaussian posterior around it. RMAX: the estimate where it is known, else straight to the goal."""

LOSS_BOUND, INTERVAL_LOSS = 0, 1
"""Places in :attr:`View.gauge`."""

INTERVAL, PLANNED, INTERVALS, UNKNOWN_STEPS, READ, EPISODE = 0, 1, 2, 3, 4, 5
"""Places in :attr:`View.tally`."""

OPENED, FAILED_PROJECTIONS, DOUBLINGS, WRITTEN, BEGUN = 0, 1, 2, 3, 4
"""Places in :attr:`Learned.tally`."""

JOURNAL = 64
"""How many changes a view may have missed before it looks at all pairs again."""


class Rules(NamedTuple):
    """The constants of a run."""

    pair_state: NDArray[np.int32]
    """[N]"""
    pair_start: NDArray[np.int64]
    """[S + 1]"""
    next_start: NDArray[np.int64]
    """[N + 1]"""
    next_state: NDArray[np.int32]
    """[M]"""
    next_factor: NDArray[np.float64]
    """[N] radius of the rows = factor * rho"""
    doubt_factor: NDArray[np.float64]
    """[N] beta = factor * rho"""
    loss_factor: float
    loss_log: float
    """log(8 N / delta)"""
    next_log: float
    """log(8 M' / delta), M' triples that do not lead to the goal"""
    regularization: float
    delta: float
    loss_floor: float
    """l_min of the problem that is planned in: what was added to the losses included"""
    added_loss: float
    """the corollary's epsilon, or 0"""
    tolerance: float
    """how much a value may change in the last sweep"""
    doubling: bool
    forget: bool
    attitude: int
    growth: float
    """an unknown step ends its interval if the log-determinant of its Gram matrix has grown by this since the plan"""
    spread: float
    """SAMPLE: the standard deviation of a coefficient is this in the norm of the Gram matrix"""
    threshold: float
    """RMAX: a pair is known where the sum of |V^-1 c| is at most this"""
    explore: float
    """share of steps, in the first episode, that play any pair"""
    fade: float
    """in episode k it is explore * k^-fade"""


class Learned(NamedTuple):
    """All of a learner that changes. Estimates are by slot, like the sums."""

    memory: Memory
    losses: NDArray[np.float64]
    """[N, d] ridge coefficients"""
    rows: NDArray[np.float64]
    """[M, d] projected coefficients"""
    loss_radius: NDArray[np.float64]
    """[N]"""
    next_radius: NDArray[np.float64]
    """[N]"""
    doubt: NDArray[np.float64]
    """[N] beta of the known test"""
    changes: NDArray[np.int64]
    """[N] how often the estimate of a pair has changed"""
    volume: NDArray[np.float64]
    """[N] log-determinant of the Gram matrix, less that without data"""
    values: NDArray[np.float64]
    """[S + 1] of the plan that was followed last: where the next context starts from"""
    policy: NDArray[np.int64]
    """[S] of that plan: the pair of each state"""
    bound: NDArray[np.float64]
    """[1] B, the loss bound"""
    tally: NDArray[np.int64]
    """[5] intervals opened, projections that failed, doublings, entries of the journal written, episodes begun"""
    journal: NDArray[np.int64]
    """[JOURNAL] the pairs whose estimates changed last, in a ring"""


class View(NamedTuple):
    """How one context looks to the learner: what an episode holds."""

    context: NDArray[np.float64]
    """[d]"""
    plausible: Plausible
    outlook: Outlook
    norm: NDArray[np.float64]
    """[N] the norm of the context in the pair's inverse Gram matrix"""
    doubt: NDArray[np.float64]
    """[N] beta * norm"""
    version: NDArray[np.int64]
    """[N] ``changes`` of a pair when it was looked at, or -1"""
    volume: NDArray[np.float64]
    """[N] ``volume`` of a pair when it was looked at"""
    noise: NDArray[np.float64]
    """[M + N] SAMPLE: standard normal numbers, by triple of the support and then by pair; else empty"""
    gauge: NDArray[np.float64]
    """[2] the loss bound of the plan, the loss of the interval so far"""
    tally: NDArray[np.int64]
    """[6] the number m of the interval, whether a plan is held, intervals and unknown steps of this episode, entries of
    the journal read, the number of the episode from 1 on"""


@inlined
def set_radii(rules, learned, pair, size):
    """The radii of a pair whose data has changed.

    eq. (loss-conf-set), eq. (dynamics-conf-set) and the beta of eq. (ineq-known).
    Reads the paper as: 1 + tau / lambda in all three.
    """
    grown = log(1.0 + learned.memory.visits[pair] / rules.regularization)
    root = sqrt(rules.regularization)
    rho = sqrt(size * (rules.next_log + grown)) + root
    learned.loss_radius[pair] = rules.loss_factor * (sqrt(size * (rules.loss_log + grown)) + root)
    learned.next_radius[pair] = rules.next_factor[pair] * rho
    learned.doubt[pair] = rules.doubt_factor[pair] * rho
    learned.changes[pair] += 1


@inlined
def learn(rules, learned, desk, pair, place, loss, context):
    """Enter a step and bring the estimate of its pair up to date (lines 10 to 12, 22 and 23).

    Only this pair's estimate can have changed. O(count d^2) for the ``count`` next states that were seen.
    """
    memory = learned.memory
    size = len(context)
    goal = len(rules.pair_start) - 1
    learned.volume[pair] += log(1.0 + quadratic(memory.inverse[pair], context))
    record(memory, rules.next_start, rules.next_state, goal, pair, place, loss, context, desk.vector)
    first = rules.next_start[pair]
    count = memory.seen[pair]
    inverse = memory.inverse[pair]
    ridge(memory.loss_sums[pair : pair + 1], inverse, 1, learned.losses[pair : pair + 1])
    ridge(memory.next_sums[first : first + count], inverse, count, desk.target)
    if project(memory.gram[pair], inverse, count, desk, learned.rows[first : first + count]) < 0:
        learned.tally[FAILED_PROJECTIONS] += 1
    set_radii(rules, learned, pair, size)
    learned.journal[learned.tally[WRITTEN] % JOURNAL] = pair
    learned.tally[WRITTEN] += 1


@inlined
def mix_row(rules, learned, view, pair):
    """The estimated row of a pair under the context of the view, by slot. O(count d)."""
    plausible = view.plausible
    first = rules.next_start[pair]
    count = learned.memory.seen[pair]
    mass = 0.0
    for k in range(first, first + count):
        q = 0.0
        for j in range(len(view.context)):
            q += learned.rows[k, j] * view.context[j]
        plausible.centre[k] = q
        plausible.state[k] = learned.memory.slot_state[k]
        mass += q * q
    plausible.used[pair] = count
    plausible.mass[pair] = mass


@lean
def sample_row(rules, learned, view, pair, deviation):
    """A draw of the row of a pair: the estimate plus noise, projected on the sub-simplex. O(m d) for m next states.

    Next states that were never seen may get mass too, so all of the support is in use.
    """
    plausible = view.plausible
    goal = len(rules.pair_start) - 1
    first = rules.next_start[pair]
    count = 0
    for place in range(first, rules.next_start[pair + 1]):
        if rules.next_state[place] == goal:
            continue
        q = deviation * view.noise[place]
        slot = learned.memory.slot[place]
        if slot >= 0:
            for j in range(len(view.context)):
                q += learned.rows[first + slot, j] * view.context[j]
        plausible.centre[first + count] = q
        plausible.state[first + count] = rules.next_state[place]
        count += 1
    to_sub_simplex(plausible.centre[first : first + count])
    mass = 0.0
    for k in range(first, first + count):
        mass += plausible.centre[k] * plausible.centre[k]
    plausible.used[pair] = count
    plausible.mass[pair] = mass


@lean
def to_sub_simplex(row):
    """The nearest row, in the Euclidean norm, of numbers that are not negative and sum to at most 1; in place.

    It is max(0, q - t): t = 0 if that sums to at most 1, else the t that makes it 1, which rises to its place in
    finitely many steps from below.
    """
    t = 0.0
    while True:
        total = 0.0
        count = 0
        for k in range(len(row)):
            if row[k] > t:
                total += row[k]
                count += 1
        following = (total - 1.0) / count if count > 0 else 0.0
        if following <= t:
            break
        t = following
    for k in range(len(row)):
        row[k] = max(row[k] - t, 0.0)


@inlined
def weight_of(inverse, context):
    """The sum of |V^-1 c|."""
    total = 0.0
    for r in range(len(context)):
        part = 0.0
        for c in range(len(context)):
            part += inverse[r, c] * context[c]
        total += abs(part)
    return total


@inlined
def look_at(rules, learned, view, pair):
    """The plausible losses and rows of a pair under the context of the view. O(count d + d^2)."""
    plausible = view.plausible
    size = len(view.context)
    norm = sqrt(quadratic(learned.memory.inverse[pair], view.context))
    loss = 0.0
    for j in range(size):
        loss += learned.losses[pair, j] * view.context[j]
    if rules.attitude == HOPE:
        loss -= learned.loss_radius[pair] * norm
    elif rules.attitude == SAMPLE:
        loss += rules.spread * norm * view.noise[len(rules.next_state) + pair]
    # The true loss lies in [loss floor, 1], so clipping keeps the guarantee. Departs from the paper: it does not clip.
    plausible.losses[pair] = max(rules.loss_floor, min(1.0, loss) + rules.added_loss)
    radius = learned.next_radius[pair] * norm if rules.attitude == HOPE else 0.0
    plausible.ball[pair] = radius * radius
    view.norm[pair] = norm
    view.doubt[pair] = learned.doubt[pair] * norm
    view.version[pair] = learned.changes[pair]
    view.volume[pair] = learned.volume[pair]
    view.outlook.backup[pair] = -np.inf
    if rules.attitude == SAMPLE:
        sample_row(rules, learned, view, pair, rules.spread * norm)
        return
    mix_row(rules, learned, view, pair)
    if rules.attitude == RMAX:
        view.doubt[pair] = weight_of(learned.memory.inverse[pair], view.context)
        if view.doubt[pair] > rules.threshold:
            plausible.used[pair] = 0
            plausible.mass[pair] = 0.0
            plausible.losses[pair] = rules.loss_floor


@inlined
def open_interval(learned, view):
    """A new interval: it has a number and no plan yet."""
    learned.tally[OPENED] += 1
    view.tally[INTERVAL] = learned.tally[OPENED]
    view.tally[INTERVALS] += 1
    view.tally[PLANNED] = 0
    view.gauge[INTERVAL_LOSS] = 0.0


@inlined
def begin(learned, view, context):
    """An episode begins with this context: nothing is known of it, planning starts from the plan followed last."""
    for j in range(len(context)):
        view.context[j] = context[j]
    forget_looks(view)
    for pair in range(len(view.version)):
        view.outlook.pull[pair] = 0.0  # what another episode left here must not be seen, not even in the last bit
    for s in range(len(learned.policy)):
        view.outlook.values[s] = learned.values[s]
        view.outlook.policy[s] = learned.policy[s]
    view.outlook.values[len(learned.policy)] = 0.0
    view.outlook.meter[FALL] = 0.0
    for place in range(len(view.tally)):
        view.tally[place] = 0
    learned.tally[BEGUN] += 1
    view.tally[EPISODE] = learned.tally[BEGUN]
    open_interval(learned, view)


@lean
def resample(view, rng):
    """New noise, for a new plan: every pair looks different."""
    for k in range(len(view.noise)):
        view.noise[k] = rng.standard_normal()
    forget_looks(view)


@inlined
def forget_looks(view):
    """Nothing is known of the context: all pairs will be looked at again."""
    for pair in range(len(view.version)):
        view.version[pair] = -1
    view.outlook.meter[RESIDUAL] = np.inf


@inlined
def choose(rules, view, state, rng):
    """The pair to play: that of the plan, or now and then any."""
    pair = view.outlook.policy[state]
    if rules.explore > 0.0 and rng.random() < rules.explore * view.tally[EPISODE] ** -rules.fade:
        return any_pair(rules.pair_start, state, rng.random())
    return pair


@inlined
def refresh(rules, learned, view):
    """Look again at the pairs that changed since: O(1) of them if the view has missed little, else all are checked."""
    outlook = view.outlook
    written = learned.tally[WRITTEN]
    read = view.tally[READ]
    view.tally[READ] = written
    if outlook.meter[RESIDUAL] == np.inf or written - read > JOURNAL:
        for pair in range(len(view.version)):
            if view.version[pair] != learned.changes[pair]:
                look_at(rules, learned, view, pair)
        outlook.meter[RESIDUAL] = np.inf
        return
    for entry in range(read, written):
        pair = learned.journal[entry % JOURNAL]
        if view.version[pair] != learned.changes[pair]:
            look_at(rules, learned, view, pair)
            # Only the backup of this state changed; the residuals of the others grow by no more than its change.
            change = improve_state(view.plausible, outlook, rules.pair_state[pair], outlook.meter[FALL])
            outlook.meter[RESIDUAL] += abs(change)
            outlook.meter[FALL] -= min(change, 0.0)


@inlined
def plan(rules, learned, view, bench, sweeps):
    """A new plan for the context of the view (line 25). Returns whether value iteration came to its end.

    Only pairs visited since the last plan are looked at again, and states are swept only if the residual asks for it.
    ``bench`` may be empty; with room in it, policies are evaluated too.
    """
    refresh(rules, learned, view)
    if not view.outlook.meter[RESIDUAL] <= rules.tolerance:
        if len(bench.leaving) > 0:
            settle_by_policies(view.plausible, view.outlook, 0.5 * rules.tolerance, sweeps, bench)
        else:
            settle(view.plausible, view.outlook, 0.5 * rules.tolerance, sweeps)
    view.tally[PLANNED] = 1
    view.gauge[LOSS_BOUND] = learned.bound[0]
    return view.outlook.meter[RESIDUAL] <= rules.tolerance


@inlined
def hoped_value(rules, view):
    """The largest optimistic value of the plan, as a lower bound of the exact one."""
    largest = largest_value(view.outlook)
    return largest * (1.0 - shortfall(view.outlook.meter[RESIDUAL], rules.loss_floor, largest))


@lean
def wipe(rules, learned):
    """Forget all data, as at the very beginning; the loss bound and the count of intervals stay."""
    memory = learned.memory
    size = learned.losses.shape[1]
    for pair in range(len(memory.visits)):
        for r in range(size):
            for c in range(size):
                memory.gram[pair, r, c] = rules.regularization if r == c else 0.0
                memory.inverse[pair, r, c] = 1.0 / rules.regularization if r == c else 0.0
            memory.loss_sums[pair, r] = 0.0
            memory.goal_sums[pair, r] = 0.0
            learned.losses[pair, r] = 0.0
        learned.volume[pair] = 0.0
        memory.visits[pair] = 0
        memory.seen[pair] = 0
        set_radii(rules, learned, pair, size)
    learned.tally[WRITTEN] += JOURNAL + 1  # nobody's view is up to date
    for k in range(len(memory.slot)):
        memory.slot[k] = -1
        for j in range(size):
            memory.next_sums[k, j] = 0.0
            learned.rows[k, j] = 0.0


@inlined
def prepare(rules, learned, view, bench, sweeps):
    """A plan under a loss bound that it does not contradict: the first half of the doubling trick. Returns whether
    value iteration came to its end.

    Departs from the paper: the confidence sets do not depend on B, so the data is kept unless ``forget`` asks for it.
    """
    while True:
        ended = plan(rules, learned, view, bench, sweeps)
        if not rules.doubling:
            return ended
        hoped = hoped_value(rules, view)
        if hoped <= view.gauge[LOSS_BOUND]:
            return ended
        while view.gauge[LOSS_BOUND] < hoped:
            view.gauge[LOSS_BOUND] *= 2.0
        if not rules.forget:
            return ended
        learned.bound[0] = view.gauge[LOSS_BOUND]
        learned.tally[DOUBLINGS] += 1
        wipe(rules, learned)
        forget_looks(view)


@inlined
def is_known(rules, view, pair):
    """eq. (ineq-known), with the Gram matrix and the visits at the start of the interval; strict as printed.

    Attitudes without confidence sets know nothing for sure; RMAX has a test of its own.
    """
    if rules.attitude != HOPE:
        return rules.attitude == RMAX and view.doubt[pair] <= rules.threshold
    scale = 10.0 * view.gauge[LOSS_BOUND]
    if scale * view.doubt[pair] >= rules.loss_floor:
        return False
    wide = sqrt(log(4.0 * view.tally[INTERVAL] / rules.delta))
    return scale * wide * view.norm[pair] < rules.loss_floor


@inlined
def observe(rules, learned, view, desk, pair, place, loss):
    """Learn from a step of the episode (lines 10 to 20). Returns whether its interval ended.

    ``rules.growth`` above 0 departs from the paper: an unknown step ends the interval only if the pair has learned
    much since the plan.
    Reads the paper as: an interval ends if the pair just played was *unknown*, or at the goal (the listing says known).
    Departs from the paper: while the bound B is being sought, an interval whose loss exceeds 48 B log(4 m / delta)
    contradicts B, which is doubled; else a B too small could call pairs known that go round for ever.
    """
    known = is_known(rules, view, pair)
    at_goal = rules.next_state[place] == len(rules.pair_start) - 1
    ended = False
    if not known:
        view.tally[UNKNOWN_STEPS] += 1
    view.gauge[INTERVAL_LOSS] += loss + rules.added_loss
    if rules.doubling:
        bound = view.gauge[LOSS_BOUND]
        if bound > learned.bound[0]:
            learned.bound[0] = bound
            learned.tally[DOUBLINGS] += 1
        too_much = view.gauge[INTERVAL_LOSS] > 48.0 * bound  # log(4 m / delta) > 1: most steps need no logarithm
        if too_much and view.gauge[INTERVAL_LOSS] > 48.0 * bound * log(4.0 * view.tally[INTERVAL] / rules.delta):
            ended = True
            if learned.bound[0] <= bound:
                learned.bound[0] = 2.0 * bound
                learned.tally[DOUBLINGS] += 1
                if rules.forget:
                    wipe(rules, learned)
    learn(rules, learned, desk, pair, place, loss, view.context)
    grown = learned.volume[pair] - view.volume[pair] >= rules.growth
    ended = ended or at_goal or (grown and not known)
    for s in range(len(learned.policy)):
        learned.values[s] = view.outlook.values[s]
        learned.policy[s] = view.outlook.policy[s]
    if ended:
        view.tally[PLANNED] = 0
        if not at_goal:
            open_interval(learned, view)
    return ended
