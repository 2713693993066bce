"""What the extra ``postgres`` is for: a store in PostgreSQL. No server is asked for: that none answers is one line.

The command line is used, because its errors name what is missing.
"""

import contextlib
import io
import sys

from goalbound.cli import main

said = io.StringIO()
with contextlib.redirect_stderr(said):
    code = main(["store", "status", "postgresql://nobody@127.0.0.1:9/none"])
print(said.getvalue(), file=sys.stderr)
if "pip install" in said.getvalue():
    sys.exit(code)
assert code != 0
assert "no connection" in said.getvalue()
