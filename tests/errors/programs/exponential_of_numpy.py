"""`np.exp` needs a number that Python knows."""

import numpy as np

import triptych as tt


@tt.jit
def grow(x: tt.Float32):
    return np.exp(x)  # error: TT0313 at "np.exp(x)"


grow(1.0)
