"""The directive ``{generated} NAME``: a part of the reference, made from the code by :mod:`reference_text`."""

from __future__ import annotations

from docutils import nodes
from reference_text import TEXTS
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Generated(SphinxDirective):
    """Parses a generated text as if it stood in the page."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The nodes of the text."""
        name = self.arguments[0]
        if name not in TEXTS:
            raise self.error(f"there is no generated text {name}; there are {', '.join(TEXTS)}")
        lead, heading, rest = f"\n{TEXTS[name]()}".partition("\n## ")
        found = self.parse_text_to_nodes(lead)  # on its own: next to sections it would be lost
        return found + (self.parse_text_to_nodes(heading + rest, allow_section_headings=True) if rest else [])


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the directive."""
    app.add_directive("generated", Generated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
