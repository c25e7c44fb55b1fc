import numpy as np

import triptych as tt
from triptych import cute


@tt.jit
def f(x: cute.Tensor):
    return x.size


f(np.zeros((2, 4), np.float32))
