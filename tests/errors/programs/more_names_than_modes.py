"""A shape of one mode unpacked into two names."""

import numpy as np

import triptych as tt
from triptych import cute


@tt.jit
def area(x: cute.Tensor):
    rows, columns = x.shape  # error: TT0314 at "rows, columns"
    return rows * columns


area(np.zeros(8, np.float32))
