"""Maps of every kind, with values to feed them: ordinary ones, knots, corners, and far away."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from goalbound.adapters.covariates import (
    Additive,
    Categories,
    Hats,
    Periodic,
    SoftClusters,
    Tensor,
)

numbers = st.one_of(
    st.floats(-3.0, 12.0),
    st.sampled_from([0.0, -0.0, 1.0, 2.5, 3.0, 10.0, 5e-324, -5e-324, 1e-300, 1e16, 1e150, -1e300, 1.7e308, -1.7e308]),
)
"""numbers inside and outside the knots below, at them, and at the ends of float64"""

words = st.sampled_from(["A", "B", "Z", "other", "", 1, 1.0, 7, True, False])

MAPS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "hats": (Hats([0, 1, 2.5, 10], clamp=True), numbers),
    "hats far apart": (Hats([-8e307, 0, 8e307], clamp=True), numbers),
    "hats near together": (Hats([0, 5e-324, 1e-323], clamp=True), numbers),
    "periodic": (Periodic.even(24, count=5), numbers),
    "uneven period": (Periodic(7.5, [1, 1.25, 6, 8.4]), numbers),
    "categories": (Categories(["A", "B", 1]), words),
    "clusters": (SoftClusters([[0, 0], [10, 0], [5, 5]], 3.0, scales=[1, 2]), st.tuples(numbers, numbers)),
    "sharp clusters": (SoftClusters([[0.0], [1e-9], [1e9]], 1e-12), st.tuples(numbers)),
    "additive": (
        Additive([Hats([0, 10], clamp=True), Categories(["A"]), Periodic.even(7, count=3)], [0, 1, 0], [0.5, 0.2, 0.3]),
        st.tuples(numbers, words),
    ),
    "tensor": (Tensor([Hats([0, 4, 10], clamp=True), Categories(["A"])], [0, 1]), st.tuples(numbers, words)),
    "nested": (
        Additive(
            [Tensor([Hats([0, 3], clamp=True), Hats([0, 5], clamp=True)], [0, 1]), Hats([0, 9], clamp=True)],
            [("a", "b"), "c"],
        ),
        st.fixed_dictionaries({"a": numbers, "b": numbers, "c": numbers}),
    ),
}
