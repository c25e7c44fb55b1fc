import triptych as tt
from triptych.cute import traced_int


@tt.jit
def same(n: tt.Int32):
    traced_int(6, divisibility=4)  # error: TT0807 at "traced_int"
    return n


same(1)
