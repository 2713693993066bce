"""The hot loops: the only importer of numba. Arrays and NamedTuples of arrays in, arrays out."""
