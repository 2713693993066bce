"""The meanings of settings."""

from goalbound.experiments.registry import CONTEXTS, LEARNERS
from goalbound.experiments.registry.settings import MEANINGS


def test_every_setting_has_a_meaning_and_every_meaning_a_setting():
    entries = [*LEARNERS.entries.values(), *CONTEXTS.entries.values()]
    assert set(MEANINGS) == {name for entry in entries for name in entry.settings}
