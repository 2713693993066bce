"""Libraries that not everyone needs, and the command that brings them.

goalbound is installed from a clone, so a remedy that names an index would be none: the command given here installs
from where this goalbound came from, into the environment that it runs in.
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
    "distributed": "cluster", "gymnasium": "gym",
}  # fmt: skip
"""Which extra brings a library that is not always there."""


def install_command(extra: str) -> str:
    """What to type for an extra: it works in the directory where we are, or says in which one."""
    python = shlex.quote(_near(sys.executable) if sys.executable else "python")
    clone, editable = _source()
    if clone is None:
        return f"{python} -m pip install '.[{extra}]' in the folder of a clone of goalbound"
    place = shlex.quote(f"{_near(str(clone))}[{extra}]")
    return f"{python} -m pip install {'--editable ' if editable else ''}{place}"


def _source() -> tuple[Path | None, bool]:
    """The clone that this goalbound was installed from, if it is still there, and whether it is used as it stands."""
    try:
        said = json.loads(metadata.distribution("goalbound").read_text("direct_url.json") or "{}")
        clone = Path(url2pathname(urlsplit(said["url"]).path))
        return (clone if (clone / "pyproject.toml").is_file() else None), bool(said["dir_info"].get("editable"))
    except (metadata.PackageNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return None, False


def _near(path: str) -> str:
    """A path as one would type it here: relative if it is below where we are."""
    inside = os.path.relpath(path)
    return path if inside.startswith(os.pardir) else inside
