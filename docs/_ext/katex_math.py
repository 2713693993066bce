"""Mathematics by KaTeX: its published files, in docs/_static/katex, are part of the site, so nothing is loaded."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(translator.starttag(node, "span", "", CLASS="tex"))
    translator.body.append(f"{translator.encode(node.astext())}</span>")
    raise nodes.SkipNode


def _display(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(translator.starttag(node, "div", "", CLASS="tex"))
    translator.body.append(f"{translator.encode(node.astext())}</div>")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the renderer ``katex``."""
    app.add_html_math_renderer("katex", (_inline, None), (_display, None))
    app.add_css_file("katex/katex.min.css")
    app.add_js_file("katex/katex.min.js")
    app.add_js_file("formulas.js")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
