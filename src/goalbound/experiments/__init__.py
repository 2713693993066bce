"""Experiments: one file in, records, a summary and a report out."""
