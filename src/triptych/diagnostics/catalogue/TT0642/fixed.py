import numpy as np

import triptych as tt
from triptych.cute.runtime import from_dlpack


@tt.jit
def clear(x):
    x[0] = 0


tt.compile(clear, from_dlpack(np.zeros(4)).mark_layout_dynamic())(np.zeros(5))
