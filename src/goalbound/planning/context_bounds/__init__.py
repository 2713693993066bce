"""Certified bounds over all contexts at once, by branch and bound over the simplex of contexts."""

from goalbound.planning.context_bounds.branch_and_bound import Bound, BoundStatus, ContextBounds, context_bounds

__all__ = ["Bound", "BoundStatus", "ContextBounds", "context_bounds"]
