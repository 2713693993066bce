"""``python -m goalbound`` is the ``goalbound`` command."""

import sys

from goalbound.cli import main

if __name__ == "__main__":
    sys.exit(main())
