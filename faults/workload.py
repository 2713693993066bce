"""Steps of one store in a process of its own: ``python -m faults.workload STORE STEPS [FULL|NORMAL|OFF [killed]]``.

After each step that the store has acknowledged, one line with the number of its event goes to stdout, at once. Exit
codes: 0 done, 3 no space was left, 4 the disk failed, 5 the store could not be opened. ``killed``: it kills itself at
the end, so that the store is not closed.
"""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace

from faults.world import CONTEXT, NAME, OPTIONS, new_store, outcome
from goalbound.errors import StorageFailed, StorageFull, StoreError


def main(place: str, steps: int, synchronous: str, *, killed: bool = False) -> int:
    """Go on with the cases of the store."""
    try:
        store = new_store(place, replace(OPTIONS, synchronous=synchronous, snapshot_events=25))
    except StoreError as error:
        print(error, file=sys.stderr)
        return 5
    os.write(1, b"open\n")
    cases = store.learner(NAME)
    try:
        for number in range(steps):
            found = cases.cases(limit=4)
            if len(found) < 4:
                answer = cases.begin(CONTEXT, 0)
            else:
                one = found[number % 4]
                loss, state = outcome(one.case, one.step + 1)
                answer = cases.observe(one.case, loss, state, step=one.step + 1)
            os.write(1, b"%d\n" % answer.seq)
    except StorageFull as error:
        print(error, file=sys.stderr)
        os._exit(3)
    except StorageFailed as error:
        print(error, file=sys.stderr)
        os._exit(4)
    if killed:
        os.kill(os.getpid(), signal.SIGKILL)
    store.close()
    return 0


if __name__ == "__main__":
    how = sys.argv[3] if len(sys.argv) > 3 else "FULL"
    sys.exit(main(sys.argv[1], int(sys.argv[2]), how, killed="killed" in sys.argv))
