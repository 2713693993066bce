"""Road networks in TNTP files."""

import numpy as np

from goalbound.adapters.tntp import (
    Network,
)


def network(init, term, *, times, **more):
    count = len(init)
    return Network(
        init=init, term=term, capacity=np.full(count, 10.0), length=np.ones(count), free_flow_time=times,
        b=np.full(count, 0.15), power=np.full(count, 4.0), nodes=max(*init, *term), **more,
    )  # fmt: skip
