import triptych as tt
from triptych.cute import realize
from triptych.layout import Layout, composition, sym_int


@tt.jit
def index():
    part = composition(Layout((sym_int(symbol="rows"), 8), (8, 1)), Layout(4, 1))  # error: TT0805 at "composition"
    return realize(part(3))


index()
