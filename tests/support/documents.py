"""The Python examples of the documentation."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def blocks(document: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)


def block(document: str, word: str) -> str:
    """The one block that holds a word."""
    (found,) = (one for one in blocks(document) if word in one)
    return found
