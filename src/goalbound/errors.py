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
                CaseError                   something that cannot follow in the life of a case of a store
                    LearnerNotFound, CaseNotFound, CaseFinished, CaseExists, TooManyCases, StepConflict, StepGap
        StoreError                          a store that cannot do what it is asked; what was acknowledged stays
            StoreLocked                     another process has it open
            StoreDamaged                    its bytes are not those that were written
            ReplayDifference                replaying the log gives another action than the one in it
            StorageFull                     no space is left; reading goes on
            StorageFailed                   reading or writing failed; the store has stopped
            StoreOverloaded                 too many requests wait
            StoreClosed                     it is closed, or closing
        ServiceError                        what a service answered that no other error says
            AccessRefused                   the token is missing, wrong, or does not allow it
            ServiceUnreachable              there was no answer; what was asked may have been done
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


class CaseError(LearnerError):
    """Something that cannot follow in the life of a case of a store. Nothing was changed.

    Attributes:
        code: a short name of what went wrong, for programs; the service answers with it.
        expected_step: the number of the step that would follow; None where none does.
    """

    code = "case"

    def __init__(self, message: str, expected_step: int | None = None) -> None:
        super().__init__(message)
        self.expected_step = expected_step


class LearnerNotFound(CaseError):
    """No learner of the store has this name."""

    code = "learner-not-found"


class TooManyCases(CaseError):
    """As many cases are open as may be."""

    code = "too-many-cases"


class CaseNotFound(CaseError):
    """No case has this id."""

    code = "case-not-found"


class CaseFinished(CaseError):
    """The case has ended: at the goal, or abandoned."""

    code = "case-finished"


class CaseExists(CaseError):
    """A case with this id was begun otherwise."""

    code = "case-exists"


class StepConflict(CaseError):
    """This step of the case was recorded already, with other content."""

    code = "step-conflict"


class StepGap(CaseError):
    """A step before this one is missing."""

    code = "step-gap"


class StoreError(GoalboundError):
    """A store cannot do what it is asked. What was acknowledged stays; ``code`` says what went wrong, for programs."""

    code = "store"


class StoreLocked(StoreError):
    """Another process, or another object of this one, has the store open."""

    code = "store-locked"


class StoreDamaged(StoreError):
    """The bytes of a store are not those that were written."""

    code = "store-damaged"


class ReplayDifference(StoreError):
    """Replaying the log gives another action than the one in it."""

    code = "replay-difference"


class StorageFull(StoreError):
    """No space is left on the disk. Nothing was recorded; reading goes on, and writing once there is space."""

    code = "storage-full"


class StorageFailed(StoreError):
    """The disk failed. The store has stopped: open it again, which replays what is on the disk."""

    code = "storage-failed"


class NotLeader(StoreError):
    """This process does not write: it waits for the place of another one, the leader. Nothing was recorded."""

    code = "not-leader"


class StoreOverloaded(StoreError):
    """Too many requests wait. Nothing was recorded; ask again later."""

    code = "overloaded"


class StoreClosed(StoreError):
    """The store is closed, or closing."""

    code = "store-closed"


class ServiceError(GoalboundError):
    """An answer of a decision service that no other error says.

    Attributes:
        status: of HTTP; 0: there was none.
        code: a short name of what went wrong.
    """

    def __init__(self, message: str, *, status: int = 0, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class AccessRefused(ServiceError):
    """The token is missing or wrong, or does not allow what was asked."""


class ServiceUnreachable(ServiceError):
    """There was no answer in time. What was asked may have been done: asking the same again is safe."""


class ComputationError(GoalboundError, ArithmeticError):
    """A computation did not come to its end. There is no result that looks like one."""


class PlanningStopped(ComputationError):
    """Value iteration did not come to its end. No plan was made that looks like one."""


class ProjectionFailed(ComputationError):
    """A projection did not meet its optimality conditions, and the learner has no confidence sets that would bear with
    it. It plans nothing any more; it can be saved."""


class LargeFileWarning(UserWarning):
    """A file was written that is read only with a larger ``limit`` than the usual one."""


class NotCompiledWarning(UserWarning):
    """numba cannot compile the kernels, or not as fast as it could; the results are the same, and slower."""


class NotLinearWarning(UserWarning):
    """The environment is not linear in the contexts that the learner is shown."""


class WrongPriorWarning(UserWarning):
    """What was declared before the first episode is wrong: the loss floor, a known loss or a known row."""


class ChangeWarning(UserWarning):
    """Losses or next states are no longer what they were: the world has changed."""


class ExcessLossWarning(UserWarning):
    """Episodes lose more than the plans of the learner allow for."""
