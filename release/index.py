"""Where packages come from: what pip is configured with, as options of uv, which reads other files.

Nothing is stored: the settings are asked of pip whenever they are needed.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from itertools import pairwise

OPTIONS = {
    "index-url": "--default-index",
    "extra-index-url": "--index",
    "find-links": "--find-links",
    "trusted-host": "--allow-insecure-host",
}
"""Settings of pip that may have several values, and the options of uv with the same meaning."""


@cache
def index_options() -> tuple[str, ...]:
    """The options that make uv find packages where pip finds them."""
    told = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True)
    return tuple(as_uv_options(told.stdout.splitlines()))


def without_extra_indexes(options: tuple[str, ...]) -> tuple[str, ...]:
    """The options with the main index alone.

    uv takes all wheels of a version from one index, pip from all of them: where an extra index has a version for one
    Python only, uv may find nothing for another although the main index has it.

    >>> without_extra_indexes(("--index", "https://more/simple", "--find-links", "here"))
    ('--find-links', 'here')
    """
    return tuple(word for before, word in pairwise(("", *options)) if "--index" not in (before, word))


def as_uv_options(lines: Iterable[str]) -> list[str]:
    """Lines of ``pip config list`` as options of uv.

    With several indexes pip takes the best version of all of them; uv does so only if it is told to.

    >>> as_uv_options(["global.index-url='https://one/simple'", "install.find-links='a b'", ":env:.timeout='9'"])
    ['--index-strategy', 'unsafe-best-match', '--default-index', 'https://one/simple', '--find-links', 'a', \
'--find-links', 'b']
    """
    options = ["--index-strategy", "unsafe-best-match"]
    for line in lines:
        key, equals, value = line.partition("=")
        setting = key.rpartition(".")[2]
        if not equals or setting not in (*OPTIONS, "no-index"):
            continue
        text = str(ast.literal_eval(value))  # pip prints the repr of a string
        if setting == "no-index":
            options += ["--no-index"] * (text.lower() in ("1", "true", "yes", "on"))
            continue
        for word in text.split():
            if (OPTIONS[setting], word) not in pairwise(options):
                options += [OPTIONS[setting], word]
    return options
