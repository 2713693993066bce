"""A learner around another one, which is shown contexts nearer to the centre of the simplex."""

import numpy as np

from goalbound.around.around import Around


class Smoothed(Around):
    def __init__(self, learner, *, share):
        super().__init__(learner)
        self.share = share

    def _see(self, context):
        return (1.0 - self.share) * np.asarray(context) + self.share / len(context)
