"""The context-free learners as kernels: one set of moves for six methods, told apart by a number."""
