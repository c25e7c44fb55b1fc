"""A type that is called a little differently."""

import triptych as tt


@tt.jit
def f(x: tt.Int32):
    return tt.Flaot32(x)  # error: TT0310 at "tt.Flaot32"


f(1)
