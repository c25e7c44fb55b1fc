import numpy as np

import triptych as tt


@tt.jit
def clear(x):
    x[0] = 0


compiled = tt.compile(clear, np.zeros(4, np.float32))
compiled(4)  # error: TT0602 at "compiled("
