import math

import triptych as tt


@tt.jit
def f(x: tt.Float32):
    return math.sin(x)


f(1.0)
