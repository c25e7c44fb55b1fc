import warnings

import triptych as tt


@tt.jit
def f(n: tt.Int32):
    if n < 0:
        warnings.warn("negative", stacklevel=2)
    return n


f(3)
