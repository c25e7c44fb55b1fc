import numpy as np

import triptych as tt


@tt.jit
def clear(x):
    x[0] = 0


tt.compile(clear, np.zeros(4, np.float32))(np.zeros(9, np.float32))
