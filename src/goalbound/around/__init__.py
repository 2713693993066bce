"""Learners around another one: other contexts, units, baseline policies, change detection."""
