"""Imports all that the extras on the command line require directly: something of each distribution is there."""

import re
import sys
from importlib import import_module, metadata


def names_of(extra: str) -> set[str]:
    """The distributions that an extra requires here, through other extras of goalbound as well."""
    found: set[str] = set()
    for line in metadata.requires("goalbound") or []:
        requirement, _, condition = line.partition(";")
        if not re.search(rf"extra == ['\"]{extra}['\"]", condition) or (
            "Windows" in condition and sys.platform == "win32"
        ):
            continue
        name, inner = re.match(r"([\w.-]+)(?:\[([\w, -]+)\])?", requirement.strip()).groups()
        if name == "goalbound":
            found |= {one for part in inner.split(",") for one in names_of(part.strip())}
        else:
            found.add(name)
    return found


modules = metadata.packages_distributions()
for name in sorted({name for extra in sys.argv[1:] for name in names_of(extra)}):
    normal = re.sub(r"[-_.]+", "-", name).lower()
    homes = [module for module, owners in modules.items()
             if normal in {re.sub(r"[-_.]+", "-", owner).lower() for owner in owners}]  # fmt: skip
    assert homes or metadata.distribution(name).files, f"{name} is not installed"
    for home in homes:
        if not home.startswith("_") and "." not in home and home.isidentifier():
            import_module(home)
