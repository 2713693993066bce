"""The arithmetic in which exact numbers of the tests were recorded, so that they are the same on other processors.

NumPy chooses its logarithms and sums, and OpenBLAS its matrix products, by what the processor can do; their last bits
differ, and with them what a learner does next. Without AVX-512, and with the products for AVX2, all x86-64 processors
since 2013 give the same. This module imports nothing that imports NumPy, which looks at the environment only once.
"""

import os
import platform

import pytest

SETTINGS = {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR", "OPENBLAS_CORETYPE": "Haswell"}


def fix_arithmetic() -> None:
    """For this process, if it has not imported NumPy yet, and for all that it starts. What is set already stays."""
    if platform.machine() == "x86_64":
        for name, value in SETTINGS.items():
            os.environ.setdefault(name, value)


def arithmetic() -> str:
    """What the last bits of NumPy depend on here."""
    from numpy._core._multiarray_umath import __cpu_features__

    level = max((name for name in ("X86_V2", "X86_V3", "X86_V4") if __cpu_features__.get(name)), default="none")
    return f"{platform.machine()} {level} {os.environ.get('OPENBLAS_CORETYPE', 'by the processor')}"


RECORDED = "x86_64 X86_V3 Haswell"


def recorded_arithmetic() -> pytest.MarkDecorator:
    """Skips a test whose numbers were recorded, to the last digit, where the arithmetic is another one."""
    return pytest.mark.skipif(
        arithmetic() != RECORDED, reason=f"its numbers were recorded with {RECORDED}; here it is {arithmetic()}"
    )
