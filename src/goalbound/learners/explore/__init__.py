"""Exploration rules: one module each."""
