"""What a learner is: what it sees, whether it has a known test, which guarantee it has and with which constants.

A learner says it itself, by an optional attribute ``card``; :func:`learner_card` reads it. All that describes a learner
(records, summaries, reports, the command line) reads only the card, never the name or the class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from math import isfinite
from typing import Any

from goalbound.errors import ArgumentError
from goalbound.models.validation import short_repr

CONTEXTS, MAPPED, CELLS, NOTHING, TRUTH = "contexts", "mapped contexts", "cells", "nothing", "truth"
UNKNOWN = "unknown"
VIEWS = (CONTEXTS, MAPPED, CELLS, NOTHING, TRUTH, UNKNOWN)
"""What a learner may see: the contexts, a function of them, only their cell, none of them; or the problem itself."""

ORACLE, PROVEN, UNPROVEN, NONE = "oracle", "proven", "unproven", "none"
GUARANTEE_LABELS = {
    ORACLE: "knows the problem",
    PROVEN: "proven",
    UNPROVEN: "not proven",
    NONE: "no bound of its regret is known",
    UNKNOWN: "no guarantee is known to goalbound",
}
"""The guarantees of a card."""

THEOREM, COROLLARY = "Theorem regret-bound-main", "Corollary arbitrary-cost"
"""The names in the paper's source, as in docs/theory/paper_map.md."""
RUNBOOK_THEOREM = "no episode is worse than by the runbook, up to the margin (docs/explanation/apprentice.md)"
"""What is proven of an apprentice. It is no bound of the regret, which is linear if the runbook is never left."""
STEPS_IN = "a runbook brings long or dear episodes to their end, and bounds of the regret do not know it"
"""Why no bound of the regret is proven of a learner that is guarded; its confidence sets are as they were."""
REGRET_RATES = {THEOREM: "K^0.5", COROLLARY: "K^0.67"}
"""How the regret grows by these theorems, up to logarithms: by the corollary as K^(2/3)."""

THEIRS = "third party"
PAPER_CONSTANTS = ("paper", "its paper")
"""Constants as the learner's own paper has them; others may be proven too."""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


@dataclass(frozen=True, kw_only=True)
class LearnerCard:
    """What a configured learner is. The default is what is known of a third party's learner: nothing.

    Attributes:
        sees: one of :data:`VIEWS`.
        has_known_test: whether it tests when a pair is known, and counts the steps at pairs that are not.
        guarantee: ``proven`` (a theorem covers it with these constants, or smaller ones), ``unproven`` (its constants
            differ from those of the theorem), ``none`` (no bound of its regret is known), ``unknown`` (it does not
            say), or ``oracle`` (nothing to learn: it sees the truth).
        theorem: which theorem covers it; only where it is proven. It is about problems whose contexts the learner sees.
        quantity: what its constants are: widths, radii, bonuses; empty where there are none.
        constants: whose they are: ``paper``, ``sharp``, ``its paper`` (of a learner of another paper), ``third party``.
        scale: what they are multiplied by.
        delta: the probability of failure that they allow; None where there is none.
        others: by name, the constants of learners that have no theorem.
        caveats: why nothing is proven of what this learner has learned, whatever its constants are
            (:attr:`LearnerBase.caveats <goalbound.learners.base.LearnerBase.caveats>`); only where it is not proven.

    >>> LearnerCard(sees="contexts", guarantee="none").description
    'no constants'
    """

    sees: str = UNKNOWN
    has_known_test: bool = False
    guarantee: str = UNKNOWN
    theorem: str = ""
    quantity: str = ""
    constants: str = THEIRS
    scale: float = 1.0
    delta: float | None = None
    others: Mapping[str, float] = field(default_factory=dict)
    caveats: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        fine = (
            self.sees in VIEWS
            and isinstance(self.has_known_test, bool)
            and self.guarantee in GUARANTEE_LABELS
            and all(isinstance(one, str) for one in (self.theorem, self.quantity, self.constants))
            and _is_number(self.scale)
            and (self.delta is None or _is_number(self.delta))
            and isinstance(self.others, Mapping)
            and all(map(_is_number, self.others.values()))
            and isinstance(self.caveats, tuple)
            and all(isinstance(one, str) for one in self.caveats)
        )
        if not fine:
            raise ArgumentError(f"the learner's card is {asdict(self)!r:.300}, with a value that it cannot have")
        if (self.sees == TRUTH) != (self.guarantee == ORACLE) or (self.theorem and self.guarantee != PROVEN):
            raise ArgumentError(
                f"the learner's card says sees {self.sees!r}, guarantee {self.guarantee!r}, theorem {self.theorem!r}; "
                "oracles see the truth, no others do, and only what is proven has a theorem"
            )
        if self.caveats and self.guarantee == PROVEN:
            raise ArgumentError(f"the learner's card says proven, and why it is not: {self.caveats[0]!r:.200}")

    @property
    def uses_paper_constants(self) -> bool:
        """Whether all constants are those of the learner's own paper."""
        return self.guarantee == PROVEN and self.constants in PAPER_CONSTANTS and self.scale == 1.0

    def is_covered(self, context_size: int) -> bool:
        """Whether the theorem is about such contexts: their components are one, or the learner sees them."""
        return self.guarantee == PROVEN and (self.sees == CONTEXTS or context_size == 1)

    @property
    def description(self) -> str:
        """The constants as text, for captions.

        >>> LearnerCard(guarantee=UNPROVEN, quantity="widths", constants="sharp", scale=0.5, delta=0.1).description
        'widths: 0.5 x sharp, not proven; delta 0.1'
        >>> LearnerCard().description, LearnerCard(guarantee=NONE, others={"spread": 0.1}).description
        ('no guarantee is known to goalbound', 'spread 0.1')
        """
        if self.guarantee == UNKNOWN:
            return GUARANTEE_LABELS[UNKNOWN]
        parts = []
        if self.quantity:
            times = "" if self.scale == 1.0 else f"{self.scale:g} x "
            qualifier = f", {GUARANTEE_LABELS[UNPROVEN]}" if self.guarantee == UNPROVEN else ""
            parts.append(f"{self.quantity}: {times}{self.constants}{qualifier}")
        parts += [f"{name} {value:.3g}" for name, value in self.others.items()]
        if self.delta is not None:
            parts.append(f"delta {self.delta:g}")
        return "; ".join(parts) or "no constants"

    @property
    def deviation(self) -> str:
        """How the constants deviate from those of a paper, as text; empty if they do not.

        >>> LearnerCard(guarantee=PROVEN, quantity="widths", constants="sharp", delta=0.1).deviation
        'widths: sharp; delta 0.1 (proven, and not those of the paper)'
        """
        if self.guarantee == ORACLE or self.uses_paper_constants:
            return ""
        if self.guarantee == NONE:
            return f"{self.description} ({GUARANTEE_LABELS[NONE]})" if self.others else GUARANTEE_LABELS[NONE]
        if self.guarantee != PROVEN:
            return self.description
        wider = "wider than the paper's: the theorem covers it"
        other = f"{PROVEN}, and not those of the paper"
        return f"{self.description} ({wider if self.constants in PAPER_CONSTANTS else other})"

    @property
    def label_suffix(self) -> str:
        """The suffix of the label of a learner with the least regret.

        >>> LearnerCard(guarantee=NONE).label_suffix, LearnerCard(guarantee=PROVEN).label_suffix
        (' (no guarantee)', '')
        """
        if self.caveats and self.guarantee == UNPROVEN:
            return f" ({GUARANTEE_LABELS[UNPROVEN]})"
        if self.guarantee == UNPROVEN:
            return " (widths not proven)" if self.quantity == "widths" else " (constants not proven)"
        return {NONE: " (no guarantee)", UNKNOWN: " (no guarantee known)"}.get(self.guarantee, "")

    def as_json(self) -> dict[str, Any]:
        """For a record; caveats only where there are some."""
        values = {one.name: getattr(self, one.name) for one in fields(self)} | {"others": dict(self.others)}
        caveats = list(values.pop("caveats"))
        return values | ({"caveats": caveats} if caveats else {})

    @classmethod
    def from_json(cls, values: Any) -> LearnerCard:
        """What :meth:`as_json` gave; keys and types are checked."""
        names = {one.name for one in fields(cls)} - {"caveats"}
        if not isinstance(values, dict) or set(values) - {"caveats"} != names:
            raise ArgumentError(f"the learner's card is {values!r:.200}; it has {sorted(names)}")
        caveats = values.get("caveats", [])
        if not isinstance(caveats, list):
            raise ArgumentError(f"caveats of the learner's card is {caveats!r:.200}; it is a list of texts")
        return cls(**{**values, "caveats": tuple(caveats)})

    def __str__(self) -> str:
        parts = [f"sees {self.sees}", "known test" if self.has_known_test else "no known test"]
        if self.guarantee == PROVEN:
            about = "" if self.sees == CONTEXTS else " for what it sees"
            parts.append(f"proven{about}" + (f": {self.theorem}" if self.theorem else ""))
        elif self.guarantee != UNPROVEN:
            parts.append(GUARANTEE_LABELS[self.guarantee])
        why = [f"{GUARANTEE_LABELS[UNPROVEN]}: {'; '.join(self.caveats)}"] if self.caveats else []
        return "; ".join(dict.fromkeys([*parts, self.description, *why]))


THIRD_PARTY = LearnerCard()
"""The card of a learner that does not say what it is."""


def learner_card(learner: Any) -> LearnerCard:
    """What a learner says of itself; :data:`THIRD_PARTY` if it says nothing."""
    card = getattr(learner, "card", THIRD_PARTY)
    if not isinstance(card, LearnerCard):
        raise ArgumentError(
            f"card of a {type(learner).__name__} is {short_repr(card)}; it is a LearnerCard, or is left out"
        )
    return card


def weakest(cards: Iterable[LearnerCard]) -> LearnerCard:
    """The card with the weakest guarantee, which holds for all of them."""
    return min(cards, key=lambda card: (UNKNOWN, NONE, UNPROVEN, PROVEN, ORACLE).index(card.guarantee))


def ridge_card(learner: Any) -> LearnerCard:
    """The card of a learner by ridge regression. One with confidence sets is proven if they are
    (:attr:`Widths.proven`) and it has no caveats; exploration rules have no bound of the regret."""
    if not learner.settings.is_optimistic:
        others = {name: float(value) for name, value in learner.settings.exploration.card_numbers().items() if value}
        known_test = "threshold" in others
        return LearnerCard(sees=CONTEXTS, has_known_test=known_test, guarantee=NONE, constants="", others=others)
    settings, widths = learner.settings, learner.settings.widths
    proven = widths.proven and not learner.caveats
    theorem = COROLLARY if learner.added_loss else THEOREM
    return LearnerCard(
        sees=CONTEXTS, has_known_test=True, guarantee=PROVEN if proven else UNPROVEN, theorem=theorem if proven else "",
        quantity="widths", constants=widths.name, scale=widths.scale, delta=settings.delta, caveats=learner.caveats,
    )  # fmt: skip


def oracle_card(learner: Any) -> LearnerCard:
    """The card of a policy that knows the problem."""
    return LearnerCard(sees=TRUTH, guarantee=ORACLE, constants="")


def fixed_card(learner: Any) -> LearnerCard:
    """The card of a policy that looks at nothing and never learns."""
    return LearnerCard(sees=NOTHING, guarantee=NONE, constants="")


def apprentice_card(apprentice: Any) -> LearnerCard:
    """The card of a learner that follows a runbook until another policy is sure to be no worse.

    What is proven of the learner inside is its confidence sets; from them follows :data:`RUNBOOK_THEOREM`, and no bound
    of the regret.
    """
    card = learner_card(apprentice.inner)
    theorem = RUNBOOK_THEOREM if card.guarantee == PROVEN else ""
    return replace(card, theorem=theorem, others={**card.others, "margin": float(apprentice.margin)})


def guarded_card(guarded: Any) -> LearnerCard:
    """The card of a learner whose long or dear episodes a runbook brings to their end.

    Confidence sets stay what they are; no bound of the regret is known where a runbook steps in.
    """
    card = learner_card(guarded.inner)
    limits = {"after steps": guarded.after_steps, "after loss": guarded.after_loss}
    others = {**card.others, **{name: float(limit) for name, limit in limits.items() if limit is not None}}
    if card.guarantee != PROVEN:
        return replace(card, others=others)
    return replace(card, guarantee=UNPROVEN, theorem="", others=others, caveats=(STEPS_IN,))


def wrapped_card(inner: Any, sees: str) -> LearnerCard:
    """The card of a learner that shows another one, ``inner``, something else than the contexts.

    What looks at nothing goes on looking at nothing, unless there is one of it for each cell. An oracle that is shown
    something else is none.
    """
    card = learner_card(inner)
    if card.guarantee == ORACLE:
        card = LearnerCard(sees=sees, guarantee=NONE, constants="")
    return replace(card, sees=NOTHING if card.sees == NOTHING and sees != CELLS else sees)
