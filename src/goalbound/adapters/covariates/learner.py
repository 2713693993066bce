"""A learner that takes raw covariates, saved together with the map that it has learned with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.adapters.covariates.covariate_map import CovariateMap, check_map
from goalbound.adapters.covariates.serialization import check_digest, map_as_json, map_digest, map_from_json
from goalbound.around.wrapper import Wrapper, begin_inner, bytes_of, inner_method, loaded_from, with_contexts
from goalbound.errors import ArgumentError, FileFormatError
from goalbound.learners.anew import made_anew
from goalbound.learners.card import MAPPED, Card, wrapped_card
from goalbound.learners.checks import check_learner
from goalbound.learners.layers import unwrap
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.protocol import Episode
from goalbound.models import Step, Support
from goalbound.models.files.array_file import FORMAT, check_keys, check_present, read_array_file, write_array_file
from goalbound.models.files.io import LIMIT, as_format_errors
from goalbound.models.files.saved_files import SavedFiles
from goalbound.models.validation import check_type

KIND, VERSION = "CovariateLearner", 1
_COUNTS = ("begun", "outside", "missing")
_NO_LOG = object()


class CovariateLearner(Wrapper):
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

    def __init__(self, map: CovariateMap, learner: Any) -> None:
        check_map(map)
        check_learner(learner)
        size = _context_size(learner)
        if size is not None and size != map.context_size:
            raise ArgumentError(f"the map gives contexts of {map.context_size} entries, and the learner knows {size}")
        self.map = map
        self.inner = learner
        self._files = SavedFiles()
        self.begun = 0
        self.outside: NDArray[np.int64] = np.zeros(len(map.column_names), dtype=np.int64)
        self.missing: NDArray[np.int64] = np.zeros(len(map.column_names), dtype=np.int64)

    def begin(self, covariates: Any, *, id: str | int | None = None) -> Episode:
        """An episode for these covariates; what the map rejects is an error, and no episode. ``id`` is for learners
        that know one."""
        result = self.map.apply([covariates])
        episode: Episode = begin_inner(self.inner, result.single(), id)
        self.begun += 1
        self.outside += result.outside[0]
        self.missing += result.missing[0]
        return episode

    def learn(self, covariates: Any, step: Step) -> None:
        """Let the learner learn from a step that anyone made under these covariates; ``begun``, ``outside`` and
        ``missing`` count episodes, so they stay as they are."""
        self.inner.learn(self.map(covariates), step)

    def learn_log(self, log: Iterable[tuple[Any, Step]]) -> int:
        """:meth:`learn` from ``(covariates, step)`` by ``(covariates, step)``, as the learner inside does; how many.

        A :class:`~goalbound.logs.Log` holds contexts already. It must have been read with the map of this learner, and
        is given to the learner inside.
        """
        digest = getattr(log, "map_digest", _NO_LOG)
        if digest is not _NO_LOG:
            self._check_same_map(digest)
        learned: int = self.inner.learn_log(log if digest is not _NO_LOG else with_contexts(log, self.map))
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

    @property
    def caveats(self) -> tuple[str, ...]:
        """Why nothing of the learner inside is proven, beside what its settings say."""
        found: tuple[str, ...] = getattr(unwrap(self), "caveats", ())
        return found

    def merge(self, other: CovariateLearner) -> None:
        """Add what another learner with the same map has seen; the learners inside say what can be merged."""
        check_type(other, CovariateLearner, "other", "a learner that is shown covariates, with the same map")
        if map_digest(other.map) != map_digest(self.map):
            raise ArgumentError("other has another map: its contexts mean something else, so its data cannot be added")
        inner_method(self.inner, "merge")(other.inner)
        self.begun += other.begun
        self.outside += other.outside
        self.missing += other.missing

    def anew(self) -> CovariateLearner:
        """The learner behind this map, as if nothing had been seen."""
        return CovariateLearner(self.map, made_anew(self.inner))

    def relearned(self, **options: Any) -> CovariateLearner:
        """The learner that has forgotten what changed, behind this map; for learners with a
        :class:`~goalbound.Monitored` inside, whose ``relearned`` takes the options."""
        return self._around(inner_method(self.inner, "relearned")(**options))

    def extended(self, support: Support, **others: Any) -> CovariateLearner:
        """The learner on a larger support, behind the same map; for learners that have ``extended``. ``others`` are
        what theirs takes besides, as the ``runbook`` of an apprentice."""
        return self._around(inner_method(self.inner, "extended")(support, **others))

    def with_settings(self, **settings: Any) -> CovariateLearner:
        """The learner under other settings, behind the same map; for learners that have ``with_settings``."""
        return self._around(inner_method(self.inner, "with_settings")(**settings))

    def _around(self, learner: Any) -> CovariateLearner:
        """Another learner behind this map, with these counts."""
        found = CovariateLearner(self.map, learner)
        found.begun, found.outside, found.missing = self.begun, self.outside.copy(), self.missing.copy()
        return found

    def progress(self, covariates: Any) -> Any:
        """What an apprentice would do from each state for these covariates; for learners that have ``progress``."""
        return inner_method(self.inner, "progress")(self.map(covariates))

    def plan(self, covariates: Any) -> Any:
        """What the learner would do now; for learners that have a ``plan(context)``."""
        return inner_method(self.inner, "plan")(self.map(covariates))

    def confidence_set(self, covariates: Any) -> Any:
        """What is plausible for these covariates; for learners that have ``confidence_set(context)``."""
        return inner_method(self.inner, "confidence_set")(self.map(covariates))

    def policy_bounds(self, covariates: Any, policy: ArrayLike | Mapping[Any, Any] | None = None) -> Any:
        """What a policy loses for these covariates, at least and at most; for learners that have ``policy_bounds``."""
        return inner_method(self.inner, "policy_bounds")(self.map(covariates), policy)

    def robust_plan(self, covariates: Any) -> Any:
        """The policy with the least worst case for these covariates; for learners that have ``robust_plan``."""
        return inner_method(self.inner, "robust_plan")(self.map(covariates))

    def explain(self, covariates: Any, state: int | str) -> Any:
        """Why the learner would play what it plays in a state; for learners that have ``explain``."""
        return inner_method(self.inner, "explain")(self.map(covariates), state)

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the map, the counts and the learner (by its own ``save``) to one file; complete or not at all.

        A file that this learner neither read nor wrote, or that was saved by someone else since, is not replaced but a
        :class:`~goalbound.errors.FileConflictError`, unless ``overwrite`` is set.
        """
        header = {
            "format": FORMAT, "version": VERSION, "kind": KIND,
            "map": map_as_json(self.map), "digest": map_digest(self.map),
            "begun": self.begun, "outside": self.outside.tolist(), "missing": self.missing.tolist(),
        }  # fmt: skip
        write_array_file(path, header, {"learner": bytes_of(self.inner)}, files=self._files, overwrite=overwrite)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        map: CovariateMap | None = None,
        load_learner: Callable[..., Any] = LRCSSP.load,
        limit: int = LIMIT,
    ) -> CovariateLearner:
        """Read what :meth:`save` wrote. Nothing is executed, and the learner resumes bit for bit.

        Args:
            path: the file.
            map: the map that the learner must have learned with; another one is rejected. Needed where the file cannot
                hold the map (:class:`FromTransformer`). Left out, it is the one in the file.
            load_learner: reads the learner's own file, from its path (and ``limit=``, if it has one).
            limit: the most bytes that the file may have.
        """
        files = SavedFiles()
        header, arrays = read_array_file(
            path, kind=KIND, versions=[VERSION], arrays={"learner": "|u1"}, what="learner with its map",
            limit=limit, files=files,
        )  # fmt: skip
        with as_format_errors(path, "learner"):
            check_keys(header, ("map", "digest", *_COUNTS))
            check_present(arrays, ["learner"])
            found = map_from_json(header["map"]) if map is None else map
            check_digest(found, header["digest"])
            learner = cls(found, loaded_from(arrays["learner"], load_learner, limit=limit))
            learner._restore_counts(header)
        learner._files = files
        return learner

    def restored(self, path: str | PathLike[str], *, limit: int = LIMIT) -> CovariateLearner:
        """One with the same map that continues from the file of :meth:`save`; its learner was made as this one's."""
        return self.load(path, map=self.map, load_learner=self.inner.restored, limit=limit)

    def _restore_counts(self, header: dict[str, Any]) -> None:
        """The counts of a file, checked."""
        begun, width = header["begun"], len(self.map.column_names)
        if type(begun) is not int or not 0 <= begun < 2**62:
            raise FileFormatError(f"begun is {begun!r}; it is a whole number, not negative")
        self.begun = begun
        for name in ("outside", "missing"):
            counts = header[name]
            fine = isinstance(counts, list) and len(counts) == width
            if not fine or not all(type(one) is int and 0 <= one <= begun for one in counts):
                raise FileFormatError(f"{name} is {counts!r}; it needs {width} whole numbers from 0 to {begun}")
            getattr(self, name)[:] = counts

    def __repr__(self) -> str:
        return f"CovariateLearner({type(self.map).__name__} of {self.map.context_size} components, {self.inner!r})"


def _context_size(learner: Any) -> int | None:
    """d, of learners that say it."""
    settings = getattr(learner, "settings", None)
    size: int | None = getattr(learner, "context_size", getattr(settings, "context_size", None))
    return size
