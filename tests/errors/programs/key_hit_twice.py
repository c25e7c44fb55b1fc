"""A name with a letter twice, beside the one that was meant."""

import triptych as tt


@tt.jit
def double(n: tt.Int32):
    return nn * 2  # error: TT0311 at "nn"


double(5)
