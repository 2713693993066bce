"""``.. public-names:: PAGE``: the public names of a page of the API reference, from :mod:`public_names`."""

from __future__ import annotations

import builtins
import inspect
import re
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from docutils import nodes
from public_names import PublicName, every_path, pages
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)


FOREIGN = {*dir(builtins), "Any", "ArrayLike", "NDArray", "PathLike", "Path", "Literal", "Self", "np", "numpy", "os",
           "collections", "typing", "pathlib", "datetime", "pandas", "pyarrow", "matplotlib"}  # fmt: skip
"""Names of others in annotations: they have no entry here."""
ARRAY = re.compile(r"~?numpy\.ndarray\[~?tuple\[~?typing\.Any, \.\.\.\], ~?numpy\.dtype\[~?([\w.]+)\]\]")


class ForeignNames(SphinxPostTransform):
    """Names of others stay plain text. Sphinx would compare each of them with every entry, a third of the build."""

    default_priority = 5

    def run(self, **_: Any) -> None:
        """Replaces the references of a page."""
        for node in list(self.document.findall(pending_xref)):
            if node.get("refdomain") == "py" and str(node["reftarget"]).partition(".")[0] in FOREIGN:
                node.replace_self(list(node.children))


class PublicNames(SphinxDirective):
    """A table of the names of a page, and the documentation of each."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The nodes of the page."""
        names = pages()[self.arguments[0]]
        return self.parse_text_to_nodes(page_text(names), allow_section_headings=True)


def page_text(names: Iterable[PublicName]) -> str:
    """The reStructuredText of a page."""
    names = list(names)
    lines = [".. list-table::", "   :class: names", "   :widths: auto", ""]
    for one in names:
        lines += [f"   * - :py:{_role(one)}:`{_shown(one)} <{one.path}>`", f"     - {_first_sentence(one.value)}"]
    for one in names:
        lines += ["", _shown(one), "-" * len(_shown(one)), "", *_entry(one)]
    return "\n".join(lines) + "\n"


def _shown(one: PublicName) -> str:
    return one.parts[1]


def _role(one: PublicName) -> str:
    if inspect.isclass(one.value):
        return "exc" if issubclass(one.value, BaseException) else "class"
    return "func" if callable(one.value) else "data"


def _first_sentence(value: Any) -> str:
    if not (inspect.isclass(value) or callable(value)):
        return "a constant"
    text = " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())
    sentence = _without_substitutions(text.split(". ")[0].rstrip(".:"))
    sentence = _with_links(sentence)
    return sentence if len(sentence) < 200 else sentence[:200].rsplit(" ", 1)[0] + " ..."


def _without_substitutions(text: str) -> str:
    """Bars, as in ``|x|``, stay bars: reStructuredText would read them as substitutions."""
    parts = text.split("``")
    return "``".join(part if at % 2 else part.replace("|", r"\|") for at, part in enumerate(parts))


def _with_links(text: str) -> str:
    """Pages that docstrings name by their files become links."""
    return re.sub(r"\bdocs/([\w/-]+)\.md", r":doc:`/\1`", text)


def _adapt_docstring(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    if what == "data" and lines and lines[0] in (inspect.getdoc(type(value)) or ""):
        lines[:] = [f"One of :py:class:`{type(value).__name__}`."]  # not the docstring of its class
    lines[:] = _with_links(_without_substitutions("\n".join(lines))).split("\n")


def _short_arrays(text: str | None) -> str | None:
    """``NDArray[float64]``, as it is written in the code, for the type that it stands for."""
    return text and ARRAY.sub(r"NDArray[~\1]", text)


def _adapt_signature(
    app: Sphinx, what: str, name: str, value: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    return _short_arrays(signature), _short_arrays(returned)


def _entry(one: PublicName) -> list[str]:
    kind = {"class": "autoclass", "exc": "autoexception", "func": "autofunction", "data": "autodata"}[_role(one)]
    lines = [f".. {kind}:: {one.path}"]
    if kind == "autoclass":
        lines += ["   :members:", *(["   :show-inheritance:"] if _has_bases(one.value) else [])]
        if hasattr(one.value, "_fields"):  # of a NamedTuple: its docstring has them
            lines += [f"   :exclude-members: {', '.join(one.value._fields)}"]
    if kind == "autoexception":
        lines += ["   :show-inheritance:"]
    if kind == "autodata":
        lines += ["   :no-value:"]
    if one.others:
        lines += ["", "   Also as " + ", ".join(f"``{path}``" for path in one.others) + "."]
    if kind == "autoclass":
        lines += _inherited(one)
    return lines


def _has_bases(value: type) -> bool:
    return any(base.__module__.startswith("goalbound") for base in value.__bases__)


def _inherited(one: PublicName) -> list[str]:
    """A line for each base class of goalbound, with links to what is inherited from it."""
    lines, seen = [], set(vars(one.value))
    covered = every_path()
    for base in one.value.__mro__[1:]:
        if not base.__module__.startswith("goalbound"):
            continue
        path = covered.get(f"{base.__module__}.{base.__qualname__}")
        members = [name for name, value in vars(base).items() if name not in seen and _is_shown(name, value)]
        seen |= set(vars(base))
        if path is not None and members:
            links = ", ".join(f":py:obj:`{name} <{path}.{name}>`" for name in members)
            lines += ["", f"   From :py:class:`{base.__name__} <{path}>`: {links}."]
    return lines


def _is_shown(name: str, value: Any) -> bool:
    is_member = callable(value) or isinstance(value, property | classmethod) or inspect.ismethoddescriptor(value)
    return is_member and not name.startswith("_") and bool(inspect.getdoc(value))


def _resolve(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element) -> nodes.Node | None:
    """References by another path of a public object, or to a method by the path of its module, lead to it."""
    if node.get("refdomain") != "py":
        return None
    target = str(node["reftarget"])
    covered, by_name = app.goalbound_paths  # type: ignore[attr-defined]
    head, tail = target, ""
    while head and head not in covered:
        head, _, last = head.rpartition(".")
        tail = f".{last}{tail}"
    if not head:
        paths = by_name.get(target, set())  # a bare name, as in annotations
        if len(paths) != 1:
            return content if _exists(target) else None
        (head,), tail = paths, ""
    found = f"{covered[head]}{tail}"
    domain = env.get_domain("py")
    if found != target:
        link = domain.resolve_xref(env, node["refdoc"], app.builder, "obj", found, node, content)
        if link is not None:
            return link
    return content if _exists(target) else None


def _exists(target: str) -> bool:
    """Whether there is something of this path: what is not public is named without a link, what is not there is not."""
    module_name, rest = target, []
    while module_name.startswith("goalbound"):
        try:
            value = import_module(module_name)
        except ImportError:
            module_name, _, last = module_name.rpartition(".")
            rest.insert(0, last)
            continue
        for name in rest:
            fields = getattr(value, "__annotations__", {})
            if not hasattr(value, name) and name not in fields:
                return False
            value = getattr(value, name, None)
        return True
    return False


def _check(app: Sphinx, env: BuildEnvironment) -> None:
    """Every public name is documented; otherwise the build says which is not."""
    objects = env.get_domain("py").objects  # type: ignore[attr-defined]
    for path in sorted(set(every_path().values())):
        if path not in objects:
            logger.warning("the API reference has no entry for %s", path)


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the directive, the references and the check."""
    known = _known_paths()
    by_name: dict[str, set[str]] = {}
    for path in known.values():
        by_name.setdefault(path.rpartition(".")[2], set()).add(path)
    app.goalbound_paths = known, by_name  # type: ignore[attr-defined]
    app.add_post_transform(ForeignNames)
    app.add_directive("public-names", PublicNames)
    app.connect("autodoc-process-docstring", _adapt_docstring, priority=400)
    app.connect("autodoc-process-signature", _adapt_signature)
    app.connect("missing-reference", _resolve)
    app.connect("env-check-consistency", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _known_paths() -> dict[str, str]:
    """Every path by which a public object may be called in docstrings and annotations, to that of its entry."""
    known = every_path()
    for names in pages().values():
        for one in names:
            if inspect.isclass(one.value) or inspect.isfunction(one.value):
                known.setdefault(f"{one.value.__module__}.{one.value.__qualname__}", one.path)
    return known
