"""A list where the function takes a tensor."""

import triptych as tt
from triptych import cute


@tt.jit
def total(x: cute.Tensor):
    return x[0] + x[1]


total([1.0, 2.0])  # error: TT0402 at "total([1.0, 2.0])"
