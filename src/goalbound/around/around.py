"""What all learners around another one share, and their files."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError, FileFormatError, LargeFileWarning, LearnerError
from goalbound.learners.base import LearnerBase
from goalbound.learners.border import InnerBorder
from goalbound.learners.card import learner_card
from goalbound.learners.checks import check_learner, checked_state, is_as_proposed
from goalbound.learners.copying import deep_copy
from goalbound.learners.episode import NO_REASON, LearnerEpisode, begin_action
from goalbound.learners.layers import layers, learned_since, unwrap
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.own_card import Card
from goalbound.models import Step
from goalbound.models.files.array_file import FORMAT, check_keys, check_present, read_array_file, write_array_file
from goalbound.models.files.io import LIMIT, as_format_errors
from goalbound.models.files.saved_files import SavedFiles
from goalbound.models.step import LogView
from goalbound.models.validation import check_callable, check_list, check_type, short_repr

VERSION = 2
"""Of the files of all learners around another one."""
_OF_CONTEXT = ("plan", "explain", "progress", "policy_bounds", "robust_plan", "confidence_set")
"""The methods whose first argument is a context."""
_REMADE = ("anew", "extended", "with_settings", "relearned")
"""The methods that give another learner, around which the same is put."""


class _LacksError(LearnerError, AttributeError):
    """The inner learner has no such attribute; ``hasattr`` is false."""


class Around(InnerBorder):
    """A learner that plays with another one, ``inner``, which does all the learning.

    Forwards all else to it; raises AttributeError for what it lacks too. A subclass gives ``card`` and overrides the
    hooks that it needs: what is seen of a context (``_see``), who chooses in an episode (``_lead``), what is noted of a
    step (``_watch``). Its constructor's arguments beside ``learner`` are attributes of the same names, and are saved.

    >>> from goalbound import LRCSSP, Support
    >>> around = Around(LRCSSP(Support.full(2, 2), 2, loss_floor=0.1))
    >>> around.context_size, around.begin([0.3, 0.7], id="case").state, around.episode("case").ended
    (2, None, False)
    """

    inner: Any
    """The learner inside."""
    is_around = True
    card = Card(lambda around: learner_card(around.inner))

    _episode_type: ClassVar[type[AroundEpisode] | None] = None
    """The class of episodes; None: they are the inner learner's."""
    _what: ClassVar[str] = "learner"
    """The name of the wrapper in errors."""
    _difference: ClassVar[str] = "other settings"
    """How a wrapper differs that was given something else."""
    _given: ClassVar[tuple[str, ...]] = ()
    """The arguments of the constructor that are saved; a class that leaves it out saves all."""
    _counted: ClassVar[tuple[str, ...]] = ()
    """The names of what :meth:`_saved` gives."""
    _array_types: ClassVar[Mapping[str, str]] = {}
    """The types of the arrays among both."""
    _hidden: ClassVar[tuple[str, ...]] = ("play_episodes",)
    """Attributes that are not forwarded, besides private ones."""

    def __init_subclass__(cls) -> None:
        if "__init__" in vars(cls) and "_given" not in vars(cls):
            cls._given = tuple(name for name in signature(cls).parameters if name != "learner")
        if cls._episode_type is None and (cls._lead is not Around._lead or cls._watch is not Around._watch):
            cls._episode_type = AroundEpisode

    def __init__(self, learner: Any) -> None:
        check_learner(learner)
        self.inner = learner
        self._files = SavedFiles()

    def _see(self, context: Any) -> Any:
        """Return the context that the inner learner is shown."""
        return context

    def _lead(self, episode: Any, state: int, allowed: list[Any] | None) -> int:
        """Return the action to play in a state; the inner episode must have been asked for it."""
        return int(episode.inner.act(state, allowed=allowed))

    def _watch(self, episode: LearnerEpisode, step: Step | None, *, foreign: bool) -> None:
        """Note a step that the innermost learner has learned, its loss in [0, 1]. ``foreign``: nobody had proposed it.
        None: the world moved by itself, or the episode was abandoned."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "inner" or name in self._hidden:
            raise AttributeError(f"a {type(self).__name__} has no {name}")
        inner = self._of_inner(name)
        if name in _OF_CONTEXT:
            return wraps(inner)(lambda context, *others, **named: inner(self._see(context), *others, **named))
        if name in _REMADE:
            put = self._again if name == "anew" else self._going_on
            return wraps(inner)(lambda *others, **named: put(inner(*others, **named)))
        return inner

    def _of_inner(self, name: str) -> Any:
        try:
            return getattr(self.inner, name)
        except LearnerError:  # its own words are better
            raise
        except AttributeError:
            lacks = f"the {name} of the learner inside, and a {type(self.inner).__name__} has no {name}"
            if name in (*_REMADE, "merge"):
                lacks += "; make a new learner as it is to be, and let it learn the log: learn_log(log)"
            raise _LacksError(f"a {type(self).__name__} has {lacks}") from None

    def begin(self, context: Any, *, id: str | int | None = None) -> Any:
        """Begin an episode under a context; ``id`` is a name of yours, by which :meth:`episode` finds it."""
        seen = self._see(context)
        return self._episode(self.inner.begin(seen) if id is None else self.inner.begin(seen, id=id))

    @property
    def open_episodes(self) -> tuple[Any, ...]:
        """The episodes that were begun, have not ended and are held by someone, in the order of begin."""
        return tuple(map(self._episode, self._of_inner("open_episodes")))

    def episode(self, id: str | int) -> Any:
        """Return the open episode that was begun with this id."""
        return self._episode(self._of_inner("episode")(id))

    def learn(self, context: Any, step: Step) -> None:
        """Learn from a step that anyone made under a context."""
        self._of_inner("learn")(self._see(context), step)

    def learn_log(self, log: Iterable[tuple[Any, Step]]) -> int:
        """:meth:`learn` from ``(context, step)`` by ``(context, step)`` in the order of time; how many."""
        if type(self)._see is not Around._see:
            log = LogView(log, lambda context, step: (self._see(context), step))
        return int(self._of_inner("learn_log")(log))

    def since(self, log: Any, time: Any) -> Any:
        """Return a learner made like this one that has learned only the steps of a log from a time on."""
        return learned_since(self, log, time)

    def merge(self, other: Any) -> None:
        """Add what another learner with the same around it has seen; the inner learners say what can be merged."""
        check_type(other, type(self), "other", f"give another {self._what}, made as this one is")
        if not self._made_like(other):
            raise ArgumentError(
                f"other has {self._difference}; make both alike, or merge the learners inside: inner.merge(other.inner)"
            )
        self._of_inner("merge")(other.inner)
        self._add(other)

    __copy__ = deep_copy  # all that learns is inside

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r})"

    def _again(self, inner: Any, **given: Any) -> Self:
        """Return the same around another learner, nothing having happened; ``given`` differs from what this one has."""
        return type(self)(inner, **{**{name: getattr(self, name) for name in self._given}, **given})

    def _going_on(self, inner: Any, **given: Any) -> Self:
        """:meth:`_again`, with the counts of this one."""
        again = self._again(inner, **given)
        again._add(self)
        return again

    def _made_like(self, other: Self) -> bool:
        """Whether another one was given the same, beside the learner."""
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in self._given)

    def _add(self, other: Self) -> None:
        """Add the counts of another one, whose learner's data were added."""

    def _episode(self, inner: Any) -> Any:
        return inner if self._episode_type is None else self._episode_type(self, inner)

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the learner, and what is around it, to one file; ``overwrite`` as :meth:`LearnerBase.save
        <goalbound.learners.base.LearnerBase.save>` has it."""
        header: dict[str, Any] = {"format": FORMAT, "version": VERSION, "kind": type(self).__name__}
        header |= {name: getattr(self, name) for name in self._given} | self._saved()
        arrays = {"learner": bytes_of(self.inner), **{name: header.pop(name) for name in self._array_types}}
        write_array_file(path, header, arrays, files=self._files, overwrite=overwrite)

    @classmethod
    def load(
        cls, path: str | PathLike[str], *, load_learner: Callable[..., Any] = LRCSSP.load, limit: int = LIMIT
    ) -> Self:
        """Read what :meth:`save` wrote. Nothing is executed, and the learner goes on bit for bit.

        Args:
            path: the file.
            load_learner: reads the inner learner's own file, from its path (and ``limit=``, if it has one).
            limit: the most bytes that the file may have.
        """
        return cls._read(path, load_learner, limit)

    @classmethod
    def _read(cls, path: str | PathLike[str], load_learner: Callable[..., Any], limit: int, **given: Any) -> Self:
        """:meth:`load`; ``given`` to the constructor is what no file can hold."""
        files, types = SavedFiles(), {"learner": "|u1", **cls._array_types}
        header, arrays = read_array_file(
            path, kind=cls.__name__, versions=[VERSION], arrays=types, what=cls._what, limit=limit, files=files
        )
        with as_format_errors(path, cls._what):
            check_keys(header, [name for name in (*cls._given, *cls._counted) if name not in types])
            check_present(arrays, types)
            saved = {**header, **arrays}
            inner = loaded_from(saved["learner"], load_learner, limit=limit)
            again = cls._from_file(inner, saved, **given)
            again._restore(saved)
        again._files = files
        return again

    def restored(self, path: str | PathLike[str], *, limit: int = LIMIT) -> Self:
        """:meth:`load`, for a file of one that was made like this one, around a learner with the same settings."""
        again = self.load(path, load_learner=self.inner.restored, limit=limit)
        if not self._made_like(again):
            raise FileFormatError(f"{path}: the {self._what} in it has {self._difference} than this one")
        return again

    @classmethod
    def _from_file(cls, inner: Any, saved: Mapping[str, Any], **given: Any) -> Self:
        """Return the same around the learner of a file, nothing having happened."""
        return cls(inner, **{name: saved[name] for name in cls._given})

    def _saved(self) -> dict[str, Any]:
        """Return what a file holds beside the learner and what was given: the ``_counted``."""
        return {}

    def _restore(self, saved: Mapping[str, Any]) -> None:
        """Take over what :meth:`_saved` gave, checked."""


class AroundEpisode:
    """An episode of a learner that leads or watches, around the ``inner`` one, whose attributes it has."""

    def __init__(self, learner: Any, inner: Any) -> None:
        self.learner = learner
        self.inner = inner

    __copy__ = deep_copy  # a copy of an episode comes with a copy of its learner

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("learner", "inner"):
            raise AttributeError(name)
        return getattr(self.inner, name)

    def act(self, state: int | str, *, allowed: Iterable[int | str] | None = None) -> int:
        """Return the action (its number) to play in a state, by whoever leads.

        ``allowed`` are the actions that are possible right now; the inner learner chooses if the leader's is not among
        them.
        """
        core: LearnerEpisode = innermost(self)
        given = None if allowed is None else check_list(allowed, "allowed", "a list of actions, by number or name")
        if core.ended or core._action is not None:  # an error, or asked again
            return int(self.inner.act(state, allowed=given))
        return int(self.learner._lead(self, checked_state(core.learner.support, state, core.state), given))

    def observe(self, step: Step, *, overridden: bool = False) -> None:
        """Learn from what came of the action."""
        core: LearnerEpisode = innermost(self)
        proposed = core._action
        self.inner.observe(step, overridden=overridden)
        plain, _ = core.learner._plain_step(step)
        foreign = overridden and not is_as_proposed(core.learner.support, plain, proposed)
        self.learner._watch(core, plain, foreign=foreign)

    def begins(self, action: int | str) -> None:
        """Say that a person begins another action than the one proposed."""
        begin_action(self, action)

    def moved_to(self, state: int | str, *, missing_at_random: bool = False) -> None:
        """Say that the world moved by itself."""
        self.inner.moved_to(state, missing_at_random=missing_at_random)
        self.learner._watch(innermost(self), None, foreign=True)

    def abandon(self, reason: str = NO_REASON, *, missing_at_random: bool = False) -> None:
        """End the episode without the goal."""
        self.inner.abandon(reason, missing_at_random=missing_at_random)
        self.learner._watch(innermost(self), None, foreign=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AroundEpisode) and type(other) is type(self) and bool(self.inner == other.inner)

    def __hash__(self) -> int:
        return hash(self.inner)


def innermost(episode: Any) -> Any:
    """Return the episode inside all that is around it."""
    while isinstance(episode, AroundEpisode):
        episode = episode.inner
    return episode


def seen_inside(learner: Any, context: Any) -> Any:
    """Return what the innermost learner sees of a context."""
    for one in layers(learner):
        context = one._see(context) if isinstance(one, Around) else context
    return context


def learner_inside(learner: Any, name: str) -> LearnerBase:
    """Return the innermost learner; an error says what a wrapper of this name goes around."""
    base = unwrap(learner)
    if isinstance(base, LearnerBase):
        return base
    remedy = "give a learner of this package, such as a LocalOptimism or an LRCSSP"
    if callable(getattr(base, "example", None)):
        remedy = f"{name} goes around the learner of each cell: Discretized(lambda rng: {name}(...), ...)"
    raise ArgumentError(f"learner is {short_repr(base)}; {remedy}")


def has_own(learner: Any, name: str) -> bool:
    """Whether a learner has this attribute itself, not only by the learner inside it."""
    return hasattr(type(learner), name) or name in vars(learner)


def can_be_saved(learner: Any) -> bool:
    """Whether it, and all that is inside it, has ``save`` and ``restored``."""
    return all(callable(getattr(one, name, None)) for one in layers(learner) for name in ("save", "restored"))


def bytes_of(learner: Any) -> NDArray[np.uint8]:
    """Return the learner's own file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner.npz"
        with warnings.catch_warnings():  # the size of the file that it becomes a part of is said there
            warnings.simplefilter("ignore", LargeFileWarning)
            learner.save(path)
        return np.frombuffer(path.read_bytes(), np.uint8)


def loaded_from(data: NDArray[np.uint8], load: Callable[..., Any], *, limit: int = LIMIT) -> Any:
    """Return the learner that ``load(path)`` reads from the bytes of a file, read with this limit."""
    check_callable(load, "load_learner", "a function that reads a learner from a path, such as LRCSSP.load")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner"
        path.write_bytes(data.tobytes())
        try:
            return read_by(load, path, limit)
        except FileFormatError as error:
            raise FileFormatError(str(error).replace(str(path), "the learner in it")) from None


def read_by(load: Callable[..., Any], path: str | PathLike[str], limit: int) -> Any:
    """Return ``load(path)``, with this limit where it takes one."""
    return load(path) if limit == LIMIT or not takes(load, "limit") else load(path, limit=limit)


def takes(function: Callable[..., Any], name: str) -> bool:
    """Whether a function, maybe of a third party, has a parameter of this name."""
    parameters = signature(function).parameters
    return name in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())
