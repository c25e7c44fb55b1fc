import triptych as tt
from triptych.layout import make_swizzle


@tt.jit
def same(n: tt.Int32):
    make_swizzle(3, 0, 2)  # error: TT0806 at "make_swizzle"
    return n


same(1)
