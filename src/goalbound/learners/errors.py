"""What can go wrong between a learner and the one who drives it."""


class LearnerError(ValueError):
    """A learner was asked for, or told, something that cannot be. Nothing was changed by it."""


class ProjectionFailed(ArithmeticError):
    """A projection did not meet its optimality conditions. The learner plans and saves nothing any more."""


class PlanningStopped(ArithmeticError):
    """Value iteration did not come to its end. No plan was made that looks like one."""
