import numpy as np

import triptych as tt

weights = np.zeros(1_000_000)


@tt.jit
def count(x: tt.Int32):
    return x + weights.shape[0]


count(1)
