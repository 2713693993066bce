"""```` ```{generated} NAME``` ````: a part of the reference, made from the code by :mod:`reference_text`.

The text is put into the page before it is parsed, so that its headings are those of the page. What stands there before
is for those who read the source: where the text can be seen.
"""

from __future__ import annotations

import re

from reference_text import TEXTS
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

PLACE = re.compile(r"^```\{generated\} (\S+)\n(?:(?!```).*\n)*```$", re.MULTILINE)


def _fill(app: Sphinx, page: str, source: list[str]) -> None:
    """Replaces each place of a page by its text."""
    for name in PLACE.findall(source[0]):
        if name not in TEXTS:
            raise ExtensionError(f"{page}: there is no generated text {name}; there are {', '.join(TEXTS)}")
    source[0] = PLACE.sub(lambda found: TEXTS[found[1]](), source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the event."""
    app.connect("source-read", _fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
