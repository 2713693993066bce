"""Adapters for problems, data and tools of others. Each outside library is imported by its adapter, on first use."""
