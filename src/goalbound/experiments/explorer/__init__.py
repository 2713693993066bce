"""The explorer: one page in which a context is dragged, with the best policy, its values, and what learners would do.

Small problems are solved in the page itself, at every context (``solver.js``); of larger ones the page has the
solutions at a lattice of contexts. What a learner would do is computed here, at a lattice of contexts and at some times
of its run.
"""

from goalbound.experiments.explorer.learner_views import LearnerCourse
from goalbound.experiments.explorer.page import explorer_page

__all__ = ["LearnerCourse", "explorer_page"]
