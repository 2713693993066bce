"""What the constants of a learner rest on: those of its paper, a multiple of them, or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from goalbound.experiments import measures
from goalbound.experiments.learners import LEARNERS

KNOWS, PAPER, SCALED, NOTHING, UNKNOWN = "knows", "paper", "scaled", "nothing", "unknown"
BY_WIDTHS = ("lr-cssp", "context-blind")
BY_SCALE = ("uc-ssp", "hoeffding-ssp", "bernstein-ssp", "eb-ssp", "ulcvi", "psrl-ssp")
"""Context-free learners of other papers; ``scale`` multiplies their radii or bonuses."""
TELL_KNOWN = (*BY_WIDTHS, "kwik-rmax")
"""Those of ours that have a test of when a pair is known, and count by it."""
_OWN = ("explore", "fade", "spread", "accuracy")


def standing(use: str, settings: Mapping[str, Any]) -> str:
    """What a learner's constants rest on.

    Returns:
        ``knows`` (there is nothing to learn), ``paper`` (the constants of its paper, or larger ones), ``scaled`` (away
        from them), ``nothing`` (no bound of its regret is known), or ``unknown`` (not one of ours).

    >>> standing("uc-ssp", {"scale": 0.1}), standing("uc-ssp", {"scale": 1.0}), standing("greedy-ridge", {})
    ('scaled', 'paper', 'nothing')
    """
    if use == "clairvoyant":
        return KNOWS
    if use in BY_WIDTHS and settings.get("widths") is not None:
        return PAPER if measures.is_proven(settings) else SCALED
    if use in BY_SCALE:
        return PAPER if _scale(settings) >= 1.0 else SCALED
    return NOTHING if use in LEARNERS.entries and use not in BY_WIDTHS else UNKNOWN


def constants(use: str, settings: Mapping[str, Any]) -> str:
    """The constants of a learner in words, for under a figure.

    >>> constants("lr-cssp", {"widths": "paper", "scale": 0.1, "delta": 0.1})
    'widths: 0.1 x paper, not proven; delta 0.1'
    >>> constants("eb-ssp", {"scale": 0.1, "delta": 0.1})
    'bonuses: 0.1 x its paper, not proven; delta 0.1'
    >>> constants("ps-cssp", {"spread": 0.1})
    'spread 0.1'
    """
    if use in BY_SCALE:
        scale = _scale(settings)
        times = "" if scale == 1.0 else f"{scale:g} x "
        said = [f"{_what(use)}: {times}its paper" + ("" if scale >= 1.0 else ", not proven")]
        return "; ".join([*said, f"delta {float(settings['delta']):g}"] if "delta" in settings else said)
    if use not in LEARNERS.entries:
        return measures.constants(settings)
    own = [f"{name} {float(settings[name]):.3g}" for name in _OWN if settings.get(name) is not None]
    return "; ".join(own) or measures.constants(settings)


def mark(learner: Mapping[str, Any]) -> str:
    """What has to stand behind the name of a learner that wins.

    >>> mark({"standing": "nothing", "has_widths": False})
    ' (no guarantee)'
    """
    if learner["standing"] == SCALED:
        return " (widths not proven)" if learner["has_widths"] else " (constants not proven)"
    return " (no guarantee)" if learner["standing"] == NOTHING else ""


def has_constants(learner: Mapping[str, Any]) -> bool:
    """Whether a learner has constants of a paper, or others in their place."""
    return learner["standing"] in (PAPER, SCALED)


def _what(use: str) -> str:
    if use == "psrl-ssp":
        return "spread of the losses"
    return "bonuses" if use in ("eb-ssp", "ulcvi") else "radii"


def _scale(settings: Mapping[str, Any]) -> float:
    value = settings.get("scale")
    return 1.0 if value is None else float(value)
