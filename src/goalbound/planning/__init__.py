"""Planning: exact values, proper policies, certified bounds."""

from goalbound.planning.properness import NoProperPolicy, blocking_states, is_proper
from goalbound.planning.solution import Solution, Status
from goalbound.planning.solve import solve

__all__ = ["NoProperPolicy", "Solution", "Status", "blocking_states", "is_proper", "solve"]
