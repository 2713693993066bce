"""What can go wrong between a learner and the one who drives it."""


class LearnerError(ValueError):
    """A learner was asked for, or told, something that cannot be. Nothing was changed by it."""


class ProjectionFailed(ArithmeticError):
    """A projection did not meet its optimality conditions, and the learner has no confidence sets that would bear with
    it. It plans nothing any more; it can be saved."""


class PlanningStopped(ArithmeticError):
    """Value iteration did not come to its end. No plan was made that looks like one."""
