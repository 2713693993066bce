"""The claims of the paper at small sizes, by the same functions that show them at full size (``python -m guarantees``).

Seeds are fixed, so these are the same runs every time. What a fresh seed would risk is said at each.
"""
