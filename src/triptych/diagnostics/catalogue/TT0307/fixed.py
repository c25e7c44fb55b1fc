import numpy as np

import triptych as tt

weights = np.zeros(1_000_000)
weights.flags.writeable = False


@tt.jit
def count(x: tt.Int32):
    return x + weights.shape[0]


count(1)
