"""Learners that leave a store: one that has forgotten what changed, and the one that is there as a file."""

from __future__ import annotations

from goalbound.around.around import bytes_of
from goalbound.errors import LearnerError
from goalbound.learners.layers import unwrap
from goalbound.serve.store.engine import Engine
from goalbound.serve.store.snapshots import learner_from


def relearn(engine: Engine, name: str, new_name: str) -> None:
    """Put a learner into the store that has forgotten what a monitored one has noticed to have changed.

    It follows the cases of that one as a challenger from now on; or, if that one is a challenger itself, those of the
    learner that it follows.
    """
    old = engine.machine.named(name)
    again = getattr(old.learner, "relearned", None)
    if again is None or not hasattr(old.learner, "alarms"):
        raise LearnerError(
            f"{name} is no Monitored learner, so nothing is known of changes; learn a log anew (goalbound fit --since) "
            f"and put that learner in as a challenger (goalbound store create ... --follows {name})"
        )
    if not old.learner.alarms:
        raise LearnerError(
            f"{name} has noticed no change, or it was acknowledged; learn a log anew since a time that you know: "
            "goalbound fit --since"
        )
    lead = old if old.follows is None else engine.machine.learners[old.follows]
    engine.create(new_name, again(), follows=lead.name)


def relearned_name(name: str) -> str:
    """What such a learner is called if nothing else is said."""
    return f"{name}-relearned"


def file_of(engine: Engine, name: str) -> bytes:
    """The file of a learner as it is now. Its open cases stay in the store; what is proposed in them counts in the file
    as visits whose outcomes may have been anything."""
    found = learner_from(bytes_of(engine.machine.named(name).learner).tobytes())
    inside = unwrap(found)
    for episode in inside.open_episodes:
        if episode.state is not None:
            episode.moved_to(episode.state)
    for held in (inside._open, inside._loaded, inside._named):
        held.clear()
    return bytes_of(found).tobytes()
