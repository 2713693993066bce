"""Learners left running: every step is on the disk before it is acknowledged, and every decision can be replayed."""

from goalbound.serve.store.engine import Answer
from goalbound.serve.store.follower import Follower
from goalbound.serve.store.open_store import StoreOptions
from goalbound.serve.store.store import Store
from goalbound.serve.store.stored_learner import StoredLearner

__all__ = ["Answer", "Follower", "Store", "StoreOptions", "StoredLearner"]
