"""A learner that takes raw covariates, saved together with the map that it has learned with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from goalbound.adapters.covariates.covariate_map import CovariateMap, check_map
from goalbound.adapters.covariates.serialization import check_digest, map_as_json, map_digest, map_from_json
from goalbound.around.around import Around
from goalbound.errors import ArgumentError, FileFormatError
from goalbound.learners.card import MAPPED, wrapped_card
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.own_card import Card
from goalbound.models import Step
from goalbound.models.files.io import LIMIT

_NO_LOG = object()


class CovariateLearner(Around):
    """Begins episodes from raw covariates: the map makes a context of them, and the learner does the rest.

    Args:
        map: frozen; what the learner has learned holds for this map only.
        learner: any learner whose contexts have the map's size.

    Attributes:
        begun: how many episodes were begun.
        outside: [n] in how many of them a column was out of range (and clamped).
        missing: [n] in how many of them a column was missing (and filled).

    >>> from goalbound import Support
    >>> from goalbound.adapters.covariates import Hats
    >>> learner = CovariateLearner(Hats([20, 80], clamp=True), LRCSSP(Support.full(2, 2), 2, loss_floor=0.1))
    >>> learner.begin(35).context, learner.begin(90).context
    (array([0.75, 0.25]), array([0., 1.]))
    >>> learner.begun, learner.outside
    (2, array([1]))
    """

    card = Card(lambda wrapper: wrapped_card(wrapper.inner, MAPPED))
    _what = "learner with its map"
    _counted = ("digest", "begun", "outside", "missing")
    _hidden = ("play_episodes", "context_size")
    _difference = "another map: its contexts mean something else, so its data cannot be added"

    def __init__(self, map: CovariateMap, learner: Any) -> None:
        check_map(map)
        super().__init__(learner)
        size = getattr(learner, "context_size", None)
        if size is not None and size != map.context_size:
            raise ArgumentError(f"the map gives contexts of {map.context_size} entries, and the learner knows {size}")
        self.map = map
        self.begun = 0
        self.outside: NDArray[np.int64] = np.zeros(len(map.column_names), dtype=np.int64)
        self.missing: NDArray[np.int64] = np.zeros(len(map.column_names), dtype=np.int64)

    def _see(self, context: Any) -> Any:
        return self.map(context)

    def begin(self, covariates: Any, *, id: str | int | None = None) -> Any:
        """An episode for these covariates; what the map rejects is an error, and no episode. ``id`` is for learners
        that know one."""
        result = self.map.apply([covariates])
        seen = result.single()
        episode = self.inner.begin(seen) if id is None else self.inner.begin(seen, id=id)
        self.begun += 1
        self.outside += result.outside[0]
        self.missing += result.missing[0]
        return episode

    def learn_log(self, log: Iterable[tuple[Any, Step]]) -> int:
        """:meth:`learn` from ``(covariates, step)`` by ``(covariates, step)``, as the learner inside does; how many.

        A :class:`~goalbound.logs.Log` holds contexts already. It must have been read with the map of this learner, and
        is given to the learner inside.
        """
        digest = getattr(log, "map_digest", _NO_LOG)
        if digest is _NO_LOG:
            return super().learn_log(log)
        self._check_same_map(digest)
        learned: int = self.inner.learn_log(log)
        return learned

    def _check_same_map(self, digest: Any) -> None:
        """An error unless the contexts of a log were made by a map with the digest of this learner's."""
        own = map_digest(self.map)  # an error for a map that has none
        if digest != own:
            was = "no map that has a digest" if digest is None else f"another map (digest {digest!s:.12}...)"
            raise ArgumentError(
                f"the log holds contexts already, made by {was}, and the map of this learner has the digest "
                f"{own[:12]}...; read the log with covariate_map=learner.map. If the contexts are the right ones, "
                "learner.inner.learn_log(log) learns from them as they are"
            )

    def _again(self, inner: Any, **given: Any) -> Self:
        return type(self)(self.map, inner)

    def _made_like(self, other: Self) -> bool:
        return bool(map_digest(other.map) == map_digest(self.map))

    def _add(self, other: Self) -> None:
        self.begun += other.begun
        self.outside += other.outside
        self.missing += other.missing

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        map: CovariateMap | None = None,
        load_learner: Callable[..., Any] = LRCSSP.load,
        limit: int = LIMIT,
    ) -> Self:
        """Read what :meth:`save` wrote. Nothing is executed, and the learner resumes bit for bit.

        Args:
            path: the file.
            map: the map that the learner must have learned with; another one is rejected. Needed where the file cannot
                hold the map (:class:`FromTransformer`). Left out, it is the one in the file.
            load_learner: reads the learner's own file, from its path (and ``limit=``, if it has one).
            limit: the most bytes that the file may have.
        """
        return cls._read(path, load_learner, limit, map=map)

    def restored(self, path: str | PathLike[str], *, limit: int = LIMIT) -> Self:
        """One with the same map that continues from the file of :meth:`save`; its learner was made as this one's."""
        return self.load(path, map=self.map, load_learner=self.inner.restored, limit=limit)

    def _saved(self) -> dict[str, Any]:
        counts = {"begun": self.begun, "outside": self.outside.tolist(), "missing": self.missing.tolist()}
        return {"map": map_as_json(self.map), "digest": map_digest(self.map), **counts}

    @classmethod
    def _from_file(cls, inner: Any, saved: Mapping[str, Any], **given: Any) -> Self:
        known = map_from_json(saved["map"]) if given["map"] is None else given["map"]
        check_digest(known, saved["digest"])
        return cls(known, inner)

    def _restore(self, saved: Mapping[str, Any]) -> None:
        begun, width = saved["begun"], len(self.map.column_names)
        if type(begun) is not int or not 0 <= begun < 2**62:
            raise FileFormatError(f"begun is {begun!r}; it is a whole number, not negative")
        self.begun = begun
        for name in ("outside", "missing"):
            counts = saved[name]
            fine = isinstance(counts, list) and len(counts) == width
            if not fine or not all(type(one) is int and 0 <= one <= begun for one in counts):
                raise FileFormatError(f"{name} is {counts!r}; it needs {width} whole numbers from 0 to {begun}")
            getattr(self, name)[:] = counts

    def __repr__(self) -> str:
        return f"CovariateLearner({type(self.map).__name__} of {self.map.context_size} components, {self.inner!r})"
