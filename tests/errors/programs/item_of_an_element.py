"""Two brackets: one coordinate has an index for each mode."""

import numpy as np

import triptych as tt
from triptych import cute


@tt.jit
def corner(x: cute.Tensor):
    return x[0][1]  # error: TT0301 at "x[0][1]"


corner(np.zeros((3, 4), np.float32))
