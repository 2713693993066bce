"""The projection of an estimate on the (sub-)stochastic matrices, in the norm of the pair's Gram matrix V.

minimise sum over rows r of (p_r - t_r) V (p_r - t_r)^T  subject to  p >= 0 and column sums <= 1,
or column sums = 1 where the goal, which is no row, cannot follow (``stochastic``).

With multipliers mu >= 0 of the columns and nu >= 0 of the signs the optimum is V (p_r - t_r) + mu - nu_r = 0. The rows
share nothing but mu, so once it is known which entries are 0 (``fixed``) and which columns sum to 1 (``tight``) the
answer is a few small linear systems. The sets are guessed from the last answer and mended until all signs are right
(the primal-dual active set method, a Newton method); should that go in circles, the active set method that changes one
constraint at a time ends it. An answer that is called right has all its optimality conditions checked, the equations
of its free entries and full columns included: a Gram matrix that is nearly singular spoils these first.

Column sums <= 1: a row whose target is 0 stays 0 (p = 0, nu = mu satisfies the conditions), so next states never seen
are left out. Column sums = 1: all columns are tight for good, mu has any sign, and all next states take part, as what
is missing to 1 is shared by them.

Either set is convex and holds the truth, and a projection on such a set does not take a point further from any of its
points, in the norm that it projects in: what a ball around the ridge estimate held, the same ball around the projection
holds (Lemma dynamics-proj-main).
"""

from goalbound.confidence.active_set import SLACK, slope_at, solve_active_set
from goalbound.jit.compile import lean

ROUNDS = 16
"""Guesses of the active set before it is taken to go in circles."""


@lean
def feasible(target, count, stochastic):
    """Whether the first ``count`` rows are such a matrix already."""
    for j in range(target.shape[1]):
        total = 0.0
        for r in range(count):
            if target[r, j] < 0.0:
                return False
            total += target[r, j]
        if total > 1.0 or (stochastic and total != 1.0):
            return False
    return True


@lean
def initial_active_set(rows, count, stochastic, scratch):
    """Which entries are 0 and which columns sum to 1 in ``rows``; a column that must, and has nothing, is all free."""
    for j in range(rows.shape[1]):
        total = 0.0
        for r in range(count):
            scratch.fixed[r, j] = rows[r, j] <= 0.0
            total += rows[r, j]
        scratch.tight[j] = stochastic or total > 1.0 - 1e-9
        if stochastic and total <= 0.0:
            for r in range(count):
                scratch.fixed[r, j] = False


@lean
def update_active_set(gram, count, stochastic, scratch, rows):
    """Free what pulls inwards, fix what went below 0; the same for the columns. Whether nothing had to change."""
    size = gram.shape[0]
    slack = SLACK * scratch.scale[0]
    right = True
    for j in range(size):
        total = 0.0
        for r in range(count):
            total += rows[r, j]
        if scratch.tight[j]:
            if not stochastic and scratch.multiplier[j] < -slack * gram[j, j]:
                scratch.tight[j] = False
                right = False
        elif total > 1.0 + slack:
            scratch.tight[j] = True
            right = False
    for r in range(count):
        for j in range(size):
            if scratch.fixed[r, j]:
                slope, rounding = slope_at(gram, scratch, rows, r, j)
                if slope < -rounding:
                    scratch.fixed[r, j] = False
                    right = False
            elif rows[r, j] < -slack:
                scratch.fixed[r, j] = True
                right = False
    return right


@lean
def descend(gram, inverse, count, stochastic, scratch, rows):
    """The active set method from feasible ``rows``: one constraint at a time, the objective never rises, so that it
    cannot go in circles. Returns the number of steps, or -1."""
    size = gram.shape[0]
    initial_active_set(rows, count, stochastic, scratch)
    most = 20 * (count + 1) * size
    for step in range(most):
        if not solve_active_set(gram, inverse, count, scratch, True, scratch.trial):
            return -1
        if not line_search(count, scratch, rows) and not release_constraint(gram, count, stochastic, scratch, rows):
            return step + 1
    return -1


@lean
def line_search(count, scratch, rows):
    """Go from ``rows`` towards ``trial`` until a constraint is met, which then holds. Whether there was one."""
    size = rows.shape[1]
    share = 1.0
    row = -1
    column = -1
    for j in range(size):
        total = 0.0
        wanted = 0.0
        for r in range(count):
            total += rows[r, j]
            wanted += scratch.trial[r, j]
            if not scratch.fixed[r, j] and scratch.trial[r, j] < 0.0:
                reach = rows[r, j] / (rows[r, j] - scratch.trial[r, j])
                if reach < share:
                    share, row, column = reach, r, j
        if not scratch.tight[j] and wanted > 1.0:
            reach = max(1.0 - total, 0.0) / (wanted - total)
            if reach < share:
                share, row, column = reach, -1, j
    for r in range(count):
        for j in range(size):
            entry = rows[r, j] + share * (scratch.trial[r, j] - rows[r, j])
            rows[r, j] = scratch.trial[r, j] if share == 1.0 else max(entry, 0.0)
    if column < 0:
        return False
    if row < 0:
        scratch.tight[column] = True
    else:
        scratch.fixed[row, column] = True
        rows[row, column] = 0.0
    return True


@lean
def release_constraint(gram, count, stochastic, scratch, rows):
    """Free the constraint that pulls inwards most. Whether there was one."""
    size = gram.shape[0]
    worst = -SLACK * scratch.scale[0]
    row = -1
    column = -1
    for j in range(size):
        if scratch.tight[j] and not stochastic and scratch.multiplier[j] < worst * gram[j, j]:
            worst, row, column = scratch.multiplier[j] / gram[j, j], -1, j
        for r in range(count):
            if scratch.fixed[r, j]:
                slope, rounding = slope_at(gram, scratch, rows, r, j)
                if slope < -rounding and slope / gram[j, j] < worst:
                    worst, row, column = slope / gram[j, j], r, j
    if column < 0:
        return False
    if row < 0:
        scratch.tight[column] = False
    else:
        scratch.fixed[row, column] = False
    return True


@lean
def project(gram, inverse, count, stochastic, scratch, rows):
    """Project ``scratch.target[:count]``; ``rows[:count]`` holds the last answer and takes the new one.

    ``stochastic``: columns sum to 1, not to at most 1. A single such row is certain, whatever its target.
    Returns the number of guesses that it took (0: nothing to do), or -1 if the optimality conditions were never met.
    O(count d^2) per guess, and O(d^2) for each further zero of a row; one guess does where the sets did not change.
    """
    size = gram.shape[0]
    if stochastic and count == 1:
        for j in range(size):
            rows[0, j] = 1.0
        return 0
    if feasible(scratch.target, count, stochastic):
        for r in range(count):
            for j in range(size):
                rows[r, j] = scratch.target[r, j]
        return 0
    scratch.scale[0] = 1.0
    for r in range(count):
        for j in range(size):
            scratch.scale[0] = max(scratch.scale[0], abs(scratch.target[r, j]))
    initial_active_set(rows, count, stochastic, scratch)
    for tries in range(ROUNDS):
        if not solve_active_set(gram, inverse, count, scratch, False, rows):
            break
        if update_active_set(gram, count, stochastic, scratch, rows):
            clip_feasible(rows, count, stochastic)
            return tries + 1
    clip_feasible(rows, count, stochastic)
    steps = descend(gram, inverse, count, stochastic, scratch, rows)
    clip_feasible(rows, count, stochastic)
    return ROUNDS + steps if steps > 0 else -1


@lean
def clip_feasible(rows, count, stochastic):
    """Make ``rows`` feasible: no entry below 0, no column above 1; or all at 1 (one that has nothing is uniform)."""
    for j in range(rows.shape[1]):
        total = 0.0
        for r in range(count):
            rows[r, j] = max(rows[r, j], 0.0)
            total += rows[r, j]
        if stochastic and total <= 0.0:
            for r in range(count):
                rows[r, j] = 1.0 / count
        elif stochastic or total > 1.0:
            for r in range(count):
                rows[r, j] /= total
