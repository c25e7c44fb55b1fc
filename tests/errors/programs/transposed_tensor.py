"""An attribute of arrays: a tensor is turned by its layout."""

import numpy as np

import triptych as tt
from triptych import cute


@tt.jit
def turned(x: cute.Tensor):
    return x.T[0, 1]  # error: TT0310 at "x.T"


turned(np.zeros((3, 4), np.float32))
