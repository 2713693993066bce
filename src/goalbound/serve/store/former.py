"""Logs of version 1.0.0: shadow cases, and actions drawn by mixing, are refused; all else is read."""

from __future__ import annotations

from typing import Any

from goalbound.errors import StoreError

_REMEDY = (
    "which this version cannot replay: export the log with goalbound 1.0.0, and learn its finished cases as a log in a "
    "new store"
)


def learner_fields(about: dict[str, Any]) -> dict[str, Any]:
    """What a log or a snapshot says of a learner, without what only version 1.0.0 wrote.

    >>> learner_fields({"name": "a", "follows": None, "mixing": 0.0, "seed": 0, "learns_from_shadow": True})
    {'name': 'a', 'follows': None}
    """
    if about.get("mixing"):
        raise StoreError(f"the learner {about.get('name')} mixes in random actions, {_REMEDY}")
    return {name: value for name, value in about.items() if name not in ("mixing", "seed", "learns_from_shadow")}


def check_no_shadow(shadow: Any, place: str) -> None:
    """An error if a case is a shadow case."""
    if shadow:
        raise StoreError(f"{place} is of a shadow case, {_REMEDY}")
