"""Learner cards: whether a theorem covers a learner, and with which constants. The single source of that information.

A run writes the card of its learner into the record, from the learner itself: a name says nothing about constants, and
the learner of a third party may have any name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any

from goalbound.experiments.learners import LEARNERS
from goalbound.learners.context_free import ContextBlind, Discretized
from goalbound.learners.context_map import MappedContexts
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.reference import Clairvoyant, RandomWalk
from goalbound.learners.ridge import EpsilonGreedy, GreedyRidge, KwikRmax, PosteriorSampling
from goalbound.learners.tabular import TabularLearner
from goalbound.learners.tabular.method import CODES
from goalbound.models import ModelError
from goalbound.simulation.diagnostics import AuditedLearner

if TYPE_CHECKING:
    from goalbound.experiments.records import RunRecord

ORACLE, PROVEN, UNPROVEN, NONE, UNKNOWN = "oracle", "proven", "unproven", "none", "unknown"
GUARANTEE_LABELS = {
    ORACLE: "knows the problem",
    PROVEN: "proven",
    UNPROVEN: "not proven",
    NONE: "no bound of its regret is known",
    UNKNOWN: "no guarantee is known to goalbound",
}
"""The guarantees of a card."""
PAPER_RULES = ("paper", "its paper")
"""The rules that are those of the learner's own paper; others may be proven too."""
PROVEN_WIDTHS = ("paper", "sharp")
"""What is printed is not; docs/explanation/sharp.md proves sharp, whichever of its pieces are left out."""
BASELINE_CONSTANTS = ("explore", "fade", "spread", "accuracy")
"""Constants of learners without a guarantee."""


@dataclass(frozen=True)
class LearnerCard:
    """The guarantee and the constants of a configured learner.

    Attributes:
        guarantee: ``oracle`` (nothing to learn), ``proven`` (a theorem covers it with these constants, or smaller
            ones), ``unproven`` (its constants differ from those of the theorem), ``none`` (no bound of its regret is
            known) or ``unknown`` (a third party's learner).
        quantity: what the constants are: widths, radii, bonuses; empty where there are none.
        rule: whose they are: ``paper``, ``sharp``, ``its paper``.
        scale: what they are multiplied by.
        delta: the probability of failure that they allow; None where there is none.
        others: constants of learners without a guarantee, by name.
        tells_known: whether it has a test of when a pair is known, and counts steps by it.
    """

    guarantee: str
    quantity: str = ""
    rule: str = ""
    scale: float = 1.0
    delta: float | None = None
    others: Mapping[str, float] = field(default_factory=dict)
    tells_known: bool = False

    @property
    def uses_paper_constants(self) -> bool:
        """Whether all constants are those of the learner's own paper."""
        return self.guarantee == PROVEN and self.rule in PAPER_RULES and self.scale == 1.0

    @property
    def constants(self) -> str:
        """The constants as text, for captions.

        >>> LearnerCard(UNPROVEN, "widths", "sharp", 0.5, 0.1).constants
        'widths: 0.5 x sharp, not proven; delta 0.1'
        >>> LearnerCard(UNKNOWN).constants, LearnerCard(NONE, others={"spread": 0.1}).constants
        ('no guarantee is known to goalbound', 'spread 0.1')
        """
        if self.guarantee == UNKNOWN:
            return GUARANTEE_LABELS[UNKNOWN]
        parts = []
        if self.quantity:
            times = "" if self.scale == 1.0 else f"{self.scale:g} x "
            qualifier = f", {GUARANTEE_LABELS[UNPROVEN]}" if self.guarantee == UNPROVEN else ""
            parts.append(f"{self.quantity}: {times}{self.rule}{qualifier}")
        parts += [f"{name} {value:.3g}" for name, value in self.others.items()]
        if self.delta is not None:
            parts.append(f"delta {self.delta:g}")
        return "; ".join(parts) or "no constants"

    @property
    def deviation(self) -> str:
        """How the constants deviate from those of a paper, as text; empty if they do not.

        >>> LearnerCard(PROVEN, "widths", "sharp", 1.0, 0.1).deviation
        'widths: sharp; delta 0.1 (proven, and not those of the paper)'
        """
        if self.guarantee == ORACLE or self.uses_paper_constants:
            return ""
        if self.guarantee == NONE:
            return f"{self.constants} ({GUARANTEE_LABELS[NONE]})" if self.others else GUARANTEE_LABELS[NONE]
        if self.guarantee != PROVEN:
            return self.constants
        wider = "wider than the paper's: the theorem covers it"
        return f"{self.constants} ({wider if self.rule in PAPER_RULES else PROVEN + ', and not those of the paper'})"

    @property
    def label_suffix(self) -> str:
        """The suffix of the label of a learner with the least regret.

        >>> LearnerCard(NONE).label_suffix, LearnerCard(PROVEN).label_suffix
        (' (no guarantee)', '')
        """
        if self.guarantee == UNPROVEN:
            return " (widths not proven)" if self.quantity == "widths" else " (constants not proven)"
        return {NONE: " (no guarantee)", UNKNOWN: " (no guarantee known)"}.get(self.guarantee, "")

    def as_json(self) -> dict[str, Any]:
        """For a record."""
        return asdict(self) | {"others": dict(self.others)}

    @classmethod
    def from_json(cls, values: Any) -> LearnerCard:
        """What :meth:`as_json` gave; keys and types are checked."""
        if not isinstance(values, dict) or set(values) != set(cls.__annotations__):
            raise ModelError(f"the learner's card is {values!r:.200}; it has {sorted(cls.__annotations__)}")
        others = values["others"]
        fine = (
            values["guarantee"] in GUARANTEE_LABELS
            and all(isinstance(values[name], str) for name in ("guarantee", "quantity", "rule"))
            and _is_number(values["scale"])
            and (values["delta"] is None or _is_number(values["delta"]))
            and isinstance(others, dict)
            and all(map(_is_number, others.values()))
            and isinstance(values["tells_known"], bool)
        )
        if not fine:
            raise ModelError(f"the learner's card is {values!r:.300}, with a value of a wrong type")
        return cls(**values)


THIRD_PARTY = LearnerCard(UNKNOWN, tells_known=True)
"""The card of a third party's learner, which has its own notion of known pairs."""


def learner_card(learner: Any, settings: Mapping[str, Any]) -> LearnerCard:
    """The card of a learner, from what it is; ``settings`` are those of the record.

    A learner that is not exactly one of ours, a subclass too, has no guarantee that is known.
    """
    inner = _unwrapped(learner)
    if type(inner) is LRCSSP:
        used, widths = inner.settings, inner.settings.widths
        return _confidence_set_card(widths.name, widths.scale, used.delta, is_proven=widths.proven)
    if type(inner) in (EpsilonGreedy, GreedyRidge, KwikRmax, PosteriorSampling):
        return _baseline_card(settings, tests=type(inner) is KwikRmax)
    if type(inner) is TabularLearner:
        return _tabular_card(inner.settings.method.name, inner.settings.method.scale, inner.settings.delta)
    if type(inner) is Clairvoyant:
        return LearnerCard(ORACLE)
    return LearnerCard(NONE) if type(inner) is RandomWalk else THIRD_PARTY


def card_from_settings(use: str, settings: Mapping[str, Any]) -> LearnerCard:
    """The card from settings alone: for a learner that has not run yet, or whose record is older than cards.

    >>> card_from_settings("uc-ssp", {"scale": 0.1}).guarantee, card_from_settings("their.module:make", {}).guarantee
    ('unproven', 'unknown')
    """
    if use not in LEARNERS.entries:
        return THIRD_PARTY
    scale, delta = _number(settings.get("scale"), 1.0), _number(settings.get("delta"))
    if settings.get("widths") is not None:
        return _confidence_set_card(str(settings["widths"]), scale, delta)
    if use in CODES:
        return _tabular_card(use, scale, delta)
    if use == "clairvoyant":
        return LearnerCard(ORACLE)
    return _baseline_card(settings, tests=use == "kwik-rmax")


def card_from_record(record: RunRecord) -> LearnerCard:
    """The card stored in a record; for older records, the card from its settings."""
    if record.metadata.get("card") is not None:
        return LearnerCard.from_json(record.metadata["card"])
    return card_from_settings(record.spec.learner.use, record.metadata.get("settings") or record.spec.learner.settings)


def weakest(cards: Iterable[LearnerCard]) -> LearnerCard:
    """The card with the weakest guarantee, which holds for all of them."""
    return min(cards, key=lambda card: (UNKNOWN, NONE, UNPROVEN, PROVEN, ORACLE).index(card.guarantee))


def _unwrapped(learner: Any) -> Any:
    """The learner without its wrappers; of a discretised learner, that of the first cell."""
    while isinstance(learner, AuditedLearner | ContextBlind | MappedContexts | Discretized):
        if isinstance(learner, Discretized):
            learner = next(iter(learner.cells.values()), None) or learner.example()
        else:
            learner = learner.learner
    return learner


def _confidence_set_card(rule: str, scale: float, delta: float | None, *, is_proven: bool = True) -> LearnerCard:
    """The card of LR-CSSP under any registered name."""
    proven = is_proven and rule.partition(" without ")[0] in PROVEN_WIDTHS and scale >= 1.0
    return LearnerCard(PROVEN if proven else UNPROVEN, "widths", rule, scale, delta, tells_known=True)


def _tabular_card(method: str, scale: float, delta: float | None) -> LearnerCard:
    """Their papers prove the constants as they are: of larger ones nothing is known either."""
    quantity = {"psrl-ssp": "spread of the losses", "eb-ssp": "bonuses", "ulcvi": "bonuses"}.get(method, "radii")
    guarantee = PROVEN if scale == 1.0 else UNPROVEN
    return LearnerCard(guarantee, quantity, "its paper", scale, delta, tells_known=method == "hoeffding-ssp")


def _baseline_card(settings: Mapping[str, Any], *, tests: bool) -> LearnerCard:
    """The card of a learner without a regret bound."""
    found = {name: _number(settings.get(name)) for name in BASELINE_CONSTANTS}
    return LearnerCard(NONE, others={name: one for name, one in found.items() if one is not None}, tells_known=tests)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _number(value: Any, default: Any = None) -> Any:
    return float(value) if _is_number(value) else default
