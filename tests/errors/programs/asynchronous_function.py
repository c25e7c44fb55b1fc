"""`async def` under `@jit`."""

import triptych as tt


@tt.jit  # error: TT0101 at "@tt.jit"
async def f(n: tt.Int32):
    return n


f(3)
