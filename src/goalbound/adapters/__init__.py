"""Doors to other people's problems and tools. Each outside library is imported by its own adapter, when it is used."""
