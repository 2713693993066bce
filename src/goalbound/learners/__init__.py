"""Learners: they meet a context, act, observe, and get better at it."""
