"""One argument too few for a compiled function."""

import triptych as tt


@tt.jit
def add(a: tt.Int32, b: tt.Int32):
    return a + b


compiled = tt.compile(add, 1, 2)
compiled(1)  # error: TT0601 at "compiled(1)"
