"""Likelihood-ratio sets: all coefficients under which what was seen was not too unlikely, compared with a forecast that
was made before, intersected with the sharp intervals. :mod:`.sets` has the formulas, docs/explanation/likelihood.md the
proofs; :class:`.room.Likelihood` is the room."""
