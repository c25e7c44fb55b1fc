import numpy as np

import triptych as tt
from triptych.cute.runtime import from_dlpack


@tt.jit
def clear(x):
    x[0, 0] = 0


compiled = tt.compile(clear, from_dlpack(np.zeros((4, 8))))
compiled(np.zeros((4, 9)))  # error: TT0642 at "compiled("
