"""Before any test, and anything else that imports NumPy: the arithmetic of the recorded numbers."""

from tests.support.arithmetic import fix_arithmetic

fix_arithmetic()
