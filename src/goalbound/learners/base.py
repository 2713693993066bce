"""What all learners of this package share: open episodes, whole episodes in compiled code, steps that anyone made,
files and copies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self
from weakref import WeakSet

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ArgumentError, FileFormatError, InputError, LearnerError, PlanningStopped
from goalbound.jit.compile import Effort
from goalbound.jit.records import named_arrays
from goalbound.learners.border import Border
from goalbound.learners.checks import check_log_support
from goalbound.learners.copying import copied_state, deep_copy, restore_state
from goalbound.learners.episode import LearnerEpisode
from goalbound.learners.own_card import checked_caveats, united_caveats
from goalbound.learners.visits import StepArrays, Visits, single_step
from goalbound.models import Step, Support
from goalbound.models.files.io import LIMIT
from goalbound.models.files.saved_files import SavedFiles
from goalbound.models.step import checked_step
from goalbound.models.validation import check_generator, short_repr

if TYPE_CHECKING:
    from goalbound.jit.compile import Kernel
    from goalbound.learners.audit import RegretAudit
    from goalbound.learners.episode_loop import Batch
    from goalbound.learners.plan import Plan
    from goalbound.learners.prior import PriorKnowledge
    from goalbound.learners.protocol import SimulatedEnvironment
    from goalbound.models import LinearCSSP
    from goalbound.models.simulated import EpisodeResults


class LearnerBase(Border):
    """A learner with a compiled loop and checkpoints: the base of
    :class:`~goalbound.learners.learner.RidgeLearner` and :class:`~goalbound.baselines.TabularLearner`.

    A subclass has ``begin``, ``plan`` and ``check_fits``, and the methods below that raise ``NotImplementedError``: how
    it chooses and learns, its compiled loop, and what of it is in a checkpoint.
    """

    kind: ClassVar[str]
    """The name of the class in checkpoints."""
    MOST_SWEEPS: ClassVar[int] = 1_000_000
    """The most sweeps of one plan; a plan that needs more is an error."""

    support: Support
    prior: PriorKnowledge | None = None
    """What was declared, or guessed, of single pairs."""
    settings: Any
    _constants: Any
    _state: Any

    def _init_base(
        self,
        support: Support,
        settings: Any,
        rng: np.random.Generator | None,
        *,
        count: Callable[[LearnerEpisode], None] | None = None,
    ) -> None:
        """Set what all learners have. ``count``: see :class:`~goalbound.learners.visits.Visits`."""
        self._rng = np.random.default_rng() if rng is None else check_generator(rng)
        self.support = support
        self.settings = settings
        self._effort = Effort()
        self._files = SavedFiles()
        self._visits = Visits(count)
        self._open: WeakSet[LearnerEpisode] = WeakSet()
        self._loaded: list[LearnerEpisode] = []  # held here until the one who loads them takes them
        self._named: dict[str | int, LearnerEpisode] = {}  # open ones with an id
        self._abandoned: dict[str, int] = {}
        self._caveats: tuple[str, ...] = ()
        self._taken: list[list[StepArrays]] = []

    __getstate__ = copied_state
    __setstate__ = restore_state
    __copy__ = deep_copy

    @property
    def context_size(self) -> int:
        """d"""
        size: int = self.settings.context_size
        return size

    def begin(self, context: ArrayLike, *, id: str | int | None = None) -> LearnerEpisode:
        """An episode under a context; ``id`` is a name of yours, by which :meth:`episode` finds it."""
        raise NotImplementedError

    @property
    def open_episodes(self) -> tuple[LearnerEpisode, ...]:
        """The episodes that were begun, have not ended and are still held by someone, in the order of begin.

        Those with an id and those of a checkpoint are held by the learner until they end or are abandoned, those with
        an action whose outcome is awaited until it comes.
        """
        self._loaded = [one for one in self._loaded if not one.ended]
        return tuple(sorted((one for one in self._open if not one.ended), key=lambda one: one.number))

    def episode(self, id: str | int) -> LearnerEpisode:
        """The open episode that was begun with this id.

        >>> from goalbound import LRCSSP, Support
        >>> learner = LRCSSP(Support.full(2, 2), 2, loss_floor=0.1)
        >>> _ = learner.begin([0.5, 0.5], id="case 17")
        >>> learner.episode("case 17").context
        array([0.5, 0.5])
        """
        if not isinstance(id, str | int | np.integer) or id not in self._named:
            some = ", ".join(repr(one) for one in list(self._named)[:8])
            more = f" and {len(self._named) - 8} more" if len(self._named) > 8 else ""
            raise LearnerError(
                f"no open episode has the id {short_repr(id)}; "
                + (f"there are {some}{more}" if some else "none that is open has one: begin(context, id=...)")
            )
        return self._named[id]

    @property
    def abandoned(self) -> dict[str, int]:
        """How many episodes were abandoned, by reason: the first 100 reasons by name, others together as "other"."""
        return dict(self._abandoned)

    @property
    def caveats(self) -> tuple[str, ...]:
        """Why nothing of this learner is proven, beside what its settings say; empty where there is no such reason.

        :meth:`learn_log` adds what a log says of itself (``validity_breaks`` of a :class:`~goalbound.logs.Log`),
        :meth:`add_caveat` what you know. They stay: in files and copies, and in learners that take over the data.
        """
        return self._caveats

    def add_caveat(self, reason: str) -> None:
        """Say why what was learned proves nothing: bounds, explanations and the card say it from then on.

        For what no log can show, such as actions that depended on something that was not recorded.

        >>> from goalbound import LRCSSP, Support
        >>> learner = LRCSSP(Support.full(2, 2), 2, loss_floor=0.1)
        >>> learner.add_caveat("urgent cases were treated otherwise, and urgency was not recorded")
        >>> learner.policy_bounds([0.5, 0.5]).proven, learner.card.guarantee
        (False, 'unproven')
        """
        self._caveats = united_caveats(self._caveats, checked_caveats([reason], "reason"))

    def check_fits(self, problem: LinearCSSP, context_size: int) -> None:
        """An error unless the learner can play this problem, shown contexts of this size."""
        raise NotImplementedError

    def play_episodes(
        self,
        environment: SimulatedEnvironment,
        contexts: NDArray[np.float64],
        values: NDArray[np.float64],
        *,
        step_limit: int,
        results: EpisodeResults,
        shown: NDArray[np.float64] | None = None,
        audit: RegretAudit | None = None,
    ) -> None:
        """Play one episode in a simulated environment for each of the contexts [K, d], in compiled code.

        The same episodes, to the bit, as ``begin``, ``act`` and ``observe`` give, with the same numbers drawn.
        ``values`` [K, S + 1] are the true optimal values, for the regret only. ``shown`` [K, d'] is what the learner
        sees instead of the contexts; ``audit`` (ridge learners) takes what only someone who knows the truth can see.
        """
        from goalbound.learners.episode_loop import Batch, play_batch

        batch = Batch.of(
            environment, contexts, values, step_limit=step_limit, results=results, shown=shown, audit=audit
        )
        self.check_fits(environment.problem, batch.seen.shape[1])
        self._before_playing(batch)
        ended = play_batch(self._loop_of(batch), batch, self._play, effort=self._effort, work=self._work_of_step)
        self._after_learning()
        if not ended:
            raise self._stopped()

    @property
    def _work_of_step(self) -> int:
        """About what a step costs, in next states that are looked at: it says when the compiler pays."""
        return self.support.triples

    def learn(self, context: ArrayLike, step: Step) -> None:
        """Learn from a step that was made under a context, whoever chose its action: a person, a rule, another learner.

        Sets stay valid as long as whoever chose knew no more of the outcome than what was seen before, and steps come
        here in the order in which they were made, whatever came of them; see docs/explanation/steps_by_anyone.md for
        what breaks it. Episodes and their intervals go on as they were; their next plans know what was learned.

        A step that cannot be is an error, and changes nothing.
        """
        plain, is_clipped = self._plain_step(step)
        self._take(single_step(*self._checked_step(context, plain)))
        self.clipped += is_clipped
        self._after_learning()

    def learn_log(self, log: Iterable[tuple[ArrayLike, Step]]) -> int:
        """:meth:`learn` from all of a log, ``(context, step)`` by ``(context, step)`` in the order of time, fast.

        The same bits as :meth:`learn` gives, one by one. Returns how many steps were learned. A wrong step is an error
        that says its number, from 0 on; those before it are learned, it and those after it are not. After Ctrl-C all
        steps of some beginning of the log are learned, and :attr:`statistics` counts them. What a log says of itself
        that breaks all proofs (``log.validity_breaks``) is in :attr:`caveats` from its first step on. A
        :class:`goalbound.logs.Log` was read with the states, the actions and the unit of the learner; another one is an
        error.

        >>> from goalbound import LRCSSP, Step, Support
        >>> learner = LRCSSP(Support.full(2, 2), 2, loss_floor=0.1)
        >>> learner.learn_log([([0.3, 0.7], Step(0, 1, 0.5, 1)), ([0.3, 0.7], Step(1, 0, 0.25, 2))])
        2
        """
        from goalbound.learners.step_log import StepReader, interrupts_wait

        learned = 0
        check_log_support(self.support, getattr(log, "support", None))
        breaks = checked_caveats(getattr(log, "validity_breaks", ()), "validity_breaks of the log")
        log, clipped_among = self._plain_log(log)
        clipped = self.clipped
        for steps, error in StepReader(self).chunks(log):
            with interrupts_wait():
                if len(steps.pairs):
                    self._caveats = united_caveats(self._caveats, breaks)
                self._take(steps)
                learned += len(steps.pairs)
                self.clipped = clipped + clipped_among(learned)
            self._after_learning()
            if isinstance(error, InputError):
                raise type(error)(
                    f"step {learned} of the log, from 0 on: {error} (the steps before it were learned)"
                ) from None
            if error is not None:
                raise error
        return learned

    def _take(self, steps: StepArrays) -> None:
        """Learn from steps, and hand them to whoever watches."""
        self._learn_steps(steps)
        for taken in self._taken:
            taken.append(steps)

    @contextmanager
    def _watched(self) -> Iterator[list[StepArrays]]:
        """Collect the steps that :meth:`learn` and :meth:`learn_log` learn meanwhile."""
        taken: list[StepArrays] = []
        self._taken.append(taken)
        try:
            yield taken
        finally:
            self._taken.remove(taken)

    def since(self, log: Any, time: Any) -> Any:
        """A learner with the same settings that has learned only the steps of a log from a time on
        (``log.window(since=time)``); this one stays as it is.

        For what is known to have changed then, such as a new version of the service. Where the time was chosen by what
        came of the steps nothing is proven: tell it by ``add_caveat``.
        """
        from goalbound.learners.layers import learned_since

        return learned_since(self, log, time)

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the learner and its open episodes to a file, exactly and atomically; :meth:`load` reads it back.

        What is loaded goes on as if there had been no stop, bit for bit, in the middle of an episode too.

        A file that this learner neither read nor wrote, or that was saved by someone else since, is not replaced but a
        :class:`~goalbound.errors.FileConflictError`, unless ``overwrite`` is set.
        """
        from goalbound.learners.checkpoint import write_checkpoint

        write_checkpoint(self, path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | PathLike[str], *, limit: int = LIMIT, rooms: Iterable[Any] = ()) -> Self:
        """Read a learner written by :meth:`save`; its episodes are in ``open_episodes``.

        ``limit`` is the most bytes that the file may have: 4 GiB, and more only if it is asked for. ``rooms`` are
        confidence models and exploration rules of your own that the learner was made with: nothing is imported.
        """
        from goalbound.learners.checkpoint import read_checkpoint

        return read_checkpoint(cls, path, limit=limit, rooms=rooms)

    @property
    def _rooms(self) -> tuple[Any, ...]:
        """What of it may be a room of a third party, which a file names and does not hold."""
        return ()

    def restored(self, path: str | PathLike[str], *, limit: int = LIMIT) -> Self:
        """:meth:`load`, for a file whose learner has the settings of this one; else an error."""
        learner = self.load(path, limit=limit, rooms=self._rooms)
        mine, theirs = self._given_arrays(), learner._given_arrays()
        same = mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)
        same = same and (learner.settings, learner.support) == (self.settings, self.support)
        if not same or not learner._has_unit_of(self):
            raise FileFormatError(f"{path}: the learner in it has other settings: {learner}, not {self}")
        return learner

    def __repr__(self) -> str:
        inside = repr(self.support).removeprefix("Support(")[:-1]
        described = [inside, *self._described(), *self._described_unit(), f"{self._steps} steps"]
        return f"{type(self).__name__}({', '.join(described)})"

    def _stopped(self) -> PlanningStopped:
        return PlanningStopped(
            f"value iteration did not settle in {self.MOST_SWEEPS} sweeps; the goal may be out of reach in the model "
            "that was planned in, or the least loss is too small for the distances: raise loss_floor or tolerance"
        )

    # What a subclass has: how it plays and learns, and what of it is in a file.

    def _checked_id(self, id: Any) -> str | int | None:
        """What ``begin`` was given; an id is a name or a number that no open episode has."""
        if id is None:
            return None
        if isinstance(id, np.integer):
            id = int(id)
        if type(id) is not int and (not isinstance(id, str) or not id):
            raise ArgumentError(f"id is {short_repr(id)}; give a name or a whole number, or leave it out")
        if id in self._named:
            raise LearnerError(
                f"an open episode has the id {short_repr(id)} already; learner.episode({short_repr(id)}) is that one"
            )
        return str(id) if isinstance(id, str) else id

    def _checked_context(self, context: Any) -> NDArray[np.float64]:
        """[d] as it is learned from; else an error."""
        raise NotImplementedError

    def _checked_step(self, context: Any, step: Any) -> tuple[NDArray[np.float64], int, int, float]:
        """A context, and the pair, the place and the loss of a step; else an error that says what is wrong."""
        weights = self._checked_context(context)
        pair, place = checked_step(self.support, step)
        if self.prior is not None:
            self.prior.check_step(pair, place, weights)
        return weights, pair, place, float(step[2])

    def _new_episode_state(self) -> Any:
        """The arrays of an episode."""
        raise NotImplementedError

    def _choose(self, episode_state: Any, state: int, allowed: NDArray[np.int64] | None) -> int:
        """The pair to play in a state, of those that are allowed (None: all). Plans if need be."""
        raise NotImplementedError

    def _before_visit(self, episode: LearnerEpisode, pair: int) -> None:
        """What is to be said of a visit before its outcome is known."""

    def _observe(self, episode: LearnerEpisode, pair: int, place: int, loss: float) -> None:
        """Learn from what came of the pair."""
        raise NotImplementedError

    def _override(self, episode: LearnerEpisode, pair: int, place: int, loss: float) -> None:
        """Learn from a step of an episode that it did not propose."""
        raise NotImplementedError

    def _note_known(self, episode: LearnerEpisode) -> None:
        """What was learned until now was known when the episode arrived in its state."""

    def _learn_steps(self, steps: StepArrays) -> None:
        """Learn from steps that anyone chose."""
        raise NotImplementedError

    def _after_learning(self) -> None:
        """What is to be checked and said after outcomes were learned from."""

    def _held_plan(self, episode_state: Any) -> Plan | None:
        """The plan that an episode holds; None where plans are the learner's."""
        return None

    def _before_playing(self, batch: Batch) -> None:
        """What is to be checked or done before whole episodes are played."""

    def _loop_of(self, batch: Batch) -> Kernel:
        """The kernel that plays whole episodes."""
        raise NotImplementedError

    def _play(self, run: Callable[..., Any], part: Batch) -> int:
        """Play these episodes by a form of the kernel; how many came to their end."""
        raise NotImplementedError

    @property
    def _steps(self) -> int:
        raise NotImplementedError

    def _described(self) -> list[str]:
        """What ``repr`` says of it, beside support and steps."""
        raise NotImplementedError

    _settings_type: ClassVar[type[Any]]

    @classmethod
    def _settings_from(cls, values: dict[str, Any], rooms: Iterable[Any]) -> Any:
        """The settings of a file; ``rooms`` are those of third parties."""
        return cls._settings_type.from_json(values)

    def _given_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that it was given, by their names in a file."""
        raise NotImplementedError

    def _state_in_file(self) -> Any:
        """Its state, without room for what was not seen yet."""
        return self._state

    def _state_arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """The arrays that say what it has learned, by their names in a file, as writable views."""
        return named_arrays("state", self._state_in_file())

    @classmethod
    def _from_file(
        cls, support: Support, settings: Any, arrays: Mapping[str, NDArray[Any]], rng: np.random.Generator | None
    ) -> Self:
        """One with these settings, and those of the arrays of a file that it was given; nothing is learned yet."""
        raise NotImplementedError

    def _check_state(self) -> None:
        """An error unless what was read from a file fits together."""
        raise NotImplementedError

    def _check_episode_states(self, states: Any, awaits: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """An error unless the arrays of episodes fit together; else [K] which of them have a plan.

        ``states`` is the state of an episode whose arrays have an axis in front, that of the K episodes; ``awaits`` [K]
        says which of them await the outcome of an action.
        """
        raise NotImplementedError
