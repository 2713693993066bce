"""All errors and warnings of goalbound, in one hierarchy.

::

    GoalboundError
        InputError (a ValueError)           what was given cannot be used; nothing was changed
            ArgumentError                   an argument of a function or constructor
            ModelError                      a problem that is not one
                NoProperPolicy              no policy reaches the goal
            FileFormatError                 a file that is not what it claims to be
            FileConflictError               a file that was not replaced
            LearnerError                    something that cannot follow in the life of a learner or an episode
        ComputationError (an ArithmeticError)   a computation that did not come to its end
            PlanningStopped
            ProjectionFailed
"""

from __future__ import annotations

from collections.abc import Sequence


class GoalboundError(Exception):
    """Any error that goalbound raises on purpose: it names the place, the value and the remedy."""


class InputError(GoalboundError, ValueError):
    """What was given cannot be used. Nothing was changed."""


class ArgumentError(InputError):
    """An argument that cannot be: a wrong type, shape or range."""


class ModelError(InputError):
    """A problem that is not one: rows that are no distributions, states without actions, names that are not there."""


class NoProperPolicy(ModelError):
    """Some states have no policy that reaches the goal with probability one.

    Attributes:
        states: their numbers, in increasing order.
    """

    def __init__(self, states: Sequence[int], names: Sequence[str]) -> None:
        self.states = tuple(states)
        more = f" and {len(self.states) - len(names)} more" if len(self.states) > len(names) else ""
        super().__init__(
            f"no policy reaches the goal with probability one from {', '.join(names)}{more}; "
            'repair these states, or solve the rest with unreachable="exclude"'
        )

    def __reduce__(self) -> tuple[object, ...]:
        return _restored_no_proper_policy, (self.states, str(self))


def _restored_no_proper_policy(states: tuple[int, ...], message: str) -> NoProperPolicy:
    error = NoProperPolicy(states, ())
    error.args = (message,)
    return error


class FileFormatError(InputError):
    """A file that cannot be read as what it claims to be. Nothing of it was used."""


class FileConflictError(InputError):
    """A file that was not replaced: it holds what someone else wrote."""


class LearnerError(InputError):
    """A learner or an episode was asked for something that cannot follow. Nothing was changed."""


class ComputationError(GoalboundError, ArithmeticError):
    """A computation did not come to its end. There is no result that looks like one."""


class PlanningStopped(ComputationError):
    """Value iteration did not come to its end. No plan was made that looks like one."""


class ProjectionFailed(ComputationError):
    """A projection did not meet its optimality conditions, and the learner has no confidence sets that would bear with
    it. It plans nothing any more; it can be saved."""


class LargeFileWarning(UserWarning):
    """A file was written that is read only with a larger ``limit`` than the usual one."""


class NotLinearWarning(UserWarning):
    """The environment is not linear in the contexts that the learner is shown."""


class WrongPriorWarning(UserWarning):
    """What was declared before the first episode is wrong: the loss floor, a known loss or a known row."""


class ChangeWarning(UserWarning):
    """Losses or next states are no longer what they were: the world has changed."""


class ExcessLossWarning(UserWarning):
    """Episodes lose more than the plans of the learner allow for."""
