import triptych as tt
from triptych import cute


@tt.jit
def root(x: tt.Float32):
    small = x.to(tt.Float8E4M3FN)
    return cute.math.sqrt(small)  # error: TT0301 at "cute.math.sqrt"


root(4.0)
