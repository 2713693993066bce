"""What the learners without contexts say about themselves."""

from __future__ import annotations

from typing import Any

from goalbound.baselines.kernels.state import BERNSTEIN, EB, HOEFFDING, PSRL, UC, ULCVI
from goalbound.learners.card import NOTHING, PROVEN, UNPROVEN, LearnerCard


def tabular_card(learner: Any) -> LearnerCard:
    """The card of a context-free learner. The papers prove their constants as they are, and not larger ones."""
    method = learner.settings.method
    quantity, source = _TABULAR[method.code]
    proven = method.scale == 1.0 and not learner.caveats
    return LearnerCard(
        sees=NOTHING, has_known_test=method.code == HOEFFDING, guarantee=PROVEN if proven else UNPROVEN,
        theorem=source if proven else "", quantity=quantity, constants="its paper", scale=method.scale,
        delta=learner.settings.delta, caveats=learner.caveats,
    )  # fmt: skip


_TABULAR = {
    UC: ("radii", "Tarbouriech et al. (2020)"),
    HOEFFDING: ("radii", "Rosenberg et al. (2020)"),
    BERNSTEIN: ("radii", "Rosenberg et al. (2020)"),
    EB: ("bonuses", "Tarbouriech et al. (2021)"),
    ULCVI: ("bonuses", "Cohen et al. (2021)"),
    PSRL: ("spread of the losses", "Jafarnia-Jahromi et al. (2021)"),
}
"""What a method scales, and the paper with its theorem (see :mod:`goalbound.baselines.factories`)."""
