"""A learner whose losses are in a unit of the user's own: minutes, euros."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from os import PathLike
from typing import Any

from numpy.typing import ArrayLike

from goalbound.around.episode_wrapper import WrappedEpisode
from goalbound.around.wrapper import Wrapper, begin_inner, bytes_of, inner_method, loaded_from
from goalbound.errors import ArgumentError, FileFormatError
from goalbound.learners.anew import made_anew
from goalbound.learners.card import Card, learner_card
from goalbound.learners.checks import check_learner
from goalbound.learners.layers import unwrap
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.models import LossScale, Step, Support
from goalbound.models.files.array_file import FORMAT, check_keys, check_present, read_array_file, write_array_file
from goalbound.models.files.io import LIMIT, as_format_errors
from goalbound.models.files.saved_files import SavedFiles
from goalbound.models.validation import check_type

KIND, VERSION = "InUnits", 1
_MISSING = object()


class InUnits(Wrapper):
    """Takes losses in a unit of the user's own, and shows values and bounds in it. All else is the learner inside,
    whose losses are in [0, 1]: its settings, statistics, estimate and confidence sets.

    Args:
        learner: any learner; one by ridge regression has all of the methods below. Its loss floor is a loss of [0, 1]:
            ``scale.from_unit(2.5)``.
        scale: the unit, what a loss of 1 is, and what becomes of losses above it.

    Attributes:
        loss_scale: the scale.
        clipped: how many losses that were learned from were above the cap, and counted as the cap.

    Simulated environments have losses in [0, 1]: :func:`goalbound.play` takes the learner inside.

    >>> from goalbound import LRCSSP, LossScale, Step, Support
    >>> scale = LossScale("min", cap=60)
    >>> support = Support.from_pairs([{0: [0, 1]}], state_names=["down"], action_names=["restart"])
    >>> learner = InUnits(LRCSSP(support, 1, loss_floor=scale.from_unit(2.5)), scale)
    >>> learner.learn([1.0], Step("down", "restart", 12.0, "goal"))
    >>> print(learner.plan([1.0]))
    0 of 1 pairs known; loss bound 60 min
    state 0 ("down")  2.5 min       action 0 ("restart")
    """

    card = Card(lambda wrapper: learner_card(wrapper.inner))

    def __init__(self, learner: Any, scale: LossScale) -> None:
        check_learner(learner)
        self.loss_scale = check_type(scale, LossScale, "scale", 'give a LossScale, such as LossScale("min", cap=60)')
        if isinstance(learner, InUnits):
            raise ArgumentError(f"learner has a unit already, {learner.loss_scale.unit}; give the learner inside")
        self.inner = learner
        self.clipped = 0
        self._files = SavedFiles()

    def begin(self, context: Any, *, id: str | int | None = None) -> EpisodeInUnits:
        """An episode that observes losses in the unit; ``id`` is for learners that know one."""
        return EpisodeInUnits(self, begin_inner(self.inner, context, id))

    @property
    def open_episodes(self) -> tuple[EpisodeInUnits, ...]:
        """Those of the learner inside."""
        return tuple(EpisodeInUnits(self, one) for one in self.inner.open_episodes)

    def episode(self, id: str | int) -> EpisodeInUnits:
        """The open episode that was begun with this id."""
        return EpisodeInUnits(self, self.inner.episode(id))

    def learn(self, context: Any, step: Step) -> None:
        """Learn from a step that anyone made, with its loss in the unit. A wrong one is an error and changes
        nothing."""
        converted, is_clipped = self._converted(step)
        self.inner.learn(context, converted)
        self.clipped += is_clipped

    def learn_log(self, log: Iterable[tuple[Any, Step]]) -> int:
        """:meth:`learn` from ``(context, step)`` by ``(context, step)``, as the learner inside does; how many.

        A :class:`~goalbound.logs.Log` was converted when it was read. It must have been with this scale.
        """
        scale = getattr(log, "loss_scale", _MISSING)
        if scale is not _MISSING:
            return self._learn_converted(log, scale)
        flags: list[bool] = []
        before = getattr(unwrap(self.inner), "_steps", None)
        try:
            learned: int = self.inner.learn_log(self._all_converted(log, flags))
        except BaseException:
            # Learners of this package read ahead; one that learns step by step has read just the wrong one.
            after = getattr(unwrap(self.inner), "_steps", None)
            done = max(len(flags) - 1, 0) if before is None or after is None else after - before
            self.clipped += sum(flags[:done])
            raise
        self.clipped += sum(flags[:learned])
        return learned

    def _learn_converted(self, log: Any, scale: Any) -> int:
        if scale != self.loss_scale:
            was = "no unit: its losses are in [0, 1]" if scale is None else f"another scale: {scale}"
            raise ArgumentError(
                f"the log was read with {was}, and the learner has {self.loss_scale}; read it with the learner's "
                "loss_scale"
            )
        learned: int = self.inner.learn_log(log)
        self.clipped += getattr(log, "clipped", 0)
        return learned

    def merge(self, other: InUnits) -> None:
        """Add what another learner with the same scale has seen; the learners inside say what can be merged."""
        check_type(other, InUnits, "other", "a learner with the same scale")
        if other.loss_scale != self.loss_scale:
            raise ArgumentError(f"other has the scale {other.loss_scale}, not {self.loss_scale}; its losses are others")
        inner_method(self.inner, "merge")(other.inner)
        self.clipped += other.clipped

    def around(self, learner: Any) -> InUnits:
        """Another learner with this unit and this count, such as a copy of the one inside."""
        found = InUnits(learner, self.loss_scale)
        found.clipped = self.clipped
        return found

    def anew(self) -> InUnits:
        """The learner with this unit, as if nothing had been seen."""
        return InUnits(made_anew(self.inner), self.loss_scale)

    def relearned(self, **options: Any) -> InUnits:
        """The learner that has forgotten what changed, with this unit; for learners with a
        :class:`~goalbound.Monitored` inside, whose ``relearned`` takes the options."""
        return self.around(inner_method(self.inner, "relearned")(**options))

    def extended(self, support: Support, **others: Any) -> InUnits:
        """The learner on a larger support with this unit; for learners that have ``extended``. ``others`` are what
        theirs takes besides, as the ``runbook`` of an apprentice."""
        return self.around(inner_method(self.inner, "extended")(support, **others))

    def with_settings(self, **settings: Any) -> InUnits:
        """The learner under other settings with this unit; for learners that have ``with_settings``. Losses among the
        settings are in [0, 1]."""
        return self.around(inner_method(self.inner, "with_settings")(**settings))

    def progress(self, context: Any) -> Any:
        """What an apprentice would do from each state and why, in the unit; for learners that have ``progress``."""
        return inner_method(self.inner, "progress")(context).in_unit(self.loss_scale)

    def plan(self, context: Any) -> Any:
        """What the learner would do now, with values in the unit."""
        return inner_method(self.inner, "plan")(context).in_unit(self.loss_scale)

    def policy_bounds(self, context: Any, policy: ArrayLike | Mapping[Any, Any] | None = None) -> Any:
        """What a policy loses at least and at most, in the unit; for learners that have ``policy_bounds``."""
        return inner_method(self.inner, "policy_bounds")(context, policy).in_unit(self.loss_scale)

    def robust_plan(self, context: Any) -> Any:
        """The safest policy and its bounds in the unit; for learners that have ``robust_plan``."""
        return inner_method(self.inner, "robust_plan")(context).in_unit(self.loss_scale)

    def explain(self, context: Any, state: int | str) -> Any:
        """Why the learner would play what it plays in a state, with losses and values in the unit."""
        return inner_method(self.inner, "explain")(context, state).in_unit(self.loss_scale)

    def confidence_set(self, context: Any) -> Any:
        """What is plausible, with losses in [0, 1]; for learners that have ``confidence_set(context)``."""
        return inner_method(self.inner, "confidence_set")(context)

    @property
    def context_size(self) -> int | None:
        """d, of learners that say it."""
        size: int | None = getattr(self.inner, "context_size", None)
        return size

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the scale, the count and the learner (by its own ``save``) to one file; complete or not at all.

        A file that this learner neither read nor wrote, or that was saved by someone else since, is not replaced but a
        :class:`~goalbound.errors.FileConflictError`, unless ``overwrite`` is set.
        """
        header = {
            "format": FORMAT, "version": VERSION, "kind": KIND, "scale": self.loss_scale.as_json(),
            "clipped": self.clipped,
        }  # fmt: skip
        write_array_file(path, header, {"learner": bytes_of(self.inner)}, files=self._files, overwrite=overwrite)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        load_learner: Callable[..., Any] = LRCSSP.load,
        limit: int = LIMIT,
    ) -> InUnits:
        """Read what :meth:`save` wrote. Nothing is executed, and the learner resumes bit for bit.

        Args:
            path: the file.
            load_learner: reads the learner's own file, from its path (and ``limit=``, if it has one).
            limit: the most bytes that the file may have.
        """
        files = SavedFiles()
        header, arrays = read_array_file(
            path, kind=KIND, versions=[VERSION], arrays={"learner": "|u1"}, what="learner with its unit",
            limit=limit, files=files,
        )  # fmt: skip
        with as_format_errors(path, "learner"):
            check_keys(header, ("scale", "clipped"))
            check_present(arrays, ["learner"])
            clipped = header["clipped"]
            if type(clipped) is not int or not 0 <= clipped < 2**62:
                raise FileFormatError(f"clipped is {clipped!r:.200}; it is a whole number, not negative")
            scale = LossScale.from_json(header["scale"])
            learner = cls(loaded_from(arrays["learner"], load_learner, limit=limit), scale)
        learner.clipped = clipped
        learner._files = files
        return learner

    def restored(self, path: str | PathLike[str], *, limit: int = LIMIT) -> InUnits:
        """One with the same scale that continues from the file of :meth:`save`; its learner was made as this one's."""
        learner = self.load(path, load_learner=self.inner.restored, limit=limit)
        if learner.loss_scale != self.loss_scale:
            raise FileFormatError(
                f"{path}: the learner in it has the scale {learner.loss_scale}, not {self.loss_scale}"
            )
        return learner

    def _converted(self, step: Any) -> tuple[Any, bool]:
        """A step with its loss in [0, 1], and whether that was clipped. What is no step is left to the learner."""
        if not isinstance(step, tuple | list) or len(step) != 4:
            return step, False
        state, action, amount, following = step
        try:
            loss = self.loss_scale.from_unit(amount)
            is_clipped = bool(self.loss_scale.beyond_cap(amount).any())
        except ArgumentError as error:
            raise ArgumentError(f"the loss of the step: {error}") from None
        if not isinstance(loss, float):
            raise ArgumentError(f"the loss of the step is an array of shape {loss.shape}; it is one number")
        return Step(state, action, loss, following), is_clipped

    def _all_converted(self, log: Iterable[Any], flags: list[bool]) -> Iterator[Any]:
        """The items of a log, converted; ``flags`` gets whether each was clipped."""
        for item in _items(log):
            if isinstance(item, tuple | list) and len(item) == 2:
                converted, is_clipped = self._converted(item[1])
                flags.append(is_clipped)
                yield item[0], converted
            else:
                flags.append(False)
                yield item

    def __repr__(self) -> str:
        return f"InUnits({self.loss_scale.cap:g} {self.loss_scale.unit}, {self.inner!r})"


class EpisodeInUnits(WrappedEpisode):
    """An episode of the learner inside that observes losses, and has a plan, in the unit."""

    learner: InUnits

    def observe(self, step: Step, *, overridden: bool = False) -> None:
        """What came of the action, with its loss in the unit; ``overridden`` is for learners that know it."""
        converted, is_clipped = self.learner._converted(step)
        if overridden is False:
            self.inner.observe(converted)
        else:
            self.inner.observe(converted, overridden=overridden)
        self.learner.clipped += is_clipped

    def explain(self, *, allowed: Iterable[Any] | None = None) -> Any:
        """Why the action that is awaited was proposed, with losses and values in the unit."""
        return self.inner.explain(allowed=allowed).in_unit(self.learner.loss_scale)

    @property
    def plan(self) -> Any:
        """The plan that is held, with values in the unit; None: the next ``act`` makes a new one."""
        held = self.inner.plan
        return None if held is None else held.in_unit(self.learner.loss_scale)


def _items(log: Any) -> Iterator[Any]:
    try:
        return iter(log)
    except TypeError:
        raise ArgumentError(
            f"the log is of the type {type(log).__name__}; give something that iterates over (context, step)"
        ) from None
