"""Planning: exact values, proper policies, certified bounds."""

from goalbound.planning.context_bounds import Bound, BoundStatus, ContextBounds, context_bounds
from goalbound.planning.evaluation import Evaluation, evaluate, hitting_times
from goalbound.planning.extended_value_iteration import OptimisticSolution, extended_value_iteration
from goalbound.planning.optimal_values import optimal_values
from goalbound.planning.policy_bounds import PolicyBounds, policy_bounds
from goalbound.planning.properness import blocking_states, is_proper
from goalbound.planning.robust_plan import robust_plan
from goalbound.planning.solution import Solution, Status
from goalbound.planning.solve import solve

__all__ = [
    "Bound",
    "BoundStatus",
    "ContextBounds",
    "Evaluation",
    "OptimisticSolution",
    "PolicyBounds",
    "Solution",
    "Status",
    "blocking_states",
    "context_bounds",
    "evaluate",
    "extended_value_iteration",
    "hitting_times",
    "is_proper",
    "optimal_values",
    "policy_bounds",
    "robust_plan",
    "solve",
]
