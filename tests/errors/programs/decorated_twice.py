"""One decorator is enough."""

import triptych as tt


@tt.jit  # error: TT0406 at "tt.jit"
@tt.kernel
def fill(n: tt.Int32):
    pass
