"""What is recorded of a request besides the columns of an event."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from goalbound.errors import ArgumentError
from goalbound.models import Support
from goalbound.models.validation import check_bool, short_repr
from goalbound.serve.store.events import canonical


def actions_of(support: Support, allowed: Any) -> list[int] | None:
    """Actions by number or name, as increasing numbers; None: all."""
    if allowed is None:
        return None
    if not isinstance(allowed, list | tuple) or len(allowed) > 100_000:
        raise ArgumentError(f"allowed is {short_repr(allowed)}; give a list of actions, by number or name")
    try:
        return sorted({support.action(action) for action in allowed})
    except TypeError:
        raise ArgumentError(f"allowed is {short_repr(allowed)}; give a list of actions, by number or name") from None


def begin_body(id: str, context: Any, allowed: list[int] | None) -> str:
    """What a case is begun with."""
    try:
        body = {"id": id, "context": _plain(context)} | ({} if allowed is None else {"allowed": allowed})
        return canonical(body)
    except RecursionError:
        raise ArgumentError("the context has lists inside of lists beyond measure; give a list of numbers") from None
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"the context cannot be written as JSON ({error}); give numbers, texts, lists or dictionaries of them, and "
            "no NaN"
        ) from None


def abandon_body(reason: str, *, missing_at_random: bool = False) -> str:
    """What a case is abandoned with."""
    check_bool(missing_at_random, "missing_at_random")
    if not isinstance(reason, str) or not reason:
        raise ArgumentError(f"reason is {short_repr(reason)}; give a few words, such as 'lost contact'")
    return canonical({"reason": reason} | ({"missing_at_random": True} if missing_at_random else {}))


def allowed_body(allowed: list[int] | None) -> str | None:
    """What is recorded of a step besides its columns."""
    return None if allowed is None else canonical({"allowed": allowed})


def checked_loss(loss: Any) -> float:
    """A loss as it is recorded."""
    if isinstance(loss, np.generic):
        loss = loss.item()
    if isinstance(loss, bool) or not isinstance(loss, int | float):
        raise ArgumentError(f"loss is {short_repr(loss)}; it is a number")
    try:
        amount = float(loss) + 0.0  # no negative zero, which the database would not keep
    except OverflowError:
        raise ArgumentError(f"loss is {short_repr(loss)}; it is a number that is too large") from None
    if not math.isfinite(amount):  # the database would keep NaN as nothing, and the hash would not fit any more
        raise ArgumentError(f"loss is {amount}; it is a finite number")
    return amount


def _plain(value: Any) -> Any:
    """Numbers and arrays of NumPy as JSON has them."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value
