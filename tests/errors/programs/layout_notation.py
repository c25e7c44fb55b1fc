import triptych as tt
from triptych.layout import Layout


@tt.jit
def same(n: tt.Int32):
    Layout.parse("(4,8:(8,1)")  # error: TT0801 at "Layout"
    return n


same(1)
