import triptych as tt
from triptych import cute


@tt.jit
def largest(x: tt.Float32):
    row = cute.full(4, 1.0, tt.Float32)
    if row > x:  # error: TT0921 at "row > x"
        return x
    return row[0]


largest(0.5)
