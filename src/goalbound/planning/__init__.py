"""Planning: exact values, proper policies, certified bounds."""

from typing import TYPE_CHECKING

from goalbound.lazy import load_on_use

if TYPE_CHECKING:
    from goalbound.planning.context_bounds.branch_and_bound import Bound, ContextBounds, context_bounds
    from goalbound.planning.context_bounds.search import BoundStatus
    from goalbound.planning.evaluation import Evaluation, evaluate, hitting_times, is_proper
    from goalbound.planning.extended_value_iteration import OptimisticSolution, extended_value_iteration
    from goalbound.planning.optimal_values import optimal_values
    from goalbound.planning.policy_bounds import PolicyBounds, policy_bounds
    from goalbound.planning.reduction import blocking_states
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

load_on_use(
    __name__,
    {
        "goalbound.planning.context_bounds.branch_and_bound": "Bound ContextBounds context_bounds",
        "goalbound.planning.context_bounds.search": "BoundStatus",
        "goalbound.planning.evaluation": "Evaluation evaluate hitting_times is_proper",
        "goalbound.planning.extended_value_iteration": "OptimisticSolution extended_value_iteration",
        "goalbound.planning.optimal_values": "optimal_values",
        "goalbound.planning.policy_bounds": "PolicyBounds policy_bounds",
        "goalbound.planning.reduction": "blocking_states",
        "goalbound.planning.robust_plan": "robust_plan",
        "goalbound.planning.solution": "Solution Status",
        "goalbound.planning.solve": "solve",
    },
)
