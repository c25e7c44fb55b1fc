"""`async def` under `@jit`."""

import triptych as tt


@tt.jit
async def f(n: tt.Int32):  # error: TT0101 at "async def"
    return n


f(3)
