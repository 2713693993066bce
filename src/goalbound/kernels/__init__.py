"""The hot loops: arrays and structs of arrays in, arrays out."""
