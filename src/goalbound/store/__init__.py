"""Learners left running: every step is on the disk before it is acknowledged, and every decision can be replayed."""

from goalbound.store.engine import Answer
from goalbound.store.follower import Follower
from goalbound.store.open_store import StoreOptions
from goalbound.store.store import Store
from goalbound.store.stored_learner import StoredLearner

__all__ = ["Answer", "Follower", "Store", "StoreOptions", "StoredLearner"]
