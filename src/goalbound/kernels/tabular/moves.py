"""The moves of the context-free learners: begin an episode, plan, learn from a step.

The learner that people drive step by step and the loop that plays whole runs call these same functions.
"""

from goalbound.kernels.jit import inlined, lean
from goalbound.kernels.tabular.layout import (
    BEGUN,
    EB,
    FOLLOWED,
    GOALS,
    GOALS_BEFORE,
    HOEFFDING,
    INTERVALS,
    LIMIT,
    MADE,
    NUMBER,
    PLANS,
    PSRL,
    STALE,
    STEPS,
    TRIGGERS,
    UC,
    ULCVI,
    UNKNOWN_STEPS,
)
from goalbound.kernels.tabular.looks import look_at, record
from goalbound.kernels.tabular.settling import begin_attempt, follow_policy, refresh, replan, wait
from goalbound.kernels.tabular.stages import plan_stages
from goalbound.kernels.tabular.visgo import plan_skewed


@inlined
def begin(learned, walk):
    """An episode begins; it follows no plan yet."""
    for place in range(len(walk.tally)):
        walk.tally[place] = 0
    learned.tally[BEGUN] += 1
    walk.tally[NUMBER] = learned.tally[BEGUN]


@inlined
def is_known(rules, learned, pair):
    """Whether a pair has been played often enough to be trusted (Hoeffding-SSP)."""
    return learned.counts.visits[pair] > rules.known_after[pair]


@inlined
def goes_on(rules, learned, walk, state):
    """Whether the episode takes its next step by the plan that it follows."""
    if walk.tally[FOLLOWED] == 0:
        return False
    if rules.method == UC:
        return walk.tally[MADE] <= walk.tally[LIMIT]
    if rules.method == HOEFFDING:
        return walk.tally[MADE] == 0 or is_known(rules, learned, walk.policy[state])
    if rules.method == ULCVI:
        return walk.tally[MADE] < rules.horizon
    return learned.tally[STALE] == 0 and walk.tally[FOLLOWED] == learned.tally[PLANS]


@inlined
def needs_draws(rules, learned):
    """Whether the next plan is that of a model still to be drawn."""
    return rules.method == PSRL and learned.tally[STALE] != 0


@inlined
def make_plan(rules, learned, sweeps):
    """A plan that all episodes may follow, in the outlook of the learner. Returns whether it came to an end."""
    if rules.method == EB:
        return plan_skewed(rules, learned, sweeps)
    if rules.method == ULCVI:
        refresh(rules, learned, learned.main)
        plan_stages(rules, learned)
        return True
    return replan(rules, learned, learned.main, rules.tolerance, sweeps)


@lean
def prepare(rules, learned, walk, sweeps):
    """Let the episode follow a plan that holds now, made anew if need be. Returns whether planning came to its end."""
    if rules.method == UC:
        if not begin_attempt(rules, learned, walk, sweeps):
            return False
        learned.tally[PLANS] += 1
    else:
        if rules.method == HOEFFDING or learned.tally[STALE] != 0:
            if not make_plan(rules, learned, sweeps):
                return False
            begin_epoch(learned)
        follow_policy(learned.main.outlook, walk)
    walk.tally[FOLLOWED] = learned.tally[PLANS]
    walk.tally[INTERVALS] += 1
    walk.tally[MADE] = 0
    return True


@inlined
def begin_epoch(learned):
    """The plan just made is the one to follow."""
    learned.tally[PLANS] += 1
    learned.tally[STALE] = 0
    learned.tally[GOALS_BEFORE] = learned.tally[GOALS]
    learned.tally[GOALS] = 0


@inlined
def chosen_pair(rules, learned, walk, state):
    """The pair to play."""
    if rules.method == ULCVI:
        return int(learned.room.table[walk.tally[MADE], state])
    return int(walk.policy[state])


@inlined
def has_doubled(learned, pair):
    """Whether a pair has as many visits since the last plan as before it, and at least one."""
    return learned.counts.visits[pair] >= max(1, 2 * learned.looked[pair])


@inlined
def note(rules, learned, pair, arrived):
    """A pair has one more visit: what this changes for the plans to come."""
    tally = learned.tally
    if rules.method == EB:
        n = learned.counts.visits[pair]
        if (n & (n - 1)) == 0:  # 1, 2, 4, 8, ...
            look_at(rules, learned, pair)
            tally[TRIGGERS] += 1
            tally[STALE] = 1
        return
    if rules.method != PSRL:
        wait(learned.main, pair)
    if rules.method == UC:
        wait(learned.unit, pair)
    if has_doubled(learned, pair):
        tally[STALE] = 1
    if arrived:
        tally[GOALS] += 1
        if rules.method == PSRL and tally[GOALS] > tally[GOALS_BEFORE]:
            tally[STALE] = 1


@lean
def observe(rules, learned, walk, pair, place, loss):
    """Learn from a step of the episode. O(1) but for EB-SSP, which looks at the pair now and then."""
    if rules.method == HOEFFDING and not is_known(rules, learned, pair):
        walk.tally[UNKNOWN_STEPS] += 1
    record(rules, learned.counts, pair, place, loss)
    learned.tally[STEPS] += 1
    walk.tally[MADE] += 1
    note(rules, learned, pair, rules.next_state[place] == len(rules.pair_start) - 1)
