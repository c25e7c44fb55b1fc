import triptych as tt
from triptych.layout import make_layout


@tt.jit
def same(n: tt.Int32):
    make_layout((4, 8), stride=(1, 4, 32))  # error: TT0802 at "make_layout"
    return n


same(1)
