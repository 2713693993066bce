"""The context-free learners of the literature: what each does, its guarantee, its source, and where we depart from it.

Notation: S states, N pairs, M triples, A actions; of a pair: n visits (n1 = max(n, 1)), m1 its possible next states
other than the goal (at least 1), p^ and l^ the means of what was seen; f the loss floor, e the added loss; N(s)
pairs of a state. Without a visit p^ is 0, and all mass is free to go to the goal. With full supports the formulas are
those of the papers. ``scale`` multiplies every radius or bonus, 1 is the paper's; other scales promise nothing.

The arguments that all share are those of :class:`TabularLearner`.

Three of the papers know the losses. Where they are not given, UC-SSP, Hoeffding-SSP and Bernstein-SSP plan with
l~ = max(f + e, min(1, l^ - scale sqrt(ln(4 N n^2 / delta) / (2 n))) + e), or f + e where n = 0, which is below the true
loss in all visits together with probability 1 - delta (Hoeffding; the sum of 1 / n^2 is below 2).
"""

from __future__ import annotations

import numpy as np

from goalbound.baselines.learner import TabularLearner
from goalbound.baselines.settings import Method, TabularOptions
from goalbound.models import Support


def uc_ssp(
    support: Support, *, loss_floor: float, scale: float = 1.0, options: TabularOptions | None = None
) -> TabularLearner:
    """UC-SSP: optimism in L1 balls, and attempts that are given up when they take too long.

    Episode k = 1, 2, ... is a sequence of attempts j = 0, 1, ... An attempt plans with the losses l~ (j = 0) or with 1
    everywhere (j >= 1) in the most optimistic model of |p~ - p^|_1 <= scale sqrt(8 m1 ln(2 A n1 / delta) / n1), by
    extended value iteration to precision (f + e) / (2 t) or 1 / (2 t), t = 1 + steps made so far. It is followed to the
    goal, or until more than H steps were made, H = min{h > 1: |Q^(h - 1)|_inf <= gamma}, Q the optimistic kernel of
    the policy on the states, gamma = 1 / sqrt(k) (j = 0) or 1 / sqrt(attempts with j >= 1 so far, this one included).

    Source: Tarbouriech, Garcelon, Valko, Pirotta, Lazaric: No-Regret Exploration in Goal-Oriented Reinforcement
    Learning, ICML 2020, Algorithms 1 and 2.

    Guarantee (scale 1, losses known, positive): regret O~(D S sqrt(D A K / f)) with probability 1 - delta, D the
    largest expected time to the goal of the fastest policy.

    Departs from the paper: S of the radius is m1; losses are learned; value iteration starts from the last values of
    the same kind of plan, not from 0, and asks for no more than rounding allows (1e-12 of the largest value).

    Cost: one plan per attempt, O(M) per sweep and O(the S rows of the policy) per power of Q; a step O(1).
    """
    return TabularLearner(support, Method("uc-ssp", scale), loss_floor=loss_floor, options=options)


def hoeffding_ssp(
    support: Support, *, loss_floor: float, loss_bound: float, scale: float = 1.0, options: TabularOptions | None = None
) -> TabularLearner:
    """Hoeffding-SSP: optimism in L1 balls, a new plan whenever a pair is met that is not known.

    Plans with the losses l~ in the most optimistic model of |p~ - p^|_1 <= 5 scale sqrt(m1 ln(N n1 / delta) / n1). A
    pair is known if n > scale^2 (5000 B^2 m1 / (f + e)^2) ln(1000 B N / (delta (f + e))). A plan is made at the start
    of an episode, and before a step (not the first of a plan) whose pair is not known.

    Source: Rosenberg, Cohen, Mansour, Kaplan: Near-optimal Regret Bounds for Stochastic Shortest Path, ICML 2020,
    Algorithm 1. LR-CSSP is its contextual heir.

    Guarantee (scale 1, losses known, loss_bound true): regret O~(sqrt(B^3 S^2 A K / f) + B^3 S^2 A / f^2) with
    probability 1 - delta.

    Departs from the paper: S of radius and threshold is m1, S A is N; losses are learned; value iteration is to a
    tolerance, from the last values.

    Cost: a plan nearly every step, O(the rows of the states visited since) and O(M) for a sweep when the residual asks
    for one; a step O(S) to copy the plan.
    """
    method = Method("hoeffding-ssp", scale, loss_bound=loss_bound)
    return TabularLearner(support, method, loss_floor=loss_floor, options=options)


def bernstein_ssp(
    support: Support, *, loss_floor: float, scale: float = 1.0, options: TabularOptions | None = None
) -> TabularLearner:
    """Bernstein-SSP: optimism next state by next state, in epochs.

    With a = ln(N n1 / delta) / n1 the most optimistic row has max(0, p^ - scale (28 a + 4 sqrt(p^ a))) for every next
    state but the goal, which gets the rest; losses l~. An epoch, with its plan, ends when the visits of a pair in it
    reach max(1, those before it); episodes do not end epochs.

    Source: Rosenberg, Cohen, Mansour, Kaplan: Near-optimal Regret Bounds for Stochastic Shortest Path, ICML 2020,
    Algorithm 2.

    Guarantee (scale 1, losses known, positive): regret O~(B S sqrt(A K) + sqrt(B^3 S^4 A^2 / f)) with probability
    1 - delta; B need not be known.

    Departs from the paper: S A is N; losses are learned; value iteration is to a tolerance, from the last values.

    Cost: at most about N log2(steps) plans, each O(M) per sweep; a step O(1).
    """
    return TabularLearner(support, Method("bernstein-ssp", scale), loss_floor=loss_floor, options=options)


def eb_ssp(
    support: Support,
    *,
    loss_floor: float,
    loss_bound: float | None = None,
    scale: float = 1.0,
    options: TabularOptions | None = None,
) -> TabularLearner:
    """EB-SSP: a model skewed towards the goal and a bonus taken off the losses (VISGO). Losses may be 0.

    The data (n, p^, l^) of a pair is renewed when its visits reach 1, 2, 4, 8, ...; each time j += 1 and a plan is
    made: v <- min over pairs of Q from v = 0 until no value changes by more than max(2^-j / N, 1e-9 B), with
    iota = ln(12 N (m1 + 1) n^2 / delta), P~ v = n / (n + 1) p^ v, Var = P~ v^2 - (P~ v)^2,
    b = scale [max{6 sqrt(Var iota / n), 36 B iota / n} + 2 sqrt(2) sqrt(l^ iota / n)
    + 2 sqrt(2) B sqrt((m1 + 1) iota) / n] and Q = max(0, l^ + e + P~ v - b), Q = 0 where n = 0. Ties go to the pair
    with the fewest visits, then to the lowest. Without ``loss_bound``, B starts at 1 and doubles while a plan has a
    larger value, which is then made again.

    Source: Tarbouriech, Zhou, Du, Pirotta, Valko, Lazaric: Stochastic Shortest Path: Minimax, Parameter-Free and
    Towards Horizon-Free Regret, NeurIPS 2021, Algorithm 1.

    Guarantee (scale 1, B true or found): regret O~(B sqrt(S A K) + B S^2 A) for B >= 1, with probability 1 - delta,
    where losses are positive; with zero losses an ``added_loss`` is needed, or an order of K for the times.

    Departs from the paper: S + 1 is m1 + 1, S A is N; the means of the losses are over all visits (the listing starts
    their sums anew); the precision has a floor; where losses are known their part of the bonus is dropped.

    Cost: at most about N log2(steps) plans, each O(M) per sweep, and less where the bonus is as large as the values; a
    step O(1).
    """
    method = Method("eb-ssp", scale, loss_bound=loss_bound)
    return TabularLearner(support, method, loss_floor=loss_floor, options=options)


def ulcvi(
    support: Support,
    *,
    loss_floor: float,
    loss_bound: float,
    time_bound: float,
    episodes: int,
    scale: float = 1.0,
    options: TabularOptions | None = None,
) -> TabularLearner:
    """ULCVI: lower and upper values over a finite horizon that ends with a penalty. Losses may be 0.

    H = ceil(8 T ln(8 K)) for the ``time_bound`` T and K ``episodes``; V_{H+1} = 8 B but at the goal. For h = H, ..., 1
    and pairs with n >= 1, with L = ln(12 N H (m1 + 1) n^2 / delta) and var_l the empirical variance of the losses:
    b_l = scale (sqrt(2 var_l L / n) + 5 L / n),
    b_p = scale (sqrt(2 Var_p^(V_low) L / n) + 62 H^3 m1 L / n) + p^ (V_up - V_low) / (16 H),
    Q_low = max(0, l^ + e - b_l + p^ V_low - b_p), Q_up = min(cap, l^ + e + b_l + p^ V_up + b_p),
    cap = (H - h + 1)(1 + e) + 8 B; where n = 0, Q_low = 0 and Q_up = cap. The pair with the least Q_low is played
    (ties: fewest visits, then the lowest), and gives V_low and V_up. An interval has up to H steps, then a new one
    begins. The plan is made anew at the start of an interval if the visits of a pair have reached max(1, twice those at
    the last plan).

    Source: Cohen, Efroni, Mansour, Rosenberg: Minimax Regret for Stochastic Shortest Path, NeurIPS 2021, the reduction
    to finite horizons and its Algorithm 2.

    Guarantee (scale 1, both bounds true): regret O~(sqrt((B^2 + B) S A K)) and terms that do not grow with K, with
    probability 1 - delta.

    Departs from the paper: S is m1, S A is N; an open episode follows the newest plan from the step of its interval on,
    if another episode has made one meanwhile; where losses are known b_l is 0.

    Cost: a plan O(H M), and O(H N) while bonuses are above all values; memory O(H S); a step O(1).
    """
    method = Method("ulcvi", scale, loss_bound=loss_bound, time_bound=time_bound, episodes=episodes)
    return TabularLearner(support, method, loss_floor=loss_floor, options=options)


def psrl_ssp(
    support: Support,
    *,
    loss_floor: float,
    prior: float = 0.1,
    value_cap: float = 1000.0,
    scale: float = 1.0,
    rng: np.random.Generator | None = None,
    options: TabularOptions | None = None,
) -> TabularLearner:
    """PSRL-SSP: the best policy of a model drawn from the posterior.

    Rows are drawn from Dirichlet posteriors with parameter ``prior`` + count for each possible next state, losses from
    N(l^, (scale / 2)^2 / n1), l^ = 1/2 without a visit, brought into [f, 1], + e; known losses are as they are. An
    epoch ends when its goals outnumber those of the epoch before (0 before the first), or the visits of a pair reach
    max(1, twice those at its start); the next ``act`` draws a model and plans in it. Values are at most ``value_cap``:
    a sampled model may have states from which the goal is nearly out of reach.

    Source: Jafarnia-Jahromi, Chen, Jain, Luo: Online Learning for Stochastic Shortest Path Model via Posterior
    Sampling, 2021, Algorithm 1.

    Guarantee (scale 1, losses known, the prior true): Bayesian regret O~(B S sqrt(A K)).

    Departs from the paper: losses are learned, with a Gaussian posterior; values are capped; value iteration is to a
    tolerance, from the last values.

    Cost: a plan O(M) draws and O(M) per sweep, of which a sample that hardly reaches the goal takes many (up to
    value_cap / (f + e)); a step O(1).
    """
    method = Method("psrl-ssp", scale, prior=prior, value_cap=value_cap)
    return TabularLearner(support, method, loss_floor=loss_floor, rng=rng, options=options)
