import triptych as tt
from triptych.layout import Layout, complement


@tt.jit
def same(n: tt.Int32):
    if n > 0:
        complement(Layout((4, 4), (1, 2)), 16)  # error: TT0804 at "complement"
    return n


same(1)
