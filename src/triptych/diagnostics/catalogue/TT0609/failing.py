import triptych as tt
from triptych.cute import realize, traced_int
from triptych.layout import Layout, composition


@tt.jit
def index(rows: tt.Int32, i: tt.Int32):
    part = composition(Layout((traced_int(rows), 8), (8, 1)), Layout(4, 1))
    return realize(part(traced_int(i)))


index(3, 2)
