"""Wrappers whose episodes are their own: what :class:`~goalbound.Guarded`, :class:`~goalbound.Apprentice` and
:class:`~goalbound.Monitored` share, and what their episodes do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, ClassVar, Generic, Self, TypeVar

from numpy.typing import ArrayLike, NDArray

from goalbound.around.wrapper import InnerAttribute, Wrapper, bytes_of, loaded_from
from goalbound.errors import FileFormatError
from goalbound.learners.anew import made_anew
from goalbound.learners.copying import deep_copy
from goalbound.learners.episode import begin_action
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.models import Step
from goalbound.models.files.array_file import FORMAT, check_keys, check_present, read_array_file, write_array_file
from goalbound.models.files.io import LIMIT, as_format_errors
from goalbound.models.files.saved_files import SavedFiles


class WrappedEpisode:
    """An episode around that of the learner inside, ``inner``; what is not said here is as it is there.

    Two are equal if they are of the same episode.
    """

    def __init__(self, learner: Any, inner: Any) -> None:
        self.learner = learner
        self.inner = inner

    __copy__ = deep_copy  # a copy of an episode comes with a copy of its learner

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("learner", "inner"):
            raise AttributeError(name)
        return getattr(self.inner, name)

    def begins(self, action: int | str) -> None:
        """A person begins another action than the one proposed
        (:meth:`LearnerEpisode.begins <goalbound.learners.episode.LearnerEpisode.begins>`)."""
        begin_action(self, action)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WrappedEpisode) and type(other) is type(self) and bool(self.inner == other.inner)

    def __hash__(self) -> int:
        return hash(self.inner)


E = TypeVar("E", bound=WrappedEpisode)


class EpisodeWrapper(Wrapper, Generic[E]):
    """Acts, or observes, otherwise than the learner inside; shown the same contexts and losses.

    A subclass has its episodes (``_episode_type``), how it is made around another learner (``_anew``), and what of it
    is in a file beside the learner: ``_header``, ``_arrays`` and ``_from_file``.
    """

    settings = InnerAttribute("The settings of the learner inside.")
    context_size = InnerAttribute("d")
    confidence_set = InnerAttribute("Its function of a context: what is plausible.")
    policy_bounds = InnerAttribute("Its function that bounds what a policy loses.")
    explain = InnerAttribute("Its function that says why it would play an action.")

    _kind: ClassVar[str]
    _version: ClassVar[int] = 1
    """of files that are written; all before it are read"""
    _since: ClassVar[Mapping[str, int]] = {}
    """the first version that has an array, where that is not 1"""
    _what: ClassVar[str]
    """in errors of files"""
    _keys: ClassVar[tuple[str, ...]]
    """of the header"""
    _difference: ClassVar[str]
    """what differs where a file is of another wrapper"""
    _episode_type: type[E]
    _files: SavedFiles

    def begin(self, context: ArrayLike, *, id: str | int | None = None) -> E:
        """An episode under a context; ``id`` is a name of yours, by which :meth:`episode` finds it."""
        return self._episode_type(self, self.inner.begin(context, id=id))

    @property
    def open_episodes(self) -> tuple[E, ...]:
        """The episodes that were begun, have not ended and are held by someone, in the order of begin."""
        return tuple(self._episode_type(self, one) for one in self.inner.open_episodes)

    def episode(self, id: str | int) -> E:
        """The open episode that was begun with this id."""
        return self._episode_type(self, self.inner.episode(id))

    def learn(self, context: ArrayLike, step: Step) -> None:
        """Learn from a step that anyone made under a context."""
        self.inner.learn(context, step)

    def learn_log(self, log: Iterable[tuple[ArrayLike, Step]]) -> int:
        """:meth:`learn` from ``(context, step)`` by ``(context, step)`` in the order of time; how many."""
        learned: int = self.inner.learn_log(log)
        return learned

    def anew(self) -> Self:
        """One with the same settings, around a learner with the same settings; nothing has happened yet."""
        return self._anew(made_anew(self.inner))

    def _anew(self, learner: Any) -> Self:
        """Another learner, with what was given to this one; nothing has happened yet."""
        raise NotImplementedError

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the learner, and all that is known around it, to one file.

        A file that this one neither read nor wrote is replaced only with ``overwrite``.
        """
        header = {"format": FORMAT, "version": self._version, "kind": self._kind, **self._header()}
        arrays = {"learner": bytes_of(self.inner), **self._arrays()}
        write_array_file(path, header, arrays, files=self._files, overwrite=overwrite)

    @classmethod
    def load(
        cls, path: str | PathLike[str], *, load_learner: Callable[..., Any] = LRCSSP.load, limit: int = LIMIT
    ) -> Self:
        """Read what :meth:`save` wrote; it goes on bit for bit, in the middle of an episode too.

        Args:
            path: the file.
            load_learner: reads the learner's own file, from its path (and ``limit=``): ``GreedyRidge.load``, ...
            limit: the most bytes that the file may have.
        """
        files, types = SavedFiles(), {"learner": "|u1", **cls._array_types()}
        header, arrays = read_array_file(
            path, kind=cls._kind, versions=range(1, cls._version + 1), arrays=types, what=cls._what, limit=limit,
            files=files,
        )  # fmt: skip
        with as_format_errors(path, cls._what):
            check_keys(header, cls._keys)
            check_present(arrays, [name for name in types if cls._since.get(name, 1) <= header["version"]])
            found = cls._from_file(loaded_from(arrays["learner"], load_learner, limit=limit), header, arrays)
        found._files = files
        return found

    def restored(self, path: str | PathLike[str], *, limit: int = LIMIT) -> Self:
        """:meth:`load`, for a file of one that was made like this one, around a learner with the same settings."""
        again = self.load(path, load_learner=self.inner.restored, limit=limit)
        if not self._made_like(again):
            raise FileFormatError(f"{path}: the {self._what} in it has {self._difference} than this one")
        return again

    def _made_like(self, other: Self) -> bool:
        """Whether another one was given the same, beside the learner."""
        raise NotImplementedError

    def _header(self) -> dict[str, Any]:
        """What is in the header of a file: the keys are ``_keys``."""
        raise NotImplementedError

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of a file, beside those of the learner."""
        raise NotImplementedError

    @classmethod
    def _array_types(cls) -> dict[str, str]:
        """Their names and types."""
        raise NotImplementedError

    @classmethod
    def _from_file(cls, inner: Any, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """From what was read, checked."""
        raise NotImplementedError
