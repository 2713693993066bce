"""The compile layer: kernels, structs and records, and how numba compiles them. The only importer of numba."""
