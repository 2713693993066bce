"""What some tests need of the machine: left out where a person lacks it, an error in CI."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def absent(what: str) -> NoReturn:
    """On a person's machine these tests may be left out; in CI they may not."""
    if os.environ.get("CI", "").lower() not in ("", "0", "false"):
        pytest.fail(f"{what}. CI is set, where this is an error, not a skip", pytrace=False)
    pytest.skip(what)
