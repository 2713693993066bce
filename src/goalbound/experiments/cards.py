"""What is known of a learner: whether a theorem covers it, with which constants. All that says so reads it here.

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
from goalbound.learners.tabular import TabularLearner
from goalbound.learners.tabular.method import CODES
from goalbound.models import ModelError
from goalbound.simulation.diagnostics import AuditedLearner

if TYPE_CHECKING:
    from goalbound.experiments.records import RunRecord

ORACLE, PROVEN, UNPROVEN, NONE, UNKNOWN = "oracle", "proven", "unproven", "none", "unknown"
WORDS = {
    ORACLE: "knows the problem",
    PROVEN: "proven",
    UNPROVEN: "not proven",
    NONE: "no bound of its regret is known",
    UNKNOWN: "no guarantee is known to goalbound",
}
"""The guarantees of a card."""
PAPERS = ("paper", "its paper")
"""The rules that are those of the learner's own paper; others may be proven too."""
PROVEN_WIDTHS = ("paper", "sharp")
"""What is printed is not; docs/explanation/sharp.md proves sharp, whichever of its pieces are left out."""
OWN = ("explore", "fade", "spread", "accuracy")
"""Constants of learners without a guarantee."""


@dataclass(frozen=True)
class LearnerCard:
    """What is known of a learner as it was set up.

    Attributes:
        guarantee: ``oracle`` (nothing to learn), ``proven`` (a theorem covers it with these constants, or smaller
            ones), ``unproven`` (its constants are away from those of the theorem), ``none`` (no bound of its regret is
            known) or ``unknown`` (not one of ours, so goalbound cannot tell).
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
    def is_papers(self) -> bool:
        """Whether all constants are those of the learner's own paper."""
        return self.guarantee == PROVEN and self.rule in PAPERS and self.scale == 1.0

    @property
    def constants(self) -> str:
        """The constants in words, for under a figure.

        >>> LearnerCard(UNPROVEN, "widths", "sharp", 0.5, 0.1).constants
        'widths: 0.5 x sharp, not proven; delta 0.1'
        >>> LearnerCard(UNKNOWN).constants, LearnerCard(NONE, others={"spread": 0.1}).constants
        ('no guarantee is known to goalbound', 'spread 0.1')
        """
        if self.guarantee == UNKNOWN:
            return WORDS[UNKNOWN]
        said = []
        if self.quantity:
            times = "" if self.scale == 1.0 else f"{self.scale:g} x "
            judged = f", {WORDS[UNPROVEN]}" if self.guarantee == UNPROVEN else ""
            said.append(f"{self.quantity}: {times}{self.rule}{judged}")
        said += [f"{name} {value:.3g}" for name, value in self.others.items()]
        if self.delta is not None:
            said.append(f"delta {self.delta:g}")
        return "; ".join(said) or "no constants"

    @property
    def departure(self) -> str:
        """How it is away from the constants of a paper, in words; empty where it is not.

        >>> LearnerCard(PROVEN, "widths", "sharp", 1.0, 0.1).departure
        'widths: sharp; delta 0.1 (proven, and not those of the paper)'
        """
        if self.guarantee == ORACLE or self.is_papers:
            return ""
        if self.guarantee == NONE:
            return f"{self.constants} ({WORDS[NONE]})" if self.others else WORDS[NONE]
        if self.guarantee != PROVEN:
            return self.constants
        wider = "wider than the paper's: the theorem covers it"
        return f"{self.constants} ({wider if self.rule in PAPERS else PROVEN + ', and not those of the paper'})"

    @property
    def mark(self) -> str:
        """What has to stand behind the name of a learner that has least regret.

        >>> LearnerCard(NONE).mark, LearnerCard(PROVEN).mark
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
            values["guarantee"] in WORDS
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


FOREIGN = LearnerCard(UNKNOWN, tells_known=True)
"""Of a learner that is not one of ours; what it counts as known is its own."""


def card_of(learner: Any, settings: Mapping[str, Any]) -> LearnerCard:
    """The card of a learner, from what it is; ``settings`` are those of the record.

    A learner that is not exactly one of ours, a subclass too, has no guarantee that is known.
    """
    inner = _inner(learner)
    if type(inner) is LRCSSP:
        used, widths = inner.settings, inner.settings.widths
        if not used.is_optimistic:
            return _baseline(settings, tests=used.exploration.threshold > 0.0)
        return _confidence_sets(widths.name, widths.scale, used.delta, is_proven=widths.proven)
    if type(inner) is TabularLearner:
        return _context_free(inner.settings.method.name, inner.settings.method.scale, inner.settings.delta)
    if type(inner) is Clairvoyant:
        return LearnerCard(ORACLE)
    return LearnerCard(NONE) if type(inner) is RandomWalk else FOREIGN


def card_of_settings(use: str, settings: Mapping[str, Any]) -> LearnerCard:
    """The card of a learner that has not run yet, or whose record is older than cards: by what it was set to.

    >>> card_of_settings("uc-ssp", {"scale": 0.1}).guarantee, card_of_settings("their.module:make", {}).guarantee
    ('unproven', 'unknown')
    """
    if use not in LEARNERS.entries:
        return FOREIGN
    scale, delta = _number(settings.get("scale"), 1.0), _number(settings.get("delta"))
    if settings.get("widths") is not None:
        return _confidence_sets(str(settings["widths"]), scale, delta)
    if use in CODES:
        return _context_free(use, scale, delta)
    if use == "clairvoyant":
        return LearnerCard(ORACLE)
    return _baseline(settings, tests=use == "kwik-rmax")


def card_of_record(record: RunRecord) -> LearnerCard:
    """The card that a record has; of an older one, what its settings say."""
    if record.facts.get("card") is not None:
        return LearnerCard.from_json(record.facts["card"])
    return card_of_settings(record.spec.learner.use, record.facts.get("settings") or record.spec.learner.settings)


def weakest(cards: Iterable[LearnerCard]) -> LearnerCard:
    """The card that promises least: what may be said of all of them together."""
    return min(cards, key=lambda card: (UNKNOWN, NONE, UNPROVEN, PROVEN, ORACLE).index(card.guarantee))


def _inner(learner: Any) -> Any:
    """The learner inside what watches it or stands between it and the context; of cells, the first one."""
    while isinstance(learner, AuditedLearner | ContextBlind | MappedContexts | Discretized):
        if isinstance(learner, Discretized):
            learner = next(iter(learner.cells.values()), None) or learner.example()
        else:
            learner = learner.learner
    return learner


def _confidence_sets(rule: str, scale: float, delta: float | None, *, is_proven: bool = True) -> LearnerCard:
    """Of LR-CSSP, whatever it is called."""
    proven = is_proven and rule.partition(" without ")[0] in PROVEN_WIDTHS and scale >= 1.0
    return LearnerCard(PROVEN if proven else UNPROVEN, "widths", rule, scale, delta, tells_known=True)


def _context_free(method: str, scale: float, delta: float | None) -> LearnerCard:
    """Their papers prove the constants as they are: of larger ones nothing is known either."""
    quantity = {"psrl-ssp": "spread of the losses", "eb-ssp": "bonuses", "ulcvi": "bonuses"}.get(method, "radii")
    guarantee = PROVEN if scale == 1.0 else UNPROVEN
    return LearnerCard(guarantee, quantity, "its paper", scale, delta, tells_known=method == "hoeffding-ssp")


def _baseline(settings: Mapping[str, Any], *, tests: bool) -> LearnerCard:
    """Of learners that have no bound."""
    found = {name: _number(settings.get(name)) for name in OWN}
    return LearnerCard(NONE, others={name: one for name, one in found.items() if one is not None}, tells_known=tests)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _number(value: Any, default: Any = None) -> Any:
    return float(value) if _is_number(value) else default
