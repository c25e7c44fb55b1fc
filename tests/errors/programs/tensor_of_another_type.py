import numpy as np

import triptych as tt


@tt.jit
def clear(x):
    x[0] = 0


compiled = tt.compile(clear, np.zeros(4, np.float32))
compiled(np.zeros((4, 2), np.float64))  # error: TT0641 at "compiled("
