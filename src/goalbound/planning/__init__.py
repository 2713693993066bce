"""Planning: exact values, proper policies, certified bounds."""

from goalbound.planning.evaluation import Evaluation, evaluate, hitting_times
from goalbound.planning.properness import NoProperPolicy, blocking_states, is_proper
from goalbound.planning.solution import Solution, Status
from goalbound.planning.solve import solve

__all__ = [
    "Evaluation",
    "NoProperPolicy",
    "Solution",
    "Status",
    "blocking_states",
    "evaluate",
    "hitting_times",
    "is_proper",
    "solve",
]
