import triptych as tt
from triptych.layout import Layout, composition


@tt.jit
def same(n: tt.Int32):
    composition(Layout((4, 3), (3, 1)), Layout(3, 3))  # error: TT0803 at "composition"
    return n


same(1)
