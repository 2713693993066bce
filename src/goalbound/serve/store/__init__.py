"""Learners left running: every step is on the disk before it is acknowledged, and every decision can be replayed."""

from goalbound.serve.store.engine import Answer
from goalbound.serve.store.store import Store, StoredLearner, StoreOptions

__all__ = ["Answer", "Store", "StoreOptions", "StoredLearner"]
