"""The brackets that other languages launch a kernel with."""

import numpy as np

import triptych as tt
from triptych import cute


@tt.kernel
def fill(x: cute.Tensor):
    x[0] = 1.0


fill[1, 32](np.zeros(8, np.float32))  # error: TT0403 at "fill[1, 32]"
