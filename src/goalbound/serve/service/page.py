"""The page for people: open cases, what is recommended, why; it only reads."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("page.html")


@cache
def page() -> tuple[str, str]:
    """The page, and the policy that lets a browser run nothing but its own script, and ask nobody but this service."""
    text = _FILE.read_text(encoding="utf-8")
    script, style = (_hash(text, kind) for kind in ("script", "style"))
    policy = (
        f"default-src 'none'; script-src {script}; style-src {style}; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )
    return text, policy


def _hash(text: str, kind: str) -> str:
    found = re.search(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL)
    assert found is not None
    return f"'sha256-{base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()}'"
