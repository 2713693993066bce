"""What can go wrong between a learner and the one who drives it."""


class LearnerError(ValueError):
    """A learner was asked for, or told, something that cannot be. Nothing was changed by it."""


class PlanningStopped(ArithmeticError):
    """Value iteration did not come to its end. No plan was made that looks like one."""
