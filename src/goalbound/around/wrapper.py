"""Learners around another one, their ``inner``: what they share, how to get at what is inside, and how it is saved.

A learner that can be saved has ``save(path)``, and ``restored(path)``: one made alike that goes on from the file. The
second is a method of a fresh learner, so that functions and streams it was made with need not be in the file.
"""

from __future__ import annotations

import copy
import inspect
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError, LargeFileWarning, LearnerError
from goalbound.learners.anew import learned_since
from goalbound.learners.copying import deep_copy
from goalbound.learners.layers import unwrap
from goalbound.models.files.io import LIMIT
from goalbound.models.validation import check_callable


class InnerAttribute:
    """An attribute that is that of the learner inside (``self.inner``); one that it lacks is lacking here too.

    >>> class Shown:
    ...     visits = InnerAttribute("How often each pair was played.")
    ...     def __init__(self, inner):
    ...         self.inner = inner
    >>> Shown("no learner").visits
    Traceback (most recent call last):
    AttributeError: a Shown has the visits of the learner inside, and a str has none
    """

    def __init__(self, meaning: str) -> None:
        self.__doc__ = meaning

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, wrapper: Any, owner: type | None = None) -> Any:
        if wrapper is None:
            return self
        if not hasattr(wrapper.inner, self._name):
            raise AttributeError(
                f"a {type(wrapper).__name__} has the {self._name} of the learner inside, and a "
                f"{type(wrapper.inner).__name__} has none"
            )
        return getattr(wrapper.inner, self._name)

    def __set__(self, wrapper: Any, value: Any) -> None:
        raise AttributeError(f"{self._name} of a {type(wrapper).__name__} is that of the learner inside; set it there")


class Wrapper:
    """A learner that plays with another one, ``inner``, which does all the learning.

    A subclass has ``begin(context)`` and ``card``; and, where it can be saved, ``save(path)`` and ``restored(path)``.
    The attributes of the learner inside are attributes of the wrapper, if the learner inside has them.
    """

    inner: Any
    """The learner inside."""
    is_around = True

    support = InnerAttribute("The pairs of the learner inside, and where each may lead.")
    open_episodes = InnerAttribute("Its episodes that were begun and have not ended; also those of a file.")
    statistics = InnerAttribute("What it has seen, under the contexts that it was shown.")
    estimate = InnerAttribute("Its estimate, for contexts as it is shown them.")
    alarm = InnerAttribute("What first contradicted its model; None while nothing has.")
    caveats = InnerAttribute("Why nothing is proven of what it has learned; empty where nothing speaks against it.")

    change = InnerAttribute("What has changed, where a learner inside is monitored; None while nothing has.")
    alarms = InnerAttribute("All changes that a monitored learner inside has noticed; empty while there is none.")
    acknowledge = InnerAttribute("Its function that goes on after an alarm.")
    abandoned = InnerAttribute("How many of its episodes were abandoned, by reason.")
    episode = InnerAttribute("Its function that finds an open episode by its id.")

    __copy__ = deep_copy  # all that learns is inside

    def since(self, log: Any, time: Any) -> Any:
        """A learner with the same settings, and all that is around it, that has learned only the steps of a log from a
        time on (``log.window(since=time)``); this one stays as it is.

        For what is known to have changed then, such as a new version of the service. Where the time was chosen by what
        came of the steps nothing is proven: tell it by ``add_caveat``.
        """
        return learned_since(self, log, time)


_ANEW = "make a new learner as it is to be, and let it learn the log of the steps: learn_log(log)"
_WITH_SETS = "learners with confidence sets, as LRCSSP, have it"
_WHO_HAS = {
    "progress": "an Apprentice has it", "plan": "learners that plan have it",
    "explain": "learners by ridge regression have it", "policy_bounds": _WITH_SETS, "robust_plan": _WITH_SETS,
    "confidence_set": _WITH_SETS,
}  # fmt: skip


def inner_method(learner: Any, name: str) -> Any:
    """A method of the learner inside; an error with the remedy where its class has none."""
    try:
        return getattr(learner, name)
    except LearnerError:  # its own words are better
        raise
    except AttributeError:
        inside = unwrap(learner)
        within = "" if inside is learner else f" around a {type(inside).__name__}"
        raise LearnerError(f"a {type(learner).__name__}{within} has no {name}; {_WHO_HAS.get(name, _ANEW)}") from None


def has_own(learner: Any, name: str) -> bool:
    """Whether a learner has this attribute itself, not only by the learner inside it."""
    return hasattr(learner, name) and not isinstance(inspect.getattr_static(learner, name), InnerAttribute)


def begin_inner(learner: Any, context: Any, id: str | int | None) -> Any:
    """``learner.begin(context)``; an id is passed on where there is one."""
    return learner.begin(context) if id is None else learner.begin(context, id=id)


class with_contexts:  # noqa: N801 - it is called as a function, and remembers what the log says of its losses
    """A log with ``see(context)`` in the place of each context; what is no (context, step) is passed on as it is.

    >>> list(with_contexts([(2, "a step"), "no step"], lambda context: [context]))
    [([2], 'a step'), 'no step']
    """

    def __init__(self, log: Iterable[Any], see: Callable[[Any], Any]) -> None:
        self._log, self._see = log, see
        keep_what_it_says(self, log)

    def __iter__(self) -> Iterator[Any]:
        for item in self._log:
            is_step = isinstance(item, tuple | list) and len(item) == 2
            yield (self._see(item[0]), item[1]) if is_step else item


def keep_what_it_says(copy: Any, log: Any) -> None:
    """What a log says of itself, for what is made of its steps."""
    for name in ("loss_scale", "clipped", "validity_breaks", "support"):
        if hasattr(log, name):
            setattr(copy, name, getattr(log, name))


def copy_with_episode(learner: Any, name: str | int) -> Any:
    """A copy of a learner with one of its open episodes, that of this id, in the time that this one alone takes.

    The copy is to be asked for actions in this episode, and thrown away: visits of other episodes whose outcome is
    awaited are still those of the learner itself. Nobody else may use the learner meanwhile.

    >>> from goalbound import LRCSSP, Support
    >>> learner = LRCSSP(Support.full(2, 2), 1, loss_floor=0.1)
    >>> episodes = [learner.begin([1.0], id=id) for id in "abc"]
    >>> [episode.id for episode in copy_with_episode(learner, "b").open_episodes], len(learner.open_episodes)
    (['b'], 3)
    """
    inner = unwrap(learner)
    one = inner.episode(name)
    every = (inner._open, inner._loaded, inner._named)
    inner._open, inner._loaded, inner._named = WeakSet([one]), [], {one.id: one}
    try:
        return copy.deepcopy(learner, {id(other): other for other in every[0] if other is not one})
    finally:
        inner._open, inner._loaded, inner._named = every


def can_be_saved(learner: Any) -> bool:
    """Whether it has ``save`` and ``restored``, and so has what it may be made of."""
    inner = learner.inner if isinstance(learner, Wrapper) else None
    if inner is None and callable(getattr(learner, "example", None)):
        inner = learner.example()
    able = callable(getattr(learner, "save", None)) and callable(getattr(learner, "restored", None))
    return able and (inner is None or can_be_saved(inner))


def bytes_of(learner: Any) -> NDArray[np.uint8]:
    """The learner as it saves itself."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner.npz"
        with warnings.catch_warnings():  # how large the file is that it becomes a part of is said there
            warnings.simplefilter("ignore", LargeFileWarning)
            learner.save(path)
        return np.frombuffer(path.read_bytes(), np.uint8)


def restored_from(fresh: Any, data: NDArray[np.uint8], *, limit: int = LIMIT) -> Any:
    """A learner like ``fresh`` that goes on from the bytes, which came from a file that was read with this limit."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner.npz"
        path.write_bytes(data.tobytes())
        return with_limit(fresh.restored, path, limit)


def loaded_from(data: NDArray[np.uint8], load: Callable[..., Any], *, limit: int = LIMIT) -> Any:
    """The learner that ``load(path)`` reads from the bytes, which came from a file that was read with this limit."""
    check_callable(load, "load_learner", "a function that reads a learner from a path, such as LRCSSP.load")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner"
        path.write_bytes(data.tobytes())
        try:
            return with_limit(load, path, limit)
        except FileFormatError as error:
            raise FileFormatError(str(error).replace(str(path), "the learner in it")) from None


def save_inner(learner: Any, path: str | PathLike[str], *, overwrite: bool) -> None:
    """``learner.save(path)`` of a learner inside another. One that knows no ``overwrite`` always does."""
    if overwrite and takes(learner.save, "overwrite"):
        learner.save(path, overwrite=True)
    else:
        learner.save(path)


def with_limit(read: Callable[..., Any], path: str | PathLike[str], limit: int) -> Any:
    """``read(path)``; a limit that is not the usual one is passed on to those that take one.

    >>> with_limit(lambda path: path, "learner.npz", 2**40)
    'learner.npz'
    >>> with_limit(lambda path, limit: limit, "learner.npz", 8)
    8
    """
    return read(path) if limit == LIMIT or not takes(read, "limit") else read(path, limit=limit)


def takes(function: Callable[..., Any], name: str) -> bool:
    """Whether a function, maybe of a third party, has a parameter of this name."""
    parameters = inspect.signature(function).parameters
    return name in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())
