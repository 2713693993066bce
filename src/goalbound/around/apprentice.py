"""A learner that acts as a runbook says until it is sure that another policy is no worse."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.around.apprentice_episode import ApprenticeEpisode, Lead
from goalbound.around.apprentice_progress import LEARNER, RUNBOOK, ApprenticeProgress, tested_progress
from goalbound.around.episode_wrapper import EpisodeWrapper
from goalbound.around.runbook import checked_runbook, extended_runbook, wrapped_learner_error
from goalbound.around.wrapper import Wrapper
from goalbound.errors import ArgumentError, FileFormatError
from goalbound.learners.card import Card, apprentice_card
from goalbound.learners.episode import LearnerEpisode
from goalbound.learners.explanation import OWN_PLAN, Explanation
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.models import Support
from goalbound.models.files.saved_files import SavedFiles
from goalbound.models.validation import check_float, check_type, set_readonly, short_repr
from goalbound.planning.policy_bounds import policy_pairs

Ints = NDArray[np.int64]
_BY = "bounds"
"""The test, as files of version 1 name it."""


class Apprentice(EpisodeWrapper[ApprenticeEpisode]):
    """Follows a runbook, and learns from all steps, until another policy is sure to be no worse.

    At the first ``act`` of an episode the test is made for all states, by what was learned until then. The episode
    plays the runbook until it comes to a state from which the test is passed; from there on it plays the candidate to
    the goal. What is learned meanwhile counts in later episodes.

    Args:
        learner: an :class:`~goalbound.learners.lr_cssp.LRCSSP`.
        runbook: an action for each state, by numbers or names, as :func:`goalbound.policy_bounds` takes it.
        margin: how much more an episode may lose than by the runbook, on the scale of the learner, whose losses are in
            [0, 1]: ``scale.total_from_unit(5)`` converts. Below 0: leave the runbook only where that much is gained.

    The candidate is the robust plan. It passes the test from a state if it loses at most the margin more than the
    runbook in every plausible model, by certified bounds.

    Guarantee: if the confidence sets hold the truth when an episode begins to act, its expected loss, from
    its first state and under its context, is at most that of the runbook plus the margin (0 if that is negative). They
    do at all times at once with probability 1 - delta where the learner's widths are proven. Where a person plays
    something else, or the world moves, the same holds from the state where that leads: there the test is made anew. The
    proof is in docs/explanation/apprentice.md. No regret bound holds: where data never suffices the runbook is kept.
    After an :attr:`alarm` nothing is sure any more, and the runbook leads.

    The test costs the confidence sets of all pairs and some robust evaluations (``robust_plan``), once per episode.

    >>> from goalbound import LRCSSP, Support
    >>> apprentice = Apprentice(LRCSSP(Support.full(2, 2), 2, loss_floor=0.1), [1, 0])
    >>> episode = apprentice.begin([0.3, 0.7])
    >>> episode.act(0), episode.led_by
    (1, 'runbook')
    >>> episode.observe((0, 1, 0.5, 2))
    >>> apprentice.led_by_runbook, apprentice.led_by_learner
    (1, 0)
    """

    card = Card(apprentice_card)
    _kind, _what = "Apprentice", "apprentice"
    _keys = ("by", "margin", "led", "episodes")
    _difference = "another runbook or margin"
    _episode_type = ApprenticeEpisode

    def __init__(self, learner: Any, runbook: ArrayLike | Mapping[Any, Any], *, margin: float = 0.0) -> None:
        if isinstance(learner, Wrapper):
            raise ArgumentError(wrapped_learner_error(learner, "Apprentice"))
        check_type(
            learner, LRCSSP, "learner",
            "an apprentice needs an LRCSSP; put maps and cells of contexts around the Apprentice instead",
        )  # fmt: skip
        self.inner = learner
        self.margin = check_float(margin, "margin", "a loss that may be added to that of the runbook")
        if not math.isfinite(self.margin):
            raise ArgumentError(f"margin is {short_repr(margin)}; it is a finite loss, 0 if none may be added")
        self.runbook: Ints = checked_runbook(learner.support, runbook)
        """[S] the action of each state."""
        self._led = {RUNBOOK: 0, LEARNER: 0}
        self._leads: WeakKeyDictionary[LearnerEpisode, Lead] = WeakKeyDictionary()
        self._files = SavedFiles()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_leads": list(self._leads.items())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "_leads": WeakKeyDictionary(state["_leads"])})

    @property
    def led_by_runbook(self) -> int:
        """How many episodes that have acted never left the runbook so far."""
        return self._led[RUNBOOK]

    @property
    def led_by_learner(self) -> int:
        """How many episodes went on, from their first state or a later one, by the policy of the learner."""
        return self._led[LEARNER]

    def progress(self, context: ArrayLike) -> ApprenticeProgress:
        """Which policy an episode under this context would follow from each state if it began now, the bounds that
        decide it, and how much is missing. Nothing is changed by looking."""
        weights = self.inner._checked_context(context)
        return tested_progress(self.inner, weights, self.runbook, self.margin)

    def explain(self, context: ArrayLike, state: int | str) -> Explanation:
        """Why an episode that begins in a state under a context would play what it plays there: by the runbook, or by
        the policy of the learner. ``episode.explain()`` is about one that has begun."""
        found = self.inner.explain(context, state)
        return self._explained(found, context, self.support.state(state), Lead())

    def _explained(self, found: Explanation, context: ArrayLike, here: int, lead: Lead) -> Explanation:
        """The explanation of the learner inside, as that of an episode that is led so."""
        candidate, follows = lead.candidate, lead.follows
        if candidate is None:
            progress = self.progress(context)
            candidate, follows = progress.candidate, bool(progress.switches[here])
        if follows:
            return found.playing(int(candidate[here]), f"by the policy of the learner: {self._passed}")
        return found.playing(int(self.runbook[here]), f"as the runbook says: {self._not_passed}", note=OWN_PLAN)

    @property
    def _passed(self) -> str:
        """What is sure where the learner leads."""
        return "it is sure to be no worse than the runbook" + (" by more than the margin" if self.margin > 0.0 else "")

    @property
    def _not_passed(self) -> str:
        """Why the runbook leads."""
        if self.inner.alarm is not None:
            return "what was seen contradicts the model"
        return "no other policy is sure to be no worse" + (" by more than the margin" if self.margin > 0.0 else "")

    def merge(self, other: Apprentice) -> None:
        """Add what another apprentice of the same runbook has seen, as the learners inside do, and its counts."""
        check_type(other, Apprentice, "other", "give an apprentice with the same runbook")
        if not self._made_like(other):
            raise ArgumentError(f"other has {self._difference}; merge the learners inside instead: inner.merge(...)")
        self.inner.merge(other.inner)
        for leader, count in other._led.items():
            self._led[leader] += count

    def extended(self, support: Support, *, runbook: ArrayLike | Mapping[Any, Any] | None = None) -> Apprentice:
        """An apprentice on a larger support, with all that this one has seen; this one stays as it is.

        ``runbook`` is needed where there are new states; left out, it is that of this one.
        """
        learner = self.inner.extended(support)
        return self._around(learner, extended_runbook(self.support, self.runbook, support, runbook))

    def with_settings(self, **settings: Any) -> Apprentice:
        """An apprentice of the same runbook whose learner has other settings, and all that this one has seen."""
        return self._around(self.inner.with_settings(**settings), self.runbook)

    def _anew(self, learner: Any) -> Self:
        return type(self)(learner, self.runbook, margin=self.margin)

    def _around(self, learner: Any, runbook: ArrayLike | Mapping[Any, Any]) -> Apprentice:
        """Another learner with this margin and these counts."""
        found = Apprentice(learner, runbook, margin=self.margin)
        found._led = dict(self._led)
        return found

    def _made_like(self, other: Apprentice) -> bool:
        return other.margin == self.margin and bool(np.array_equal(other.runbook, self.runbook))

    def _header(self) -> dict[str, Any]:
        leads = [self._lead_of(one) for one in self.inner.open_episodes]
        return {
            "by": _BY, "margin": self.margin, "led": self._led,
            "episodes": [[one.counted, one.candidate is not None, one.follows] for one in leads],
        }  # fmt: skip

    def _arrays(self) -> dict[str, NDArray[Any]]:
        leads = [self._lead_of(one) for one in self.inner.open_episodes]
        shape, none = (len(leads), len(self.runbook)), np.zeros(len(self.runbook), dtype=np.int64)
        candidates = [none if one.candidate is None else one.candidate for one in leads]
        switches = [none if one.switches is None else one.switches for one in leads]
        return {
            "runbook": self.runbook,
            "candidates": np.array(candidates, dtype=np.int64).reshape(shape),
            "switches": np.array(switches, dtype=np.bool_).reshape(shape),
        }

    @classmethod
    def _array_types(cls) -> dict[str, str]:
        return {"runbook": "<i8", "candidates": "<i8", "switches": "|b1"}

    @classmethod
    def _from_file(cls, inner: Any, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        if header["by"] != _BY:
            raise FileFormatError(f'by is {header["by"]!r:.80}; an apprentice is read by "{_BY}" only')
        if type(header["margin"]) is not float:
            raise FileFormatError(f"margin is {header['margin']!r:.80}; it is a number with a point")
        apprentice = cls(inner, arrays["runbook"], margin=header["margin"])
        apprentice._led = _checked_counts(header["led"])
        for episode, lead in zip(inner.open_episodes, _checked_leads(header["episodes"], arrays, inner), strict=True):
            apprentice._leads[episode] = lead
        return apprentice

    def __repr__(self) -> str:
        return f"Apprentice({self.inner!r}, margin {self.margin:g}, {self._led[LEARNER]} led by learner)"

    def _lead_of(self, episode: LearnerEpisode) -> Lead:
        return self._leads.get(episode, Lead())

    def _next_lead(self, episode: LearnerEpisode, state: int) -> tuple[Lead, int]:
        """Who leads from here on, and the action to play."""
        lead = self._lead_of(episode)
        if lead.candidate is None or lead.switches is None:
            found = self.progress(episode.context)
            lead = replace(lead, candidate=found.candidate, switches=found.switches, follows=False)
        assert lead.candidate is not None
        assert lead.switches is not None
        follows = lead.follows or bool(lead.switches[state])
        policy = lead.candidate if follows else self.runbook
        return replace(lead, follows=follows), int(policy[state])

    def _follow(self, episode: LearnerEpisode, lead: Lead) -> None:
        """The episode is led so, and counted; one that the learner led once stays counted under it."""
        leader = LEARNER if lead.follows or lead.counted == LEARNER else RUNBOOK
        if leader != lead.counted:
            self._led[leader] += 1
            if lead.counted is not None:
                self._led[lead.counted] -= 1
        self._leads[episode] = replace(lead, counted=leader)

    def _decide_anew(self, episode: LearnerEpisode) -> None:
        """What was decided is void: the next ``act`` makes the test again."""
        self._leads[episode] = Lead(counted=self._lead_of(episode).counted)


def _checked_counts(led: Any) -> dict[str, int]:
    fine = isinstance(led, dict) and set(led) == {RUNBOOK, LEARNER}
    if not fine or not all(type(count) is int and 0 <= count < 2**62 for count in led.values()):
        raise FileFormatError(f"led is {led!r:.100}; it has a count for the {RUNBOOK} and one for the {LEARNER}")
    return dict(led)


def _checked_leads(entries: Any, arrays: Mapping[str, NDArray[Any]], inner: LRCSSP) -> list[Lead]:
    """Who leads each open episode of a file, in the order of begin."""
    support, count = inner.support, len(inner.open_episodes)
    shape = (count, support.states)
    if not isinstance(entries, list) or len(entries) != count:
        raise FileFormatError(f"episodes is {entries!r:.100}; the learner has {count} open ones")
    if any(arrays[name].shape != shape for name in ("candidates", "switches")):
        raise FileFormatError(f"candidates or switches has another shape than {shape}, one row for each open episode")
    leads = []
    for entry, candidate, switches in zip(entries, arrays["candidates"], arrays["switches"], strict=True):
        fine = isinstance(entry, list) and len(entry) == 3 and entry[0] in (None, RUNBOOK, LEARNER)
        if not fine or not all(type(flag) is bool for flag in entry[1:]) or (entry[2] and entry[:2] != [LEARNER, True]):
            raise FileFormatError(f"an episode is {entry!r:.100}; it says who leads, whether that is decided, and how")
        counted, decided, follows = entry
        if decided:
            policy_pairs(support, candidate)
            candidate, switches = (set_readonly(array.copy()) for array in (candidate, switches))
            leads.append(Lead(candidate, switches, follows, counted))
        else:
            leads.append(Lead(counted=counted))
    return leads
