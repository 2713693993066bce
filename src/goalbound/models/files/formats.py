"""Reading and writing problems in the format that a file has.

>>> import tempfile, pathlib
>>> from goalbound.models import SSP
>>> problem = SSP.dense([[0.5, 0.2]], [[[0.0, 1.0], [0.5, 0.5]]])
>>> with tempfile.TemporaryDirectory() as folder:
...     save(problem, pathlib.Path(folder) / "drug.umb")
...     load(pathlib.Path(folder) / "drug.umb") == problem
True
"""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path

from goalbound.errors import ArgumentError, FileFormatError
from goalbound.models.files.drn import read_drn, write_drn
from goalbound.models.files.io import GZIP, LIMIT, XZ, as_format_errors, file_name, open_regular
from goalbound.models.files.npz import read_npz, write_npz
from goalbound.models.files.umb import BLOCK, is_tar, read_umb, write_umb
from goalbound.models.linear_cssp import LinearCSSP
from goalbound.models.ssp import SSP
from goalbound.models.support import Support

_KNOWN = ".npz (goalbound's own), .umb (unified Markov binary) and .drn (Storm's text format)"


def load(
    path: str | PathLike[str], *, loss: str | None = None, goal: str | None = None, limit: int = LIMIT
) -> SSP | LinearCSSP:
    """Read a problem from a file of any known format, recognised by its first bytes or else by its suffix.

    ``loss`` and ``goal`` name a reward model and a label of a UMB or DRN file; see :func:`read_umb`. ``limit`` is the
    most bytes a file may have; a compressed one may unpack to an eighth of it. Anything that is not a regular file, or
    cannot be read, is a :class:`FileFormatError`.
    """
    kind = _kind(path)
    if kind == "npz":
        if loss is not None or goal is not None:
            raise ArgumentError(f"{os.fspath(path)} holds one problem; loss= and goal= are for UMB and DRN files")
        return read_npz(path, limit=limit)
    return (read_umb if kind == "umb" else read_drn)(path, loss=loss, goal=goal, limit=limit)


def save(problem: SSP | LinearCSSP, path: str | PathLike[str]) -> None:
    """Write a problem by the suffix: ``.npz`` (any problem), ``.umb`` or ``.drn`` (problems without context)."""
    suffix = Path(file_name(path)).suffix.lower()
    if not isinstance(problem, SSP | LinearCSSP):
        raise ArgumentError(_not_a_problem(problem))
    if suffix == ".npz":
        write_npz(problem, path)
        return
    if suffix not in (".umb", ".drn"):
        raise ArgumentError(f"{os.fspath(path)}: unknown suffix {suffix!r}; known are {_KNOWN}")
    if not isinstance(problem, SSP):
        raise ArgumentError(
            f"{os.fspath(path)}: {suffix} files hold no contexts; save as .npz, or save problem.at(context)"
        )
    (write_umb if suffix == ".umb" else write_drn)(problem, path)


def _not_a_problem(value: object) -> str:
    """What to do with something else than a problem."""
    what = f"problem is of the type {type(value).__name__}; save writes an SSP or a LinearCSSP"
    if isinstance(value, Support):
        return (
            f"{what}. A support is saved with the learner or the problem that it belongs to; as text it is the table "
            "[support] of goalbound fit, or the names of Support.from_names"
        )
    if callable(getattr(value, "save", None)):
        return f"{what}. This has a save of its own: call its save(path)"
    return what


def _kind(path: str | PathLike[str]) -> str:
    with as_format_errors(path, "model"), open_regular(path) as file:
        head = file.read(BLOCK)
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if head.startswith(b"PK"):
        return "npz"
    if is_tar(head):
        return "umb"
    if head.startswith((GZIP, XZ)):
        return "drn" if ".drn" in suffixes else "umb"
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"@", b"//")):
        return "drn"
    for kind in ("npz", "umb", "drn"):
        if f".{kind}" in suffixes[-1:]:
            return kind
    sources = {".prism", ".nm", ".pm", ".jani"}
    remedy = "; let PRISM or Storm build the model and export it as .umb" if sources & set(suffixes[-1:]) else ""
    raise FileFormatError(
        f"{os.fspath(path)}: neither its bytes nor its suffix match a format; known are {_KNOWN}{remedy}"
    )
