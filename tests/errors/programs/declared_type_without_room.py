"""A variable is declared with a type that does not hold the value."""

import triptych as tt


@tt.jit
def whole(x: tt.Float64):
    rounded: tt.Int32 = x  # error: TT0315 at "rounded: tt.Int32 = x"
    return rounded


whole(2.75)
