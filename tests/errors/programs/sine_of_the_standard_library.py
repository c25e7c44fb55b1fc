"""`math.sin` needs a number that Python knows."""

import math

import triptych as tt


@tt.jit
def wave(x: tt.Float32):
    return 2.0 * math.sin(x)  # error: TT0313 at "math.sin(x)"


wave(1.0)
