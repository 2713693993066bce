"""A learner around another one, which is shown contexts nearer to the centre of the simplex."""

import numpy as np

from goalbound.around.around import Around


class Smoothed(Around):
    _keys = ("share",)

    def __init__(self, learner, *, share):
        super().__init__(learner)
        self.share = share

    def _see(self, context):
        return (1.0 - self.share) * np.asarray(context) + self.share / len(context)

    def _again(self, inner):
        return type(self)(inner, share=self.share)

    def _header(self):
        return {"share": self.share}

    @classmethod
    def _from_file(cls, inner, header, arrays):
        return cls(inner, share=header["share"])
