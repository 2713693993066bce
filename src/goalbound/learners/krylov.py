"""Plans of point estimates of many states: policies are evaluated by the Krylov method."""

import numpy as np

from goalbound.jit.compile import Run, lean
from goalbound.models import Support
from goalbound.models.arrays import Rows
from goalbound.planning.kernels.sparse_policy_iteration import (
    SparseWorkspace,
    new_sparse_workspace,
    sparse_policy_iteration,
)


@lean
def improve_by_krylov(constants, view, workspace, sweeps):
    """Value iteration, with policies evaluated where sweeps converge slowly."""
    sparse_policy_iteration(view.sets, view.iteration, 0.5 * constants.tolerance, sweeps, workspace)


def new_krylov_workspace(support: Support, run: Run) -> SparseWorkspace:
    """Room for all models on a support."""
    rows = Rows(support.pair_start, support.next_start, support.next_state, np.empty(0), np.ones(support.triples))
    return new_sparse_workspace(rows, support.pair_state, run)
