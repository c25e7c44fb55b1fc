"""A vector for a function that was compiled for matrices."""

import numpy as np

import triptych as tt
from triptych import cute


@tt.jit
def corner(x: cute.Tensor):
    return x[0, 0]


compiled = tt.compile(corner, np.zeros((2, 2), np.float32))
compiled(np.zeros(8, np.float32))  # error: TT0641 at "compiled(np.zeros(8, np.float32))"
