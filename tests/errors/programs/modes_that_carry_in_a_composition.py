"""A composition whose right side adds up beyond an extent of the left one."""

import triptych as tt
from triptych import cute


@tt.jit
def compose(n: tt.Int32):
    left, right = cute.make_layout((6, 2), stride=(8, 2)), cute.make_layout((4, 3), stride=(5, 1))
    cute.composition(left, right)  # error: TT0803 at "cute.composition(left, right)"
    return n


compose(5)
