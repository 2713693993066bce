"""Alarms of learners among the messages of a service: one line each, with the name of the learner."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from goalbound.around.around import Around
from goalbound.errors import ChangeWarning, ExcessLossWarning, NotLinearWarning, WrongPriorWarning
from goalbound.serve.store import Store
from goalbound.serve.store.reading import alarms

log = logging.getLogger("goalbound.serve.service")

ALARMS: tuple[type[Warning], ...] = (ChangeWarning, ExcessLossWarning, NotLinearWarning, WrongPriorWarning)


@contextmanager
def silent_alarms() -> Iterator[None]:
    """Alarms are not shown here: a replay raises those of the past once more."""
    with warnings.catch_warnings():
        for category in ALARMS:
            warnings.simplefilter("ignore", category)
        yield


@contextmanager
def alarm_lines(store: Store) -> Iterator[None]:
    """Say the alarms that there are, and from then on each new one, once."""
    said: set[str] = set()

    def say(text: str) -> None:
        if text not in said:
            said.add(text)
            names = [one.name for one in list(store._engine.machine.learners.values()) if text in _texts(one.learner)]
            log.warning("%s%s", f"{', '.join(names)}: " if names else "", text)

    for one in list(store._engine.machine.learners.values()):
        for text in _texts(one.learner):
            say(text)
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, ALARMS):
                say(str(message))
            else:
                others(message, category, *place, **more)

        warnings.showwarning = show
        for category in ALARMS:
            warnings.simplefilter("always", category)
        yield


def _texts(learner: Any) -> list[str]:
    """Of all alarms that a learner, or one inside it, has."""
    changes = [str(one) for one in getattr(learner, "alarms", ())] if isinstance(learner, Around) else []
    return [*changes, *(one["text"] for one in alarms(learner) if one["text"] not in changes)]
