import triptych as tt
from triptych import cute


@tt.jit
def upper(x: tt.Float32):
    return cute.math.add(x, 0.1, rounding=cute.math.RoundingMode.UP)  # error: TT0922 at "cute.math.add"


upper(1.0)
