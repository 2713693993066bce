"""Contract checks for learners and problems of your own: does what you wrote fit everything else?

>>> from goalbound import LRCSSP
>>> from goalbound.testing import check_learner, check_problem, small_problem
>>> check_learner(lambda problem: LRCSSP(problem.support, problem.context_size, loss_floor=0.1), episodes=4)
>>> print(check_problem(small_problem()))
3 states, 6 pairs, 12 next states, 2 components; every context has a proper policy; smallest loss 0.2
"""

from goalbound.testing.contract import ContractError
from goalbound.testing.learner import check_learner
from goalbound.testing.problem import ProblemReport, check_problem, small_problem

__all__ = ["ContractError", "ProblemReport", "check_learner", "check_problem", "small_problem"]
