"""The claims of the paper, made visible: ``python -m guarantees [--quick] [--only a b]``.

Each part is a function of a size; it gives a result with what was checked, a table and figures.
"""
