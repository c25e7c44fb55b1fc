"""An array that is too large to be compared at each call, and that someone may write."""

import numpy as np

import triptych as tt

weights = np.zeros(1_000_000)


@tt.jit
def count(n: tt.Int32):
    return n + weights.shape[0]


count(1)  # error: TT0307 at "count(1)"
