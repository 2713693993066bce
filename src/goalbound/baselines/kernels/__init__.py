"""The context-free learners as kernels: one algorithm for six methods, which differ by a code."""
