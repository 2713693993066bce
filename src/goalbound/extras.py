"""Optional dependencies and the command that installs them.

goalbound is installed from a clone or a wheel, not from a package index: the command given here
installs from where this goalbound came from, into the environment that it runs in.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

EXTRAS = {
    "pydantic": "experiments", "pyarrow": "experiments", "joblib": "experiments", "matplotlib": "experiments",
    "tomli_w": "experiments", "jinja2": "experiments", "pandas": "pandas", "distributed": "cluster",
    "gymnasium": "gym",
    "msgspec": "service", "uvicorn": "service", "starlette": "service", "h11": "service", "uvloop": "service",
    "httpx": "client", "psycopg": "postgres",
}  # fmt: skip
"""The extra that provides each optional library."""


def install_command(extra: str) -> str:
    """The install command of an extra, for the current directory unless it names another."""
    python = shlex.quote(_relative(sys.executable) if sys.executable else "python")
    source, editable = _source()
    if source is None:
        return f"{python} -m pip install '.[{extra}]' in the folder of a clone of goalbound"
    place = shlex.quote(f"{_relative(str(source))}[{extra}]")
    return f"{python} -m pip install {'--editable ' if editable else ''}{place}"


def missing_library(error: ModuleNotFoundError) -> ModuleNotFoundError:
    """The error of an import again, with the command that installs the library, if an extra provides it.

    >>> missing_library(ModuleNotFoundError("No module named 'httpx'", name="httpx")).msg
    "this needs httpx: ... -m pip install ...[client]..."
    """
    library = (error.name or "").partition(".")[0]
    if library not in EXTRAS:
        return error
    return ModuleNotFoundError(f"this needs {library}: {install_command(EXTRAS[library])}", name=error.name)


def _source() -> tuple[Path | None, bool]:
    """The clone or the wheel that this goalbound was installed from, if it is still there, and whether it is a clone
    that is used as it stands."""
    try:
        direct_url = json.loads(metadata.distribution("goalbound").read_text("direct_url.json") or "{}")
        source = Path(url2pathname(urlsplit(direct_url["url"]).path))
        there = (source / "pyproject.toml").is_file() or (source.is_file() and "archive_info" in direct_url)
        return (source if there else None), bool(direct_url.get("dir_info", {}).get("editable"))
    except (metadata.PackageNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return None, False


def _relative(path: str) -> str:
    """A path relative to the current directory, if it is below it."""
    inside = os.path.relpath(path)
    return path if inside.startswith(os.pardir) else inside
