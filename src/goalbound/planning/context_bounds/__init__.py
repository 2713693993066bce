"""Certified bounds over all contexts at once, by branch and bound over the simplex of contexts."""

from goalbound.planning.context_bounds.branch_and_bound import Bound, ContextBounds, context_bounds
from goalbound.planning.context_bounds.search import BoundStatus, SearchProgress

__all__ = ["Bound", "BoundStatus", "ContextBounds", "SearchProgress", "context_bounds"]
