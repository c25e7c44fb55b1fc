import warnings

import triptych as tt


@tt.jit
def root(n: tt.Int32):
    if n < 0:
        warnings.warn("negative")  # error: TT0210 at "warnings.warn"
    return n


root(3)
